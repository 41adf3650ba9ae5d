"""What can be requested of the journeys family. The schemas are the contract's."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from recollect.errors import BadRequest
from recollect.operations.ids import UuidKey, uuid_key
from recollect.operations.parsers import text
from recollect.operations.schema import Request
from recollect.operations.times import timestamp_us

MAX_SUMMARY = 10_000  # characters of a summary or diagnosis from a caller


class JourneysRequest(Request):
    is_closed: ClassVar[bool] = False
    one_of: ClassVar[str] = "{name} must be one of: {choices}"


def _uuid(description: str | None = None) -> Meta:
    return Meta(description=description, extra={"parse": uuid_key}, extra_json_schema={"type": "string", "format": "uuid"})


def _time(description: str) -> Meta:
    schema = {"type": "string", "format": "date-time"}
    return Meta(description=description, extra={"parse": timestamp_us}, extra_json_schema=schema)


class GetOrCreateJourney(JourneysRequest):
    """Get existing journey for user or create new one: one person's work and documents in their order.
    query_journey_history and the other journey tools take its id."""

    user_id: Annotated[UuidKey | None, _uuid("User identifier. NULL/omitted for anonymous journey.")] = None


class QueryJourneyHistory(JourneysRequest):
    """What is linked to a journey, by keyword and range of dates; without a query, newest on top. Nothing outside of the
    journey. `open` shows one: session:<session_id without dashes>."""

    journey_id: Annotated[UuidKey, _uuid("Journey to search within")]
    query: Annotated[str, Meta(description="Keyword search on session summaries", extra={"parse": text(4_096)})] = ""
    from_date: Annotated[int | None, _time("Start of time range filter")] = None
    to_date: Annotated[int | None, _time("End of time range filter")] = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    include_documents: Annotated[bool, Meta(description="Include linked documents in results")] = False

    def __post_init__(self) -> None:
        if self.from_date is not None and self.to_date is not None and self.from_date >= self.to_date:
            raise BadRequest("from_date must be before to_date", field="from_date")


class AddDocumentToJourney(JourneysRequest):
    """Link a note, document or artifact to a journey; its query lists it with include_documents. A path is kept as text,
    it is never opened."""

    journey_id: Annotated[UuidKey, _uuid("Journey to link document to")]
    document_type: Annotated[Literal["woop_plan", "file_upload", "artifact", "note"], Meta(description="Type of document")]
    title: Annotated[str | None, Meta(description="Document title")] = None
    content: Annotated[str | None, Meta(description="Document content or file path")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description="Additional metadata")] = None


def _diagnosis(value: Any, field: str) -> str | bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise BadRequest(f"{field} must be a string or a boolean", field=field)
    diagnosis: str = text(MAX_SUMMARY)(value, field)
    return diagnosis


class LinkSessionToJourney(JourneysRequest):
    """Link a session to a journey, whose queries cover it then; it leaves any other journey. The session_id is the hex of
    a session:… of `open` or search_sessions as a UUID."""

    journey_id: Annotated[UuidKey, _uuid()]
    session_id: Annotated[UuidKey, _uuid()]
    summary: Annotated[
        str,
        Meta(description="What to show and find it by. Default: made from the session", extra={"parse": text(MAX_SUMMARY)}),
    ] = ""
    diagnosis: Annotated[
        str | bool | None,
        Meta(description="What was diagnosed, or whether. Default: as observed", extra={"parse": _diagnosis}),
    ] = None


class JourneyTimeline(JourneysRequest):
    """Sessions and documents of a journey, oldest first."""

    journey_id: Annotated[UuidKey, _uuid()]
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 50


class ListDocuments(JourneysRequest):
    """Documents of a journey, newest first."""

    journey_id: Annotated[UuidKey, _uuid()]


class GetDocument(JourneysRequest):
    """A document of a journey, whole."""

    journey_id: Annotated[UuidKey, _uuid()]
    document_id: Annotated[UuidKey, _uuid()]


class DeleteDocument(JourneysRequest):
    """Remove a document from its journey; the answer is what it was."""

    journey_id: Annotated[UuidKey, _uuid()]
    document_id: Annotated[UuidKey, _uuid()]


class DeleteJourney(JourneysRequest):
    """Remove a journey and its documents; its sessions stay, in no journey."""

    journey_id: Annotated[UuidKey, _uuid()]

"""recollect journey"""

from typing import Any

import click
import msgspec

from recollect.operations.journeys.requests import (
    AddDocumentToJourney,
    GetOrCreateJourney,
    JourneyTimeline,
    LinkSessionToJourney,
    QueryJourneyHistory,
)
from recollect.surfaces.cli import render_journey as draw
from recollect.surfaces.cli.output import ask, session_uuid
from recollect.surfaces.cli.realm_options import json_option, realm_options
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.times import iso, since_option, until_option


@click.group("journey")
def command() -> None:
    """Collect one person's sessions and documents.

    \b
    recollect journey create --user 5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10
    recollect journey link JOURNEY SESSION
    recollect journey history JOURNEY flaky upload
    """


@command.command("create")
@request_options(
    GetOrCreateJourney,
    {"user_id": "--user --user-id"},
    help={"user_id": "The person (default: a new journey without a person)."},
)
@json_option
@realm_options
def create(arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Get a person's journey, or create one.

    \b
    recollect journey create
    recollect journey create --user 5d6f3a5e-1c1b-4c7e-9a55-2f6c6b0f3a10
    """
    ask("get_or_create_journey", arguments, draw.journey, as_json=as_json, realm=realm)


@command.command("link")
@click.argument("journey")
@click.argument("session")
@request_options(
    LinkSessionToJourney,
    {"summary": "--summary", "diagnosis": "--diagnosis"},
    help={
        "summary": "Summary to show and search (default: generated).",
        "diagnosis": "What was diagnosed (default: from observations).",
    },
)
@click.option("--no-diagnosis", is_flag=True, help="Nothing was diagnosed.")
@json_option
@realm_options
def link(journey: str, session: str, arguments: dict[str, Any], no_diagnosis: bool, as_json: bool, **realm: Any) -> None:
    """Add a session to a journey.

    A session is in one journey at a time: it leaves its earlier journey.

    \b
    recollect journey link JOURNEY session:9ab2…
    recollect journey link JOURNEY SESSION --summary "Moved uploads to S3" --diagnosis "The bucket was full"
    """
    if "diagnosis" in arguments and no_diagnosis:
        raise click.UsageError("Use either --diagnosis or --no-diagnosis, not both.")
    arguments |= {"journey_id": journey, "session_id": session_uuid(session)}
    arguments |= {"diagnosis": False} if no_diagnosis else {}
    ask("link_session_to_journey", arguments, draw.link, as_json=as_json, realm=realm)


@command.command("history")
@click.argument("journey")
@click.argument("query", nargs=-1)
@click.option(
    "--from",
    "--from-date",
    "from_date",
    metavar="WHEN",
    help="Sessions started at this time or later: yesterday, 7d, 2026-04-30, last week …",
)
@click.option("--to", "--to-date", "to_date", metavar="WHEN", help="Sessions started at this time or earlier.")
@request_options(
    QueryJourneyHistory,
    {"limit": "-n --limit", "include_documents": "--documents --include-documents"},
    help={"limit": "Number of sessions, {ge} to {le} (default: {default}).", "include_documents": "Also list documents."},
)
@json_option
@realm_options
def history(
    journey: str,
    query: tuple[str, ...],
    from_date: str | None,
    to_date: str | None,
    arguments: dict[str, Any],
    as_json: bool,
    **realm: Any,
) -> None:
    """Search a journey's sessions by their summaries.

    Without a query, it lists the newest sessions.

    \b
    recollect journey history JOURNEY
    recollect journey history JOURNEY flaky upload --from 30d --documents
    """
    arguments |= {
        "journey_id": journey,
        "query": " ".join(query) or None,
        "from_date": _iso_or_none(since_option(from_date, "--from")),
        "to_date": _iso_or_none(until_option(to_date, "--to")),
    }
    ask("query_journey_history", arguments, draw.history, as_json=as_json, realm=realm)


def _iso_or_none(at: int | None) -> str | None:
    return None if at is None else iso(at)


@command.command("timeline")
@click.argument("journey")
@request_options(
    JourneyTimeline, {"limit": "-n --limit"}, help={"limit": "Number of entries, {ge} to {le} (default: {default})."}
)
@json_option
@realm_options
def timeline(journey: str, arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """List a journey's sessions and documents by time.

    Oldest first.

    \b
    recollect journey timeline JOURNEY
    """
    arguments["journey_id"] = journey
    ask("journey_timeline", arguments, draw.timeline, as_json=as_json, realm=realm)


@command.command("add")
@click.argument("journey")
@request_options(
    AddDocumentToJourney,
    {"document_type": "--type --document-type", "title": "--title", "content": "--content"},
    help={
        "document_type": "woop_plan, file_upload, artifact or note (default: note).",
        "title": "Title of the document.",
        "content": "Text, or a path. A path is stored, never opened.",
    },
)
@click.option("--metadata", metavar="JSON", help="An object with any other data.")
@json_option
@realm_options
def add(journey: str, arguments: dict[str, Any], metadata: str | None, as_json: bool, **realm: Any) -> None:
    """Add a document to a journey.

    \b
    recollect journey add JOURNEY --title "What we agreed" --content "Ship on Friday"
    recollect journey add JOURNEY --type artifact --content build/report.pdf --metadata '{"pages": 12}'
    """
    arguments = {"document_type": "note", **arguments, "journey_id": journey, "metadata": _decode(metadata)}
    ask("add_document_to_journey", arguments, draw.added, as_json=as_json, realm=realm)


def _decode(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text is not None else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise click.BadParameter("Not JSON. Example: '{\"pages\": 12}'.", param_hint="--metadata") from None


@command.command("documents")
@click.argument("journey")
@click.argument("document", required=False)
@json_option
@realm_options
def documents(journey: str, document: str | None, as_json: bool, **realm: Any) -> None:
    """List a journey's documents, or show one.

    \b
    recollect journey documents JOURNEY
    recollect journey documents JOURNEY DOCUMENT
    """
    arguments = {"journey_id": journey, "document_id": document}
    if document is None:
        ask("list_documents", arguments, draw.documents, as_json=as_json, realm=realm)
    else:
        ask("get_document", arguments, draw.document, as_json=as_json, realm=realm)


@command.command("delete")
@click.argument("journey")
@click.argument("document", required=False)
@json_option
@realm_options
def delete(journey: str, document: str | None, as_json: bool, **realm: Any) -> None:
    """Delete a document, or a journey with all of them.

    Sessions are kept.

    \b
    recollect journey delete JOURNEY DOCUMENT
    recollect journey delete JOURNEY
    """
    arguments = {"journey_id": journey, "document_id": document}
    if document is None:
        ask("delete_journey", arguments, draw.deleted, as_json=as_json, realm=realm)
    else:
        ask("delete_document", arguments, draw.document_deleted, as_json=as_json, realm=realm)

"""What can be requested of the library. Filters, paging and sorting are declared once and shared."""

from typing import Annotated, Any, ClassVar, Literal, cast, get_args

from msgspec import Meta, field

from recollect.errors import BadRequest
from recollect.export import FormatName
from recollect.filters import KEYS, FilterTerm, split
from recollect.filters.grammar import FilterQuery
from recollect.operations.schema import Request
from recollect.search import Mode
from recollect.store.annotations import MAX_LABEL, MAX_NOTE
from recollect.store.sqlite.library_queries import FACETS, SORTS

SEARCH_MODES = get_args(Mode)
MAX_QUERY = 4_096  # characters
MAX_QUESTION = 20_000  # characters
Filter = tuple[str, ...]
FACET_NAMES = (*FACETS, "state", "label")


def _values(value: Any, field: str) -> tuple[str, ...]:
    """The values of a filter that can be repeated; a single one needs no list."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) and item.strip() for item in values):
        raise BadRequest(f"{field} must be a text or an array of texts", field=field)
    return tuple(dict.fromkeys(item.strip() for item in values))


def _facets(value: Any, field: str) -> tuple[str, ...]:
    names = tuple(name.strip() for item in _values(value, field) for name in item.split(",") if name.strip())
    for name in names:
        if name not in FACET_NAMES:
            raise BadRequest(f"{field} must be some of {', '.join(FACET_NAMES)}", field=field)
    return names


def _sort(value: Any, field: str) -> str:
    if not isinstance(value, str) or value.removeprefix("-") not in SORTS:
        raise BadRequest(f"{field} must be one of {', '.join(SORTS)}, with a leading - for descending", field=field)
    return value


def filter_meta(description: str) -> Meta:
    return Meta(
        description=description, extra={"parse": _values}, extra_json_schema={"items": {"type": "string", "pattern": r"\S"}}
    )


def _alias(name: str) -> Meta:
    """Another name of a filter, which schemas omit."""
    return Meta(description=f"Another name of `{name}`.", extra={"parse": _values, "is_hidden": True})


SESSION_ID = Meta(
    min_length=1,
    max_length=1_024,
    description="A session: `session:…`, a UUID, the agent's own id, the beginning of one of these (4 characters or "
    "more), or `last`.",
)
_LABEL = Meta(
    min_length=1,
    max_length=MAX_LABEL,
    pattern=r"^\S(.*\S)?$",
    description="A label, at most {max_length} characters.",
    extra={"expected": f"name must be a text of 1 to {MAX_LABEL} characters, without blanks at its ends"},
)
_NOTE = Meta(max_length=MAX_NOTE, description="The note, at most {max_length} characters.")
_CURSOR = Meta(description="`page.next` of the page before, with the same filters.")


class LibraryRequest(Request):
    one_of: ClassVar[str] = "{name} must be one of {choices}"


class FilteredRequest(LibraryRequest):
    """Filters of sessions. Any value of one filter fits; different filters must all fit. A leading `-` leaves out."""

    query: Annotated[
        str,
        Meta(max_length=MAX_QUERY, description='Words and filters, as in `agent:codex since:7d "exact phrase" retry`.'),
    ] = ""
    agent: Annotated[Filter, filter_meta("Only sessions of this agent: claude-code, codex, …")] = ()
    project: Annotated[Filter, filter_meta("Only sessions of this project, by its name or folder.")] = ()
    branch: Annotated[Filter, filter_meta("Only sessions on this branch.")] = ()
    model: Annotated[Filter, filter_meta("Only sessions with this model; `*` stands for any characters: `opus*`.")] = ()
    tool: Annotated[Filter, filter_meta("Only sessions that called this tool.")] = ()
    file: Annotated[Filter, filter_meta("Only sessions that read or changed this file: `*.go`, `src/auth.ts`.")] = ()
    type: Annotated[Filter, filter_meta("Only sessions with events of this type; in a search, only such events.")] = ()
    mode: Annotated[Filter, filter_meta("Only sessions of this kind: chat, tool_calling, web_search, mcp_internal.")] = ()
    state: Annotated[Filter, filter_meta("Only sessions in this state: working, waiting, idle, ended, died.")] = ()
    label: Annotated[Filter, filter_meta("Only sessions with this label.")] = ()
    machine: Annotated[Filter, filter_meta("Only sessions of this machine.")] = ()
    failed: Annotated[bool | None, Meta(description="Only sessions with a failed tool call; false: only those without.")] = (
        None
    )
    since: Annotated[Filter, filter_meta("Only sessions active since: 7d, yesterday, 2026-03-01, last week of March.")] = ()
    until: Annotated[Filter, filter_meta("Only sessions that began before this time.")] = ()

    def filter_query(self) -> FilterQuery:
        """The filters of the parameters and of the query together, and the words of the query."""
        found = split(self.query)
        return FilterQuery(found.text, (*self.parameter_terms(), *found.terms), self.query)

    def parameter_terms(self) -> tuple[FilterTerm, ...]:
        """The filters of the parameters."""
        terms = [term for key in KEYS if key not in ("failed", "in") for term in self._terms(key)]
        if self.failed is not None:
            terms.append(FilterTerm("failed", str(self.failed).lower()))
        return tuple(terms)

    def _terms(self, key: str) -> list[FilterTerm]:
        values: Filter = getattr(self, key)
        return [FilterTerm(key, value.removeprefix("-"), value.startswith("-")) for value in values]

    def fingerprint(self) -> dict[str, Any]:
        """Everything that a cursor of this request depends on."""
        names = (*(field for field in FilteredRequest.__struct_fields__), "sort", "by")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}


class PagedRequest(FilteredRequest):
    limit: Annotated[int, Meta(ge=1, le=200, description="How many, {ge} to {le}. Default {default}.")] = 50
    cursor: Annotated[str | None, _CURSOR] = None


class ListLibrarySessions(PagedRequest):
    """A page of sessions, with facets on request."""

    sort: Annotated[
        str,
        Meta(
            description=f"One of {', '.join(SORTS)}; a leading `-` sorts descending. Default -updated.",
            extra={"parse": _sort},
            extra_json_schema={"enum": [*SORTS, *(f"-{name}" for name in SORTS)]},
        ),
    ] = "-updated"
    facets: Annotated[
        Filter,
        Meta(
            description=f"Also count sessions by some of {', '.join(FACET_NAMES)}.",
            extra={"parse": _facets},
            extra_json_schema={"items": {"type": "string", "enum": list(FACET_NAMES)}},
        ),
    ] = ()


class GetLibrarySession(LibraryRequest):
    """One session with its turns, files, observations, related sessions and resume command."""

    id: Annotated[str, SESSION_ID]


_FORMAT = Meta(description="html, markdown or jsonl. Default {default}.")
_FULL = Meta(description="Do not shorten long texts in HTML and Markdown.")


class ExportSession(LibraryRequest):
    """A session as a document: one HTML file, Markdown, or JSON lines. Secrets are redacted."""

    id: Annotated[str, SESSION_ID]
    format: Annotated[FormatName, _FORMAT] = "html"
    full: Annotated[bool, _FULL] = False


class ExportSessions(FilteredRequest):
    """The sessions that filters select or a search finds, as one document. Secrets are redacted."""

    format: Annotated[FormatName, _FORMAT] = "html"
    full: Annotated[bool, _FULL] = False
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many sessions, {ge} to {le}. Default {default}.")] = 50

    def written(self) -> str:
        """The filters and words as they would be typed in a query."""
        query = self.filter_query()
        return " ".join([*map(str, query.terms), query.text]).strip()

    def filters(self) -> dict[str, Any]:
        """The filters as arguments of other requests."""
        return {name: getattr(self, name) for name in FilteredRequest.__struct_fields__}


class ListEvents(LibraryRequest):
    """A window of a session's events, in full."""

    id: Annotated[str, SESSION_ID]
    first: Annotated[int, Meta(ge=0, description="The sequence number of the first event, from 0. Default {default}.")] = (
        field(default=0, name="from")
    )
    limit: Annotated[int, Meta(ge=1, le=200, description="How many, {ge} to {le}. Default {default}.")] = 50
    type: Annotated[Filter, filter_meta("Only events of this type.")] = ()
    kinds: Annotated[Filter, _alias("type")] = ()
    cursor: Annotated[str | None, _CURSOR] = None

    def types(self) -> Filter:
        """The types by either name."""
        return (*self.type, *self.kinds)


class SearchLibrary(PagedRequest):
    """Search events. Hits are grouped by session, best first."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY, description="Words and filters.", extra={"strip": True})]
    mode: Annotated[
        Filter,
        filter_meta("How to find: text (fast, for search as you type), vector or both. Or only sessions of this kind."),
    ] = ()
    why: Annotated[bool, Meta(description="Add the parts of its score to each match.")] = False
    matches: Annotated[int, Meta(ge=1, le=50, description="Matches per session, {ge} to {le}. Default {default}.")] = 5

    def search_mode(self) -> Mode | None:
        """How to find; None if the settings decide."""
        chosen = [value for value in self.mode if value in SEARCH_MODES]
        return cast("Mode", chosen[-1]) if chosen else None

    def _terms(self, key: str) -> list[FilterTerm]:
        return [term for term in super()._terms(key) if key != "mode" or term.value not in SEARCH_MODES]


class GetUsage(PagedRequest):
    """Tokens and cost, by day or another key."""

    by: Annotated[
        Literal["day", "week", "project", "agent", "model", "session"],
        Meta(description="What to sum by. Default {default}."),
    ] = "day"
    format: Annotated[Literal["json", "csv"], Meta(description="csv: a table in plain text. Default {default}.")] = "json"
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many rows, {ge} to {le}. Default {default}.")] = 1_000


class ListFiles(PagedRequest):
    """Files that sessions read, changed, created and deleted, newest first."""

    operation: Annotated[Filter, filter_meta("Only this operation: read, changed, created, deleted.")] = ()

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "operation": self.operation}


class ListSessionFiles(LibraryRequest):
    """The files of one session, in the order of its events."""

    id: Annotated[str, SESSION_ID]
    limit: Annotated[int, Meta(ge=1, le=200, description="How many, {ge} to {le}. Default {default}.")] = 200
    cursor: Annotated[str | None, _CURSOR] = None


class GetFileHistory(ListFiles, kw_only=True):
    """What sessions did to one file, newest first."""

    path: Annotated[str, Meta(min_length=1, max_length=4_096, description="The file's path, or the end of it.")]

    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint(), "path": self.path}


class ListActivity(PagedRequest):
    """Sessions as intervals of a time range, oldest first. Default: the last 7 days."""

    limit: Annotated[int, Meta(ge=1, le=200, description="How many, {ge} to {le}. Default {default}.")] = 200


class GetNow(FilteredRequest):
    """The sessions that run: working, waiting for the person, or idle; with `all`, also those that ended or died today."""

    all: Annotated[bool, Meta(description="Also sessions of the last 24 hours that ended or died.")] = False


class AskLibrary(FilteredRequest):
    """Answer a question from all sessions, with sources."""

    query: Annotated[
        str, Meta(max_length=MAX_QUESTION, description="The question, also with filters: `agent:codex why did we retry?`.")
    ] = ""
    question: Annotated[
        str, Meta(max_length=MAX_QUESTION, description="The question; `query` if this is missing.", extra={"strip": True})
    ] = ""


class GetHealth(LibraryRequest):
    """What is indexed, which agents are read, and what could not be read."""


class ListLabels(LibraryRequest):
    """All labels, with the number of sessions that have each."""


class PutLabel(LibraryRequest):
    """Label a session."""

    id: Annotated[str, SESSION_ID]
    name: Annotated[str, _LABEL]


class RemoveLabel(LibraryRequest):
    """Remove a label from a session."""

    id: Annotated[str, SESSION_ID]
    name: Annotated[str, _LABEL]


class WriteNote(LibraryRequest):
    """Write a note on a session. An empty text removes it."""

    id: Annotated[str, SESSION_ID]
    note: Annotated[str, _NOTE]


class WriteEventNote(LibraryRequest):
    """Write a note on an event. An empty text removes it."""

    id: Annotated[str, Meta(min_length=1, max_length=64, description="An event: `event:…`.")]
    note: Annotated[str, _NOTE]


class ForgetSessions(LibraryRequest):
    """Forget sessions for good: nothing of them is left in any file of the store, and no log brings them back.

    Sub-agents are forgotten with their parent. Agents' own logs stay as they are: the answer names those that exist.
    """

    ids: Annotated[
        Filter,
        Meta(
            description="Sessions, each by any form of its id.",
            extra={"parse": _values},
            extra_json_schema={"items": {"type": "string"}},
        ),
    ] = ()
    project: Annotated[Filter, filter_meta("All sessions of this project, by its name or folder.")] = ()
    before: Annotated[
        str | None,
        Meta(max_length=200, description="All sessions that ended before this time: 2025-01-01, 90d, last year."),
    ] = None
    dry_run: Annotated[bool, Meta(description="Only say what would be forgotten.")] = False
    confirm: Annotated[
        int | None,
        Meta(
            ge=0, description="The number of sessions that a dry run named; if it is another one now, nothing is forgotten."
        ),
    ] = None

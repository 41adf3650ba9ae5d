"""What can be requested of the sessions family."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from recollect.errors import BadRequest
from recollect.model import replace_surrogates
from recollect.operations.ids import UuidKey, uuid_key
from recollect.operations.schema import Request

MAX_PROMPT = 8 << 20  # characters
MAX_LABEL = 256  # characters of a name or a value
MAX_LABELS = 64
MAX_OFFSET = 1 << 53  # beyond the end of any list, and exact in every JSON parser


class SessionsRequest(Request):
    always_lists_required: ClassVar[bool] = False


def parse_prompt(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest(f"{field} must be a text that is not blank", field=field)
    if len(value) > MAX_PROMPT:
        raise BadRequest(f"{field} must be at most {MAX_PROMPT:,} characters", field=field)
    return replace_surrogates(value)


def _labels(value: Any, field: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(label, str) for label in value.values()):
        raise BadRequest(f"{field} must be an object of strings", field=field)
    if not all(name.strip() for name in value) or any("\0" in part for label in value.items() for part in label):
        raise BadRequest(f"{field} must have names that are not blank, and no zero bytes", field=field)
    if len(value) > MAX_LABELS or any(len(part) > MAX_LABEL for label in value.items() for part in label):
        raise BadRequest(f"{field} must be at most {MAX_LABELS}, of {MAX_LABEL} characters each", field=field)
    return {replace_surrogates(name): replace_surrogates(label) for name, label in value.items()}


def parse_command(value: Any, field: str) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value) or not value[0]:
        raise BadRequest(f"{field} must be an array of strings: a program and its arguments", field=field)
    if any(word != replace_surrogates(word) or "\0" in word for word in value):
        raise BadRequest(f"{field} cannot be run: all its words must be UTF-8, without zero bytes", field=field)
    return value


def _count(value: Any, field: str) -> int:
    if type(value) is not int or value < 0:
        raise BadRequest(f"{field} must be an integer, 0 or more", field=field)
    return value


def _offset(value: Any, field: str) -> int:
    return min(_count(value, field), MAX_OFFSET)


def _uuid_field() -> Meta:
    return Meta(extra={"parse": uuid_key}, extra_json_schema={"type": "string", "format": "uuid"})


# A UUID, or `realm:uuid`. The operation reads it, because it knows the realm.
SessionId = Annotated[str, Meta(extra={"expected": "session_id must be a string"})]
RunnerName = Meta(min_length=1, extra={"expected": "runner must be a name"})
Offset = Annotated[int, Meta(ge=0, extra={"parse": _offset})]
Limit = Annotated[int, Meta(ge=1, le=1_000)]  # messages or sessions of a page


class CreateSession(SessionsRequest):
    """Create a live session and run its agent for a first turn (unless deferred): the built-in one, or a program on this
    machine that may change files and use the network."""

    prompt: Annotated[str | None, Meta(extra={"parse": lambda value, _: value})] = None  # checked by `first_prompt`
    initial_turn: Annotated[
        Literal["immediate", "deferred"] | None, Meta(extra={"expected": "initial_turn must be one of immediate, deferred"})
    ] = None
    labels: Annotated[dict[str, str], Meta(extra={"parse": _labels})] = {}
    runner: Annotated[
        str,
        Meta(
            min_length=1,
            description="recall (default), command, acp, or one of the config.",
            extra={"expected": "runner must be a name"},
        ),
    ] = ""
    command: Annotated[list[str] | None, Meta(description="Not over MCP.", extra={"parse": parse_command})] = None
    user_id: Annotated[UuidKey | None, _uuid_field()] = None
    journey_id: Annotated[UuidKey | None, _uuid_field()] = None

    @property
    def is_deferred(self) -> bool:
        return self.initial_turn == "deferred"

    def first_prompt(self) -> str:
        """The prompt of the first turn; empty if the first turn is deferred and there is none."""
        return "" if self.is_deferred and self.prompt is None else parse_prompt(self.prompt, "prompt")


class StartTurn(SessionsRequest):
    """Run one more turn of a live session with a prompt. Its agent may be a program on this machine that can change files
    and use the network. SESSION_BUSY while another turn runs: meerkat_interrupt ends it."""

    session_id: SessionId
    prompt: Annotated[str, Meta(extra={"parse": parse_prompt})]
    runner: Annotated[str, RunnerName] = ""
    command: Annotated[list[str] | None, Meta(extra={"parse": parse_command})] = None


class Interrupt(SessionsRequest):
    """Cancel the running turn of a live session, whichever process runs it, and wait for its end; interrupted is false
    when none runs."""

    session_id: SessionId


class ReadSession(SessionsRequest):
    """State, labels and token usage of one live or imported session; is_active while a turn runs, which it never waits
    for; also its runner."""

    session_id: SessionId


class ReadHistory(SessionsRequest):
    """Committed messages of a live session, oldest first, by offset and limit; nothing of a turn that still runs. Archived
    and imported ones as well."""

    session_id: SessionId
    offset: Offset = 0
    limit: Limit = 100


class ListLiveSessions(SessionsRequest):
    """Live sessions of the realm, the latest used on top, archived ones hidden; labels must all match; with imported,
    those of agents too."""

    labels: Annotated[dict[str, str], Meta(extra={"parse": _labels})] = {}
    imported: Annotated[bool, Meta(description="Also sessions read from agents' logs.")] = False
    offset: Offset = 0
    limit: Limit = 100


class Archive(SessionsRequest):
    """End a live session for good: meerkat_list hides it, and it has no more turns. Its messages stay readable, and `open`
    shows them still."""

    session_id: SessionId


class Locate(SessionsRequest):
    """The id of the session that `last`, or the beginning of an id, means."""

    session_id: SessionId


ExpectedGeneration = Annotated[int | None, Meta(extra={"parse": _count}, extra_json_schema={"minimum": 0})]


class ConfigRequest(SessionsRequest):
    """Read (get), replace (set) or change (patch, RFC 7396) the realm's config. Every write raises its generation by 1; a
    stale expected_generation writes nothing. No runners over MCP."""

    action: Literal["get", "set", "patch"]
    config: dict[str, Any] | None = None
    patch: dict[str, Any] | None = None
    expected_generation: ExpectedGeneration = None


class GetConfig(SessionsRequest):
    """Read the realm's config."""


class SetConfig(SessionsRequest):
    """Replace the realm's config."""

    config: dict[str, Any]
    expected_generation: ExpectedGeneration = None


class PatchConfig(SessionsRequest):
    """Change the realm's config by a merge patch."""

    patch: dict[str, Any]
    expected_generation: ExpectedGeneration = None


class ListRealms(SessionsRequest):
    """Every realm here."""


class GetRealm(SessionsRequest):
    """What a realm is and holds."""

    realm_id: str


class DeleteRealm(SessionsRequest):
    """Remove a realm with all in it."""

    realm_id: str


class PruneRealms(SessionsRequest):
    """Remove generated realms nobody is at work in."""

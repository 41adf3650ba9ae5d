"""What an operation is: a name, words for a model to choose it by, shapes, and a function."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import BadRequest, ErrorKind, RecollectError, StoreFault
from recollect.live import LiveRealm
from recollect.operations.prompts import Prompt
from recollect.realms import Realm
from recollect.search import deadline_check
from recollect.store import Reader

JsonSchema = dict[str, Any]
DOCTOR = "`recollect doctor` may know why"

log = logging.getLogger(__name__)


def _never() -> bool:
    return False


class Caller(Struct, frozen=True):
    """What is known of the agent that asks: the id of its tool call, or of its session, and where it works."""

    tool_use: str | None = None
    thread: str | None = None
    folder: str | None = None


class RequestContext(Struct, frozen=True):
    """A request under way: when it was received, from where everything it costs is measured; whether it is still wanted;
    whether somebody on this machine asks, and whether an MCP client does, of which agent; and who wants to hear of the
    events of a turn that it runs."""

    received: float
    cancelled: Callable[[], bool] = _never
    is_local: bool = True
    is_mcp: bool = False
    on_event: Callable[[dict[str, Any]], None] | None = None
    caller: Caller | None = None
    has_deadline: bool = True  # a person at a terminal gets an answer, late if need be

    @classmethod
    def now(cls, *, has_deadline: bool = True) -> "RequestContext":
        return cls(time.perf_counter(), has_deadline=has_deadline)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.received) * 1000

    def past_deadline(self, ms: int) -> Callable[[], bool]:
        """A test whether that many milliseconds have passed since, or the caller has given up."""
        if not self.has_deadline:
            return self.cancelled
        end = self.received + ms / 1000
        return lambda: time.perf_counter() >= end or self.cancelled()


@contextmanager
def open_reader(realm: Realm, context: RequestContext, usual_ms: int) -> Iterator[Reader]:
    """The archive, for as long as a request has; refused where its time is up already."""
    late = context.past_deadline(realm.deadline_ms(usual_ms))
    deadline_check(late)()
    with realm.open_archive() as reader:
        reader.stop_when(late)
        yield reader


class Reply(Struct, frozen=True):
    """What a caller gets, in its family's form: a text, and where the family answers in JSON the same as an object."""

    text: str
    structured: bytes | None = None
    is_error: bool = False
    kind: ErrorKind | None = None  # of an error, for surfaces that have a number for it


def reply_or_error(
    name: str, make: Callable[[], Reply], refuse: Callable[[RecollectError], Reply], unforeseen: str
) -> Reply:
    """What an operation answers, in its family's words; the last net of them all.

    A fault of ours (`unforeseen` is what is said of it) is an answer too, and never ends the server.
    """
    try:
        return make()
    except RecollectError as reason:
        error = reason
    except MemoryError:
        error = StoreFault("There is not enough memory. Close other programs, or raise the limit with `ulimit -v`.")
    except Exception:
        log.exception("%s failed", name)
        error = StoreFault(unforeseen)
    return msgspec.structs.replace(refuse(error), kind=error.kind)


class Route(Struct, frozen=True, kw_only=True):
    """What an operation is called where resources and methods have names: JSON-RPC and REST."""

    rpc: str = ""  # such as `turn/start`
    http: str = ""  # such as `POST /sessions/{session_id}/messages`; a name in braces is an argument
    implied_arguments: dict[str, Any] = {}  # arguments that this name stands for
    headers: dict[str, str] = {}  # HTTP headers that give an argument which was not given otherwise
    input_schema: JsonSchema | None = None  # of what it takes, where that is not all that the operation takes

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """What was given, with what this name stands for and so nobody else may say."""
        for name in self.implied_arguments.keys() & given.keys():
            raise BadRequest(f"{self.rpc} stands for a {name} and takes none", field=name)
        return {**given, **self.implied_arguments}


@dataclass(frozen=True)
class Operation:
    """`run` takes the arguments as they came and answers in its family's form; it never raises."""

    name: str
    title: str
    description: str
    input_schema: JsonSchema
    run: Callable[[LiveRealm, Any, RequestContext], Reply]
    output_schema: JsonSchema | None = None  # of the structured answer, where there is one
    writes: bool = False
    repeatable: bool = True  # asked twice, it does no more than asked once
    is_tool: bool = True  # offered to models; what is not, only people and programs ask for
    runs_programs: bool = False  # agents, which may change or send anything that the owner can
    is_destructive: bool = False  # it ends or replaces what exists
    is_long: bool = False  # it may take as long as an agent does: never in a queue with others
    routes: tuple[Route, ...] = ()
    answer_schema: JsonSchema | None = None  # of a success, for programs; models are not told


@dataclass(frozen=True)
class Family:
    """Operations that belong together: they share an envelope, words for errors, and a guide to choosing between them."""

    operations: tuple[Operation, ...]
    guide: str  # one or two sentences for a model
    prompts: tuple[Prompt, ...] = ()

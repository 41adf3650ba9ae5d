"""What an operation is: a typed request, a function that answers it, and its names on every surface."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import BadRequest, ErrorKind, RecollectError, StoreFault
from recollect.live import LiveRealm
from recollect.operations.answer_file import AnswerFile
from recollect.operations.context import RequestContext
from recollect.operations.prompts import Prompt
from recollect.operations.schema import JsonSchema, Request, description_of, schema_of

OUT_OF_MEMORY = "There is not enough memory. Close other programs, or raise the limit with `ulimit -v`."

log = logging.getLogger(__name__)


class Reply(Struct, frozen=True):
    """What a caller gets, in its family's form: a text, and for families that answer in JSON the JSON object."""

    text: str
    structured: bytes | None = None
    is_error: bool = False
    kind: ErrorKind | None = None  # of an error, for surfaces that have a code for it
    file: AnswerFile | None = None  # what REST sends in place of the JSON object, which then only describes it


def json_reply(answer: Any, *, is_error: bool = False, kind: ErrorKind | None = None) -> Reply:
    """A reply in JSON, without a frame."""
    body = msgspec.json.encode(answer)
    return Reply(body.decode(), body, is_error, kind)


class Envelope(Struct, frozen=True):
    """How a family frames its answers and its errors."""

    success: "Callable[[Operation, Any, RequestContext], Reply]"
    failure: "Callable[[Operation, RecollectError, Any, RequestContext], Reply]"  # with the arguments as received
    frame: Callable[[type[Struct]], JsonSchema] | None = None  # the schema of a success, for families that declare `answer`


class Route(Struct, frozen=True, kw_only=True):
    """An operation's name in JSON-RPC and REST."""

    rpc: str = ""  # such as `turn/start`
    http: str = ""  # such as `POST /sessions/{session_id}/messages`; a name in braces is an argument
    implied_arguments: dict[str, Any] = {}  # arguments that the name implies; callers may not pass them
    headers: dict[str, str] = {}  # HTTP headers, each with the argument that it sets if nothing else sets it
    request: type[Request] | None = None  # the arguments of this name, if they are fewer than the operation's

    def arguments(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The operation's arguments: those of the caller and the implied ones."""
        for name in self.implied_arguments.keys() & arguments.keys():
            raise BadRequest(f"{self.rpc} takes no {name}", field=name)
        return {**arguments, **self.implied_arguments}


@dataclass(frozen=True)
class Operation:
    """One thing that can be requested."""

    name: str
    title: str
    request: type[Request]
    handle: Callable[..., Any]  # (realm, request, context) -> the answer, which the family's envelope frames
    envelope: Envelope
    routes: tuple[Route, ...] = ()
    output_schema: JsonSchema | None = None  # of the structured answer, if models get one
    answer_schema: JsonSchema | None = None  # of a successful answer, for programs; models do not get it
    answer: type[Struct] | None = None  # the shape of a successful answer, without the frame
    file_types: tuple[str, ...] = ()  # media types of the files that may replace the answer over REST
    failure: str = ""  # the beginning of error texts, in families whose errors name the failed action
    writes: bool = False
    repeatable: bool = True  # a second identical request changes nothing more
    is_tool: bool = True  # offered to models; the others are for people and programs
    runs_programs: bool = False  # it runs agents, which may change or send anything that the owner can
    is_destructive: bool = False  # it ends or replaces something that exists
    is_long: bool = False  # it may take as long as an agent's turn, so it never waits in a queue with others

    @property
    def description(self) -> str:
        return description_of(self.request)

    @cached_property
    def input_schema(self) -> JsonSchema:
        return schema_of(self.request)

    @cached_property
    def response_schema(self) -> JsonSchema:
        """The schema of a successful answer in its frame. References point to `answer_components`."""
        if self.answer is not None and self.envelope.frame is not None:
            return self.envelope.frame(self.answer)
        return self.answer_schema or self.output_schema or {"type": "object"}

    def run(self, realm: LiveRealm, arguments: Any, context: RequestContext, **options: Any) -> Reply:
        """The reply to a request, in the family's form. Never raises: an error becomes a reply, too.

        `options` are passed to `handle` only: arguments of the command line that the contract does not have.
        """
        try:
            request = self.request.parse(arguments)
            return self.envelope.success(self, self.handle(realm, request, context, **options), context)
        except RecollectError as reason:
            error = reason
        except MemoryError:
            error = StoreFault(OUT_OF_MEMORY)
        except OSError as reason:
            log.exception("%s failed", self.name)
            error = StoreFault(str(reason))
        except Exception:
            log.exception("%s failed", self.name)
            error = StoreFault(f"{self.name} failed; `recollect doctor` may show why.")
        reply = self.envelope.failure(self, error, arguments, context)
        return reply if reply.kind is not None else msgspec.structs.replace(reply, kind=error.kind)


@dataclass(frozen=True)
class Family:
    """Operations that belong together: they share an envelope and error texts, and a guide to choosing between them."""

    operations: tuple[Operation, ...]
    guide: str  # one or two sentences for a model
    prompts: tuple[Prompt, ...] = ()

"""JSON-RPC 2.0, independent of the transport.

Methods are the routes of the operations (`session/create`, `turn/start`, …); `tools/call` calls any tool, with the same
result as over MCP. Events of a turn are `session/event` notifications to the connection that started it, all before the
response. Batches are refused, because an event does not say to which of several requests it belongs.
"""

import hmac
import logging
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import msgspec
from msgspec import Raw, Struct

from recollect import __version__
from recollect.errors import BadRequest
from recollect.lenient_json import decode
from recollect.live import LiveRealm
from recollect.operations import FAMILIES, OPERATIONS, Operation, Reply, RequestContext, Route, toolset_of
from recollect.operations.answer_file import with_content
from recollect.surfaces.mcp.server import Message, RpcError, tool_of, tool_result
from recollect.surfaces.transport.error_codes import (
    INTERNAL,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    codes_of_reply,
)
from recollect.surfaces.transport.line_reader import POLL_S, TOO_LONG
from recollect.surfaces.transport.thread_pool import OVERLOADED, Job, ThreadPool
from recollect.surfaces.transport.write_queue import WriteQueue, encode_line

OWN_METHODS = ("initialize", "ping", "tools/list", "tools/call")
NO_TOKEN = "Send `initialize` first, with the server's token as `token`. `recollect token` prints it."
BAD_PARAMS = {"code": "INVALID_PARAMS"}

Id = str | int | float | None

log = logging.getLogger(__name__)


class Method(Struct, frozen=True):
    """An operation and the route that has this method."""

    operation: Operation
    route: Route


@cache
def methods() -> dict[str, Method]:
    """The methods of all operations, by name."""
    return {
        route.rpc: Method(operation, route) for operation in OPERATIONS.values() for route in operation.routes if route.rpc
    }


class RpcRequest(Struct, frozen=True):
    """A request; one without an id is a notification and gets no response."""

    method: str
    params: Any
    id: Id
    is_notification: bool


class RpcConnection:
    """Answers the messages of one connection. No message makes it raise."""

    def __init__(self, realm: LiveRealm, threads: ThreadPool, write_queue: WriteQueue, token: str | None = None) -> None:
        self._realm = realm
        self._threads = threads
        self._write_queue = write_queue
        self._token = token  # `initialize` must send it first; None once it has, or if none is required
        self._unanswered = 0  # requests
        self._changed = threading.Condition()

    def has_token(self) -> bool:
        """Whether the caller has sent the token, or does not need one."""
        return self._token is None

    def receive(self, line: bytes | None) -> None:
        """Handle one line; None stands for a line that was too long. Operations run in other threads."""
        self._write_queue.wait_for_space()
        context = RequestContext.now()
        if line is not None and not line.strip():
            return
        try:
            self._handle(_request(line), context)
        except InvalidRequest as invalid:
            self._refuse(invalid.id, invalid.error)

    def receive_strictly(self, line: bytes) -> None:
        """Handle one line. Raises `InvalidRequest` if it is not a JSON-RPC 2.0 object."""
        self._write_queue.wait_for_space()
        context = RequestContext.now()
        try:
            self._handle(_request(line), context)
        except InvalidRequest as invalid:
            if not invalid.is_message:
                raise
            self._refuse(invalid.id, invalid.error)

    def _handle(self, request: RpcRequest, context: RequestContext) -> None:
        try:
            self._start(request, context)
        except RpcError as error:
            if not request.is_notification:
                self._refuse(request.id, error)

    def wait_until_answered(self, is_read: Callable[[], bool]) -> None:
        """Wait until all requests are answered, or the client no longer reads."""
        with self._changed:
            while self._unanswered and is_read():
                self._changed.wait(POLL_S)

    def _start(self, request: RpcRequest, context: RequestContext) -> None:
        if self._token is not None:
            self._check_token(request)
        params = request.params
        if params is None:
            params = {}
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params must be an object", BAD_PARAMS)
        if request.method in ("initialize", "ping", "tools/list"):
            self._answer(request, self._own_result(request.method))
            return
        is_tool = request.method == "tools/call"
        operation, arguments = _tool_call(params) if is_tool else _route_call(request.method, params)

        def run() -> None:
            try:
                reply = operation.run(self._realm, arguments, self._context(operation, context))
                self._answer(request, tool_result(reply) if is_tool else _result(reply))
            except RpcError as error:
                self._fail(request, error)
            except BaseException:  # not only Exception: the caller must not wait for ever
                self._fail(
                    request, RpcError(INTERNAL, f"{request.method} failed. Run `recollect doctor` to look for the cause")
                )
                raise

        if not self._submit(run, is_long=operation.is_long):
            raise RpcError(INTERNAL, OVERLOADED, {"code": "INTERNAL_ERROR"})

    def _check_token(self, request: RpcRequest) -> None:
        """The first request must be `initialize`, with the token."""
        token = request.params.get("token") if isinstance(request.params, dict) else None
        is_valid = isinstance(token, str) and hmac.compare_digest(token.encode("utf-8", "replace"), self._token_bytes())
        if request.method != "initialize" or not is_valid:
            raise RpcError(INVALID_REQUEST, NO_TOKEN)
        self._token = None

    def _token_bytes(self) -> bytes:
        return (self._token or "").encode()

    def _submit(self, run: Job, *, is_long: bool) -> bool:
        def run_counted() -> None:
            try:
                run()
            finally:
                self._count(-1)

        self._count(1)
        if self._threads.submit(run_counted, is_long=is_long):
            return True
        self._count(-1)
        return False

    def _count(self, change: int) -> None:
        with self._changed:
            self._unanswered += change
            self._changed.notify_all()

    def _context(self, operation: Operation, received: RequestContext) -> RequestContext:
        """The context of an operation. When the server stops, turns are interrupted, and quick requests are answered."""
        if not operation.is_long:
            return received
        return RequestContext(received.received, cancelled=self._threads.is_stopping, on_event=self._write_queue.put_event)

    def _own_result(self, method: str) -> Message:
        """The result of a method of the server itself."""
        match method:
            case "initialize":
                realm = {"realm_id": self._realm.name, "instance_id": self._realm.instance, "backend": self._realm.backend}
                return {"name": "recollect", "version": __version__, **realm, "methods": sorted([*OWN_METHODS, *methods()])}
            case "tools/list":
                return {"tools": [tool_of(operation) for operation in _tools().values()]}
            case _:
                return {}

    # ---- answers

    def _answer(self, request: RpcRequest, result: Any) -> None:
        if not request.is_notification:
            self._write_queue.put_response(encode_line({"jsonrpc": "2.0", "id": request.id, "result": result}))

    def _fail(self, request: RpcRequest, error: RpcError) -> None:
        if not request.is_notification:
            self._refuse(request.id, error)

    def _refuse(self, identity: Id, error: RpcError) -> None:
        self._write_queue.put_response(encode_line(error.response(identity)))


# ---- from a line to a request


class InvalidRequest(Exception):
    """A line that is not a valid request. `id` is the line's id, if it has one."""

    def __init__(self, code: int, message: str, identity: Id = None, *, is_message: bool = False) -> None:
        super().__init__(message)
        self.error = RpcError(code, message)
        self.id = identity
        self.is_message = is_message  # whether the line is a JSON-RPC 2.0 object


def _request(line: bytes | None) -> RpcRequest:
    if line is None:
        raise InvalidRequest(INVALID_REQUEST, TOO_LONG)
    try:
        message = decode(line)
    except (ValueError, RecursionError):
        raise InvalidRequest(PARSE_ERROR, "not JSON in UTF-8") from None
    if isinstance(message, list):
        raise InvalidRequest(INVALID_REQUEST, "batches are not served: send one message per line")
    if not isinstance(message, dict):
        raise InvalidRequest(INVALID_REQUEST, "a message must be one JSON-RPC 2.0 object")
    identity, method, is_message = message.get("id"), message.get("method"), message.get("jsonrpc") == "2.0"
    if "id" in message and (not isinstance(identity, str | int | float) or isinstance(identity, bool)):
        raise InvalidRequest(INVALID_REQUEST, "id must be a string or a number", is_message=is_message)
    if not is_message:
        raise InvalidRequest(INVALID_REQUEST, 'jsonrpc must be "2.0"', identity)
    if not isinstance(method, str):
        raise InvalidRequest(INVALID_REQUEST, "method must be a string", identity, is_message=True)
    return RpcRequest(method, message.get("params"), identity, "id" not in message)


# ---- from a request to an operation, and back


def _route_call(name: str, params: dict[str, Any]) -> tuple[Operation, dict[str, Any]]:
    method = methods().get(name)
    if method is None:
        raise RpcError(NO_METHOD, f"Method not found: {name}")
    try:
        return method.operation, method.route.arguments(params)
    except BadRequest as error:
        raise RpcError(INVALID_PARAMS, str(error), BAD_PARAMS) from None


@cache
def _tools() -> dict[str, Operation]:
    return toolset_of(tuple(FAMILIES)).operations


def _tool_call(params: dict[str, Any]) -> tuple[Operation, Any]:
    name = params.get("name")
    operation = _tools().get(name) if isinstance(name, str) else None
    if operation is None:
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}", BAD_PARAMS)
    return operation, params.get("arguments")


def _result(reply: Reply) -> Any:
    if reply.is_error or reply.kind is not None:
        _raise(reply)
    if reply.file is not None:
        return Raw(with_content(reply.text.encode(), reply.file))
    return Raw(reply.structured) if reply.structured is not None else {"text": reply.text}


def _raise(reply: Reply) -> NoReturn:
    """Raise an error reply: bare JSON, JSON in an envelope, or text."""
    try:
        body = msgspec.json.decode(reply.structured or reply.text)
    except msgspec.DecodeError:
        body = {"message": reply.text}
    body = body.get("error", body)
    data = {name: body[name] for name in ("code", "details") if name in body}
    raise RpcError((codes_of_reply(reply) or INTERNAL_ERROR).rpc, body["message"], data or None)

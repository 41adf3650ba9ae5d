"""MCP, the Model Context Protocol, independent of the transport.

Both kinds of revisions are served. Up to 2025-11-25 a client starts with `initialize`. From 2026-07-28 on there is no
handshake: every request has its revision in `_meta`, and results are marked as complete. An operation's error is a result
with `isError`; JSON-RPC errors are only for invalid requests.
"""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from recollect import __version__
from recollect.display import escape_json, neutralise, one_line
from recollect.live import LiveRealm
from recollect.operations import Operation, Reply, RequestContext, Toolset, caller_of
from recollect.operations.prompts import Prompt
from recollect.surfaces.transport.error_codes import INTERNAL, INVALID_PARAMS, INVALID_REQUEST, NO_METHOD
from recollect.surfaces.transport.thread_pool import OVERLOADED

if TYPE_CHECKING:
    from recollect.surfaces.mcp.sampling import Sampling

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
CACHEABLE = {"ttlMs": 3_600_000, "cacheScope": "private"}  # the tools of a running server do not change
PROGRESS_INTERVAL_S = 0.1  # seconds between two progress notices: an agent may write a thousand words per second
MAX_NOTICE = 80  # characters of a progress notice

UNSUPPORTED_VERSION = -32022
PROGRESS = "notifications/progress"

SERVER = {"name": "recollect", "title": "Recollect", "version": __version__}
CAPABILITIES = {"tools": {"listChanged": False}, "prompts": {"listChanged": False}}
Message = dict[str, Any]
Send = Callable[[Message], None]
Job = Callable[[], None]


class RpcError(Exception):
    """A JSON-RPC error: a code, a message and optional data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def response(self, identity: str | int | float | None = None) -> Message:
        """The error response to a request. The id is null if the request's id could not be read."""
        data = {"data": self.data} if self.data is not None else {}
        return {"jsonrpc": "2.0", "id": identity, "error": {"code": self.code, "message": str(self), **data}}


class Call(Struct):
    """A running request."""

    id: str | int
    cancelled: threading.Event
    context: RequestContext


class McpServer:
    """Answers the messages of a client. `send` is called from several threads; it must not block or raise."""

    def __init__(
        self, realm: LiveRealm, toolset: Toolset, send: Send, running: "dict[str | int, Call] | None" = None
    ) -> None:
        """`running`: the client's running calls, shared if several servers handle its messages."""
        self.realm = realm
        self.toolset = toolset
        self.send = send
        self.folder: str | None = None  # where the client's agent works, if known
        self.sampling: Sampling | None = None  # set if the client can answer requests
        self.on_initialize: Callable[[], None] = lambda: None  # called before `initialize` is answered
        self._running: dict[str | int, Call] = {} if running is None else running

    def is_busy(self) -> bool:
        return bool(self._running)

    def cancel_all(self) -> None:
        """Cancel all running calls: the client is gone."""
        for call in list(self._running.values()):
            call.cancelled.set()

    def receive(self, message: Any, context: RequestContext, run: Callable[[Job, bool], bool]) -> None:
        """Handle one message. Everything except tool calls is answered at once.

        `run` runs a tool call and gets whether it may take long. It returns False if the server is overloaded.
        """
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            self._refuse(None, RpcError(INVALID_REQUEST, "a message must be one JSON-RPC 2.0 object"))
            return
        method, identity = message.get("method"), message.get("id")
        if "id" not in message:
            self._on_notification(method, message.get("params"))
        elif not isinstance(identity, str | int) or isinstance(identity, bool):
            self._refuse(None, RpcError(INVALID_REQUEST, "id must be a string or a number"))
        elif not isinstance(method, str):
            if "result" not in message and "error" not in message:
                self._refuse(identity, RpcError(INVALID_REQUEST, "method must be a string"))
            elif self.sampling is not None:
                self.sampling.on_response(message)
        else:
            call = Call(identity, threading.Event(), context)
            self._running[identity] = call
            params = message.get("params")
            if method == "tools/call":
                if not run(lambda: self._answer(call, method, params), self._is_long(params)):
                    self._running.pop(identity, None)
                    self._refuse(identity, RpcError(INTERNAL, OVERLOADED))
            else:
                self._answer(call, method, params)

    def _is_long(self, params: Any) -> bool:
        name = params.get("name") if isinstance(params, dict) else None
        operation = self.toolset.operations.get(name) if isinstance(name, str) else None
        return operation is not None and operation.is_long

    def _on_notification(self, method: Any, params: Any) -> None:
        if method == "notifications/cancelled" and isinstance(params, dict):
            identity = params.get("requestId")
            call = self._running.get(identity) if isinstance(identity, str | int) else None
            if call is not None:
                call.cancelled.set()
        elif method == "notifications/initialized" and self.sampling is not None:
            self.sampling.start()

    def _answer(self, call: Call, method: str, params: Any) -> None:
        try:
            if params is not None and not isinstance(params, dict):
                raise RpcError(INVALID_PARAMS, "params must be an object")
            result = self._result(call, method, params or {})
        except RpcError as error:
            self._running.pop(call.id, None)
            self._refuse(call.id, error)
            return
        except BaseException:  # not only Exception: the caller must not wait for ever
            self._running.pop(call.id, None)
            self._refuse(call.id, RpcError(INTERNAL, f"{method} failed. Run `recollect doctor` to look for the cause"))
            raise
        self._running.pop(call.id, None)
        if not call.cancelled.is_set():
            self.send({"jsonrpc": "2.0", "id": call.id, "result": result})

    def _refuse(self, identity: str | int | None, error: RpcError) -> None:
        self.send(error.response(identity))

    # ---- methods

    def _result(self, call: Call, method: str, params: Message) -> Message:
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        is_stateless = VERSION_KEY in meta
        if is_stateless and meta[VERSION_KEY] not in STATELESS:
            supported = {"supported": [*STATELESS], "requested": meta[VERSION_KEY]}
            raise RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", supported)
        if is_stateless and not isinstance(meta.get(CAPABILITIES_KEY), dict):
            raise RpcError(INVALID_PARAMS, f"params._meta must have {CAPABILITIES_KEY}")
        match method:
            case "initialize" if not is_stateless:
                return self._initialize(params)
            case "ping" if not is_stateless:
                result: Message = {}
            case "tools/list":
                result = {"tools": [tool_of(operation) for operation in self.toolset.operations.values()]}
                if is_stateless:
                    result |= CACHEABLE
            case "tools/call":
                result = self._call_tool(call, params, meta)
            case "prompts/list":
                result = {"prompts": [prompt_of(prompt) for prompt in self.toolset.prompts.values()]}
                if is_stateless:
                    result |= CACHEABLE
            case "prompts/get":
                result = self._get_prompt(params)
            case "server/discover":
                versions = [*STATELESS, *reversed(HANDSHAKE)]
                result = {"supportedVersions": versions, "capabilities": CAPABILITIES, "instructions": self.toolset.guide}
                result |= CACHEABLE
                is_stateless = True
            case _:
                raise RpcError(NO_METHOD, f"Method not found: {method}")
        return {**result, "resultType": "complete", "_meta": {SERVER_KEY: SERVER}} if is_stateless else result

    def _initialize(self, params: Message) -> Message:
        self.on_initialize()
        requested = params.get("protocolVersion")
        if self.sampling is not None:
            self.sampling.initialize(params)
        return {
            "protocolVersion": requested if requested in HANDSHAKE else HANDSHAKE[-1],
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": self.toolset.guide,
        }

    def _call_tool(self, call: Call, params: Message, meta: Message) -> Message:
        name = params.get("name")
        operation = self.toolset.operations.get(name) if isinstance(name, str) else None
        if operation is None:
            raise RpcError(INVALID_PARAMS, f"Unknown tool: {name}")
        progress = ProgressReporter(meta.get("progressToken"), self.send)
        progress.send(0, f"{operation.title}…")

        def is_cancelled() -> bool:  # a server that stops still answers quick calls
            return call.cancelled.is_set() or (operation.is_long and call.context.cancelled())

        caller = caller_of(meta, self.folder)
        context = replace(call.context, cancelled=is_cancelled, on_event=progress.on_event, is_mcp=True, caller=caller)
        reply = operation.run(self.realm, params.get("arguments"), context)
        progress.send(1, "done")
        return tool_result(reply)

    def _get_prompt(self, params: Message) -> Message:
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompt = self.toolset.prompts.get(name) if isinstance(name, str) else None
        if prompt is None:
            raise RpcError(INVALID_PARAMS, f"Unknown prompt: {name}")
        if not isinstance(arguments, dict) or any(not isinstance(arguments.get(key), str) for key in prompt.arguments):
            raise RpcError(INVALID_PARAMS, f"{prompt.name} needs these arguments, as text: {', '.join(prompt.arguments)}")
        message = {"role": "user", "content": {"type": "text", "text": neutralise(prompt.text(arguments))}}
        return {"description": prompt.description, "messages": [message]}


class ProgressReporter:
    """Sends progress notices of a call, if the client wants them: a fraction that only grows, and a few words."""

    def __init__(self, token: Any, send: Send) -> None:
        self._token = token
        self._send = send
        self._events = 0
        self._next_at = 0.0

    def send(self, fraction: float, message: str) -> None:
        if isinstance(self._token, str | int):
            params = {"progressToken": self._token, "progress": fraction, "total": 1, "message": message}
            self._send({"jsonrpc": "2.0", "method": PROGRESS, "params": params})

    def on_event(self, event: Message) -> None:
        """Report an event of the call's turn. Each event adds less, because the total is unknown."""
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + PROGRESS_INTERVAL_S
        self._events += 1
        self.send(self._events / (self._events + 1), _short(event))


def _short(event: Message) -> str:
    """An event in a few words."""
    match event:
        case {"type": "text_delta" | "reasoning_delta", "delta": str(text)} if text.strip():
            return one_line(text)[:MAX_NOTICE]
        case {"type": "tool_call", "name": str(name)}:
            return one_line(name)[:MAX_NOTICE]
    return str(event["type"]).replace("_", " ")


def tool_result(reply: Reply) -> Message:
    """The result of a tool call. Its text is neutralised for models and terminals; its structure is exact."""
    text = neutralise(reply.text) if reply.structured is None else escape_json(reply.text)
    result: Message = {"content": [{"type": "text", "text": text}], "isError": reply.is_error}
    return result if reply.structured is None else {**result, "structuredContent": Raw(reply.structured)}


def tool_of(operation: Operation) -> Message:
    output = {"outputSchema": operation.output_schema} if operation.output_schema else {}
    return {
        "name": operation.name,
        "title": operation.title,
        "description": operation.description,
        "inputSchema": operation.input_schema,
        **output,
        "annotations": {
            "readOnlyHint": not operation.writes,
            "destructiveHint": operation.runs_programs or operation.is_destructive,
            **({"idempotentHint": True} if operation.writes and operation.repeatable else {}),
            "openWorldHint": operation.runs_programs,
        },
    }


def prompt_of(prompt: Prompt) -> Message:
    arguments = [{"name": name, "description": text, "required": True} for name, text in prompt.arguments.items()]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}

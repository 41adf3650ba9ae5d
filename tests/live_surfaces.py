"""Live sessions on every surface behind one interface: an operation is called by its name in the table."""

import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from recollect.operations import OPERATIONS
from tests.conftest import COMMANDS_OVER_MCP, Person
from tests.http_server import HttpServer
from tests.rpc_server import RawRpc, RpcConnection

EXITS = {"SESSION_NOT_FOUND": 10, "SESSION_BUSY": 11, "REQUEST_CANCELLED": 14, "PROVIDER_ERROR": 20, "AGENT_ERROR": 30,
         "SESSION_PERSISTENCE_DISABLED": 40, "STALE_CURSOR": 47, "GENERATION_CONFLICT": 2, "INVALID_PARAMS": 2, "INTERNAL_ERROR": 1}  # fmt: skip
STATUSES = {"SESSION_NOT_FOUND": 404, "SESSION_BUSY": 409, "REQUEST_CANCELLED": 499, "PROVIDER_ERROR": 502,
            "AGENT_ERROR": 500, "SESSION_PERSISTENCE_DISABLED": 501, "STALE_CURSOR": 410, "GENERATION_CONFLICT": 409, "INVALID_PARAMS": 400,
            "INTERNAL_ERROR": 500}  # fmt: skip
NUMBERS = {"SESSION_NOT_FOUND": -32001, "SESSION_BUSY": -32002, "REQUEST_CANCELLED": -32005, "PROVIDER_ERROR": -32010,
           "AGENT_ERROR": -32013, "SESSION_PERSISTENCE_DISABLED": -32020, "STALE_CURSOR": -32027, "GENERATION_CONFLICT": -32602,
           "INVALID_PARAMS": -32602, "INTERNAL_ERROR": -32603}  # fmt: skip


class Refused(Exception):
    """An error in the form that all surfaces share; its number has already been checked."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body)
        self.code: str = body["code"]
        self.message: str = body["message"]
        self.details: dict[str, Any] = body.get("details", {})


class Surface(ABC):
    """One realm, used through one surface."""

    has_types = True  # values have types; on a command line everything is text
    has_realms = True  # models get no operations on realms

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        self.person = person
        self.realm = realm
        self.options = ("--realm", realm, "--realm-backend", backend)
        self.stack = ExitStack()
        self._pool = ThreadPoolExecutor(8)

    @abstractmethod
    def ask(self, name: str, **arguments: Any) -> Any:
        """Call an operation and return its answer; raises `Refused`."""

    def ask_separately(self, name: str, **arguments: Any) -> Any:
        """The same over a new connection or in a new process."""
        return self.ask(name, **arguments)

    def begin(self, name: str, **arguments: Any) -> "Future[Any]":
        """Start an operation in a thread."""
        return self._pool.submit(self.ask_separately, name, **arguments)

    def refusal(self, name: str, **arguments: Any) -> Refused:
        try:
            answer = self.ask(name, **arguments)
        except Refused as refused:
            return refused
        raise AssertionError(f"{name} was not refused: {answer}")

    def close(self) -> None:
        self._pool.shutdown()
        self.stack.close()


class Rpc(Surface):
    """JSON-RPC on standard streams. Concurrent operations run in another process."""

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self._talk = self.stack.enter_context(RawRpc(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        return rpc_answer(self._talk, name, arguments)

    def ask_separately(self, name: str, **arguments: Any) -> Any:
        with RawRpc(self.person, *self.options) as talk:
            return rpc_answer(talk, name, arguments)


class RpcTcp(Surface):
    """JSON-RPC over TCP, with a new connection for every call."""

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        with self.server.rpc() as talk:
            return rpc_answer(talk, name, arguments)


class Rest(Surface):
    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        method, path, body = request_of(name, arguments)
        status, answer = self.server.ask(method, path, body)
        if status == 200:
            return answer
        assert status == STATUSES[answer["code"]], answer
        raise Refused(answer)


class Mcp(Surface):
    """MCP on standard streams; the owner allows programs. Concurrent operations run in another process."""

    has_realms = False
    allowed = COMMANDS_OVER_MCP

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self._raw = self.stack.enter_context(person.mcp("--no-sync", *self.options, **self.allowed))

    def ask(self, name: str, **arguments: Any) -> Any:
        return tool_answer(self._raw.request("tools/call", {"name": name, "arguments": arguments})["result"])

    def ask_separately(self, name: str, **arguments: Any) -> Any:
        with self.person.mcp("--no-sync", *self.options, **self.allowed) as raw:
            return tool_answer(raw.request("tools/call", {"name": name, "arguments": arguments})["result"])


class McpHttp(Surface):
    """MCP over HTTP; the owner allows programs."""

    has_realms = False
    allowed = COMMANDS_OVER_MCP

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options, **self.allowed))

    def ask(self, name: str, **arguments: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, answer = self.server.ask("POST", "/mcp", call, content_type="application/json")
        assert status == 200, answer
        return tool_answer(answer["result"])


class Tools(Surface):
    """`POST /v1/tools/{name}`."""

    has_realms = False

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        status, answer = self.server.ask("POST", f"/v1/tools/{name}", arguments)
        assert (status == 200) is not answer["isError"]
        return tool_answer(answer)


class Cli(Surface):
    has_types = False

    def ask(self, name: str, **arguments: Any) -> Any:
        options = () if name.startswith("realm_") else self.options
        completed = self.person.run(*command_line(name, arguments), *options, "--json", check=False)
        answer = json.loads(completed.stdout)
        if completed.returncode == 0:
            return answer
        assert completed.returncode == EXITS[answer["code"]], answer
        raise Refused(answer)


SURFACES: dict[str, Callable[[Person, str], Surface]] = {
    "rpc": Rpc,
    "rpc over tcp": RpcTcp,
    "rest": Rest,
    "mcp": Mcp,
    "mcp over http": McpHttp,
    "tools": Tools,
    "cli": Cli,
}


# ---- an operation in the names of each surface


def method_of(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The JSON-RPC method and its params."""
    route = next(route for route in OPERATIONS[name].routes if route.implied_arguments.items() <= arguments.items())
    return route.rpc, {key: value for key, value in arguments.items() if key not in route.implied_arguments}


def rpc_answer(talk: RpcConnection, name: str, arguments: dict[str, Any]) -> Any:
    method, params = method_of(name, arguments)
    message = talk.request(method, **params)
    if "result" in message:
        return message["result"]
    error = message["error"]
    body = {"code": error["data"]["code"], "message": error["message"], "details": error["data"].get("details", {})}
    assert error["code"] == NUMBERS[body["code"]], error
    raise Refused(body)


def request_of(name: str, arguments: dict[str, Any]) -> tuple[str, str, Any]:
    """The REST request."""
    route = next(route for route in OPERATIONS[name].routes if route.implied_arguments.items() <= arguments.items())
    method, path = route.http.split(" ")
    remaining = {key: value for key, value in arguments.items() if key not in route.implied_arguments}
    for key in list(remaining):
        if f"{{{key}}}" in path:
            path = path.replace(f"{{{key}}}", quote(str(remaining.pop(key)), safe=""))
    if method in ("POST", "PUT", "PATCH"):
        return method, path, remaining
    flat = [pair for key, value in remaining.items() for pair in query_pairs(key, value)]
    return method, f"{path}?{urlencode(flat)}" if flat else path, None


def query_pairs(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            yield from ((f"{key}[{inner}]", text) for inner, text in value.items())
        case bool():
            yield key, str(value).lower()
        case _:
            yield key, value


def tool_answer(result: dict[str, Any]) -> Any:
    """The structured answer of a tool."""
    body = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == body
    if not result["isError"]:
        return body
    assert {"code", "message"} <= body.keys() <= {"code", "message", "details"}
    raise Refused(body)


def command_line(name: str, arguments: dict[str, Any]) -> list[str]:
    """The words of the command line."""
    options_left = dict(arguments)
    match name:
        case "meerkat_create_session" | "meerkat_start_turn":
            words = ["run", options_left.pop("prompt", "")]
            options = {"session_id": "--resume", "runner": "--runner", "user_id": "--user", "journey_id": "--journey"}
            command = options_left.pop("command", None)
            words += ["--command", shlex.join(command)] if command else []
            words += [
                word for key, value in options_left.pop("labels", {}).items() for word in ("--label", f"{key}={value}")
            ]
            return [*words, *(word for key, value in options_left.items() for word in (options[key], value))]
        case "meerkat_config":
            action = options_left.pop("action")
            content = [json.dumps(options_left[key]) for key in ("config", "patch") if key in options_left]
            generation = options_left.get("expected_generation")
            return [
                "config",
                action,
                *content,
                *(["--expected-generation", str(generation)] if generation is not None else []),
            ]
        case "realm_list":
            return ["realm", "list"]
        case "realm_get":
            return ["realm", "show", options_left["realm_id"]]
    words = ["session", name.removeprefix("meerkat_").replace("read", "show")]
    words += [options_left.pop("session_id")] if "session_id" in options_left else []
    words += [word for key, value in options_left.pop("labels", {}).items() for word in ("--label", f"{key}={value}")]
    words += [f"--{key}" for key, value in options_left.items() if value is True]
    return [*words, *(word for key, value in options_left.items() if value is not True for word in (f"--{key}", str(value)))]


# ---- agents that a test controls


class Agent:
    """A program that creates `begun` in a folder, and finishes when the test creates `go` there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.begun, self.go = folder / "begun", folder / "go"
        script = f"cat > /dev/null; echo started; echo $$ > {self.begun}.new; mv {self.begun}.new {self.begun}; "
        script += f"while [ ! -e {self.go} ]; do sleep 0.02; done; echo finished"
        self.command = ["sh", "-c", script]

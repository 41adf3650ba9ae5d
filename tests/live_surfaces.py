"""Live sessions on every surface that offers them, asked by the same words: an operation by its name in the table."""

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
    """An error, in the words that every surface has for it; its number was checked on the way."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body)
        self.code: str = body["code"]
        self.message: str = body["message"]
        self.details: dict[str, Any] = body.get("details", {})


class Surface(ABC):
    """One realm, by one surface."""

    has_types = True  # of values; on a command line everything is text
    has_realms = True  # models are not offered realms

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        self.person = person
        self.realm = realm
        self.options = ("--realm", realm, "--realm-backend", backend)
        self.stack = ExitStack()
        self._pool = ThreadPoolExecutor(8)

    @abstractmethod
    def ask(self, name: str, **arguments: Any) -> Any:
        """The answer of an operation; raises `Refused`."""

    def ask_apart(self, name: str, **arguments: Any) -> Any:
        """The same by a connection, or a process, of its own."""
        return self.ask(name, **arguments)

    def begin(self, name: str, **arguments: Any) -> "Future[Any]":
        """An operation under way."""
        return self._pool.submit(self.ask_apart, name, **arguments)

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
    """JSON-RPC on standard streams. What runs beside is run by another process."""

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self._talk = self.stack.enter_context(RawRpc(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        return requested(self._talk, name, arguments)

    def ask_apart(self, name: str, **arguments: Any) -> Any:
        with RawRpc(self.person, *self.options) as talk:
            return requested(talk, name, arguments)


class RpcTcp(Surface):
    """JSON-RPC over TCP, every call by a connection of its own."""

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        with self.server.rpc() as talk:
            return requested(talk, name, arguments)


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
    """MCP on standard streams, where the owner lets it name programs. What runs beside is run by another process."""

    has_realms = False
    allowed = COMMANDS_OVER_MCP

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self._raw = self.stack.enter_context(person.mcp("--no-sync", *self.options, **self.allowed))

    def ask(self, name: str, **arguments: Any) -> Any:
        return told(self._raw.request("tools/call", {"name": name, "arguments": arguments})["result"])

    def ask_apart(self, name: str, **arguments: Any) -> Any:
        with self.person.mcp("--no-sync", *self.options, **self.allowed) as raw:
            return told(raw.request("tools/call", {"name": name, "arguments": arguments})["result"])


class McpHttp(Surface):
    """MCP over HTTP, where the owner lets it name programs."""

    has_realms = False
    allowed = COMMANDS_OVER_MCP

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options, **self.allowed))

    def ask(self, name: str, **arguments: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, answer = self.server.ask("POST", "/mcp", call, content_type="application/json")
        assert status == 200, answer
        return told(answer["result"])


class Tools(Surface):
    """`POST /v1/tools/{name}`."""

    has_realms = False

    def __init__(self, person: Person, realm: str, backend: str = "sqlite") -> None:
        super().__init__(person, realm, backend)
        self.server = self.stack.enter_context(HttpServer(person, *self.options))

    def ask(self, name: str, **arguments: Any) -> Any:
        status, answer = self.server.ask("POST", f"/v1/tools/{name}", arguments)
        assert (status == 200) is not answer["isError"]
        return told(answer)


class Cli(Surface):
    has_types = False

    def ask(self, name: str, **arguments: Any) -> Any:
        options = () if name.startswith("realm_") else self.options
        done = self.person.run(*words_of(name, arguments), *options, "--json", check=False)
        answer = json.loads(done.stdout)
        if done.returncode == 0:
            return answer
        assert done.returncode == EXITS[answer["code"]], answer
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


# ---- an operation by the names that a surface has for it


def method_of(name: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The JSON-RPC method."""
    route = next(route for route in OPERATIONS[name].routes if route.implied_arguments.items() <= arguments.items())
    return route.rpc, {key: value for key, value in arguments.items() if key not in route.implied_arguments}


def requested(talk: RpcConnection, name: str, arguments: dict[str, Any]) -> Any:
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
    rest = {key: value for key, value in arguments.items() if key not in route.implied_arguments}
    for key in list(rest):
        if f"{{{key}}}" in path:
            path = path.replace(f"{{{key}}}", quote(str(rest.pop(key)), safe=""))
    if method in ("POST", "PUT", "PATCH"):
        return method, path, rest
    flat = [pair for key, value in rest.items() for pair in queried(key, value)]
    return method, f"{path}?{urlencode(flat)}" if flat else path, None


def queried(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            yield from ((f"{key}[{inner}]", text) for inner, text in value.items())
        case bool():
            yield key, str(value).lower()
        case _:
            yield key, value


def told(result: dict[str, Any]) -> Any:
    """The structured answer of a tool."""
    body = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == body
    if not result["isError"]:
        return body
    assert {"code", "message"} <= body.keys() <= {"code", "message", "details"}
    raise Refused(body)


def words_of(name: str, arguments: dict[str, Any]) -> list[str]:
    """The command line."""
    given = dict(arguments)
    match name:
        case "meerkat_create_session" | "meerkat_start_turn":
            words = ["run", given.pop("prompt", "")]
            options = {"session_id": "--resume", "runner": "--runner", "user_id": "--user", "journey_id": "--journey"}
            command = given.pop("command", None)
            words += ["--command", shlex.join(command)] if command else []
            words += [word for key, value in given.pop("labels", {}).items() for word in ("--label", f"{key}={value}")]
            return [*words, *(word for key, value in given.items() for word in (options[key], value))]
        case "meerkat_config":
            action = given.pop("action")
            content = [json.dumps(given[key]) for key in ("config", "patch") if key in given]
            generation = given.get("expected_generation")
            return [
                "config",
                action,
                *content,
                *(["--expected-generation", str(generation)] if generation is not None else []),
            ]
        case "realm_list":
            return ["realm", "list"]
        case "realm_get":
            return ["realm", "show", given["realm_id"]]
    words = ["session", name.removeprefix("meerkat_").replace("read", "show")]
    words += [given.pop("session_id")] if "session_id" in given else []
    words += [word for key, value in given.pop("labels", {}).items() for word in ("--label", f"{key}={value}")]
    words += [f"--{key}" for key, value in given.items() if value is True]
    return [*words, *(word for key, value in given.items() if value is not True for word in (f"--{key}", str(value)))]


# ---- agents that do what a test wants


class Agent:
    """A program that begins, and goes on when it is told to. Its files are beside each other in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.begun, self.go = folder / "begun", folder / "go"
        script = f"cat > /dev/null; echo started; echo $$ > {self.begun}.new; mv {self.begun}.new {self.begun}; "
        script += f"while [ ! -e {self.go} ]; do sleep 0.02; done; echo finished"
        self.command = ["sh", "-c", script]

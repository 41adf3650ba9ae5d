"""Every operation of the library gives the same answer on every surface that offers it (L2), in its own realm only (L13)."""

import asyncio
import json
import keyword
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

import library_methods
import msgspec
import pytest

from recollect.client import AsyncClient, Client, RecollectError
from recollect.distil import distil
from recollect.operations import FAMILIES, OPERATIONS, RequestContext
from recollect.operations.answer_file import with_content
from recollect.surfaces.http.responses import status_of
from tests.conftest import Person
from tests.contract.library_archive import ANCHOR, Library, fill
from tests.contract.library_cases import CASES, LABEL, Arguments, Names
from tests.http_server import HttpServer

REMOVALS = ("remove_label", "delete_observation")
REVIEWED_AT = re.compile(r'"reviewed_at": "[^"]*"')
NOBODY = "session:00000000000000000000000000000000"
REFUSED: list[tuple[str, Arguments, str, int]] = [
    ("session", {"id": NOBODY}, "not_found", 404),
    ("session", {"id": "aaaaaaaa"}, "ambiguous_id", 409),
    ("session", {"id": "x"}, "invalid_id", 400),
    ("sessions", {"agent": ["claude"]}, "invalid_filter", 400),
    ("sessions", {"cursor": "nonsense"}, "invalid_cursor", 400),
    ("sessions", {"limit": 0}, "invalid_request", 400),
    ("sessions", {"since": ["someday"]}, "invalid_filter", 400),
    ("export_session", {"id": NOBODY}, "not_found", 404),
    ("forget", {}, "invalid_request", 400),
    ("remove_label", {"id": "last", "name": "no such label"}, "not_found", 404),
]


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("surfaces"))
    fill(person)
    assert distil(person.realm, person.settings(), person.env, lambda: False)
    record_observations(person)
    return person


def record_observations(person: Person) -> None:
    """More observations than the surfaces delete."""
    library = Library(person)
    event = library.data("events", id="last", limit=1)["events"][0]["id"]
    for number in range(2 * len(SURFACES)):
        arguments = {"type": "decision", "title": f"Ropes {number}", "narrative": "All new.", "evidence_ids": [event]}
        assert not OPERATIONS["record_observation"].run(library.realm, arguments, RequestContext.now()).is_error


@pytest.fixture(scope="module")
def library(person: Person) -> Library:
    return Library(person)


@pytest.fixture(scope="module")
def server(person: Person) -> Iterator[HttpServer]:
    with HttpServer(person) as server:
        yield server


# ---- the surfaces: each calls an operation and returns its envelope, with a document as `data.content`


class Surfaces:
    """One archive on every surface."""

    def __init__(self, library: Library, server: HttpServer) -> None:
        self.library = library
        self.server = server

    def in_process(self, name: str, arguments: Arguments) -> Any:
        reply = OPERATIONS[f"library_{name}"].run(self.library.realm, arguments, RequestContext.now())
        return json.loads(with_content(reply.text.encode(), reply.file) if reply.file is not None else reply.text)

    def rest_with_repeated_parameters(self, name: str, arguments: Arguments) -> Any:
        return self._over_rest(name, arguments, lambda items: items)

    def rest_with_arrays_in_json(self, name: str, arguments: Arguments) -> Any:
        return self._over_rest(name, arguments, lambda items: [json.dumps(items)])

    def _over_rest(self, name: str, arguments: Arguments, items: Callable[[list[str]], list[str]]) -> Any:
        operation, rest = OPERATIONS[f"library_{name}"], dict(arguments)
        method, path = operation.routes[0].http.split(" ")
        for key in re.findall(r"\{(\w+)\}", path):
            path = path.replace(f"{{{key}}}", quote(str(rest.pop(key)), safe=""))
        body: Any = rest
        if method in ("GET", "DELETE"):
            values = {key: items(value) if isinstance(value, list) else [_plain(value)] for key, value in rest.items()}
            path, body = f"{path}?{urlencode(values, doseq=True)}", None
        with self.server.response(method, f"/v1{path}", body) as response:
            text, headers = response.read().decode(), response.headers
        media_type = headers["content-type"].partition(";")[0]
        if media_type in operation.file_types:
            name = re.findall(r'filename="(.+)"', headers["content-disposition"])[0]
            receipt = json.loads(headers["recollect-receipt"])
            described = {"format": rest["format"], "media_type": media_type, "file_name": name, "receipt": receipt}
            warnings = json.loads(headers["recollect-warnings"] or "[]")
            return {"data": {**described, "content": text}, "warnings": warnings}
        return json.loads(text)

    def rpc(self, name: str, arguments: Arguments) -> Any:
        with self.server.rpc() as connection:
            answer = connection.request(OPERATIONS[f"library_{name}"].routes[0].rpc, **arguments)
        if "error" in answer:
            return {"error": {"message": answer["error"]["message"], **answer["error"]["data"]}}
        return answer["result"]

    def blocking_client_over_http(self, name: str, arguments: Arguments) -> Any:
        with Client.http(self.server.url, self.server.token) as client:
            return _framed(lambda: _call(client.library, name, arguments))

    def async_client_over_tcp(self, name: str, arguments: Arguments) -> Any:
        async def call() -> Any:
            async with AsyncClient.connect("127.0.0.1", self.server.rpc_port or 0, self.server.token) as client:
                return await _call(client.library, name, arguments)

        return _framed(lambda: asyncio.run(call()))


def _plain(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _call(library: Any, name: str, arguments: Arguments) -> Any:
    """Call a method of the Python SDK."""
    method = METHODS[f"library_{name}"]
    named = {f"{key}_" if keyword.iskeyword(key) else key: value for key, value in arguments.items()}
    found = getattr(library, method.name)(**named)
    return found.page() if method.returns is library_methods.Returns.PAGES else found


def _framed(call: Callable[[], Any]) -> Any:
    """An answer or an error of the Python SDK as it was sent."""
    try:
        answer = call()
    except RecollectError as error:
        return {"error": {"code": error.code, "message": error.message, "details": error.details}}
    data = msgspec.to_builtins(answer)
    frame = {"warnings": data.pop("warnings")}
    if "next_cursor" in data:
        frame["page"] = {"next": data.pop("next_cursor"), "total": data.pop("total_count")}
    return {"data": data, **frame}


SURFACES = (
    Surfaces.in_process,
    Surfaces.rest_with_repeated_parameters,
    Surfaces.rest_with_arrays_in_json,
    Surfaces.rpc,
    Surfaces.blocking_client_over_http,
    Surfaces.async_client_over_tcp,
)
METHODS = {method.operation.name: method for method in library_methods.methods()}


@pytest.fixture(scope="module")
def surfaces(library: Library, server: HttpServer) -> Surfaces:
    return Surfaces(library, server)


# ---- the same answers


def test_every_operation_is_in_the_table() -> None:
    rows = {f"library_{name}" for name, _ in CASES}
    assert {operation.name for operation in FAMILIES["library"].operations} == rows


@pytest.mark.process
@pytest.mark.parametrize(("name", "arguments"), CASES, ids=[f"{name} {arguments}" for name, arguments in CASES])
def test_every_surface_gives_the_same_answer(name: str, arguments: Arguments, surfaces: Surfaces) -> None:
    answers = []
    names = Names.of(surfaces.library)
    for call in SURFACES:
        if name in REMOVALS:
            names = put_again(surfaces.library)
        answer = call(surfaces, name, names.fill_in(arguments))
        assert "data" in answer, answer
        answers.append(steady(name, answer, names))
    for call, answer in zip(SURFACES, answers, strict=True):
        assert answer == answers[0], call.__name__


@pytest.mark.process
@pytest.mark.parametrize(("name", "arguments", "code", "status"), REFUSED, ids=[f"{row[0]} {row[1]}" for row in REFUSED])
def test_every_surface_refuses_with_the_same_error(
    name: str, arguments: Arguments, code: str, status: int, surfaces: Surfaces
) -> None:
    reply = OPERATIONS[f"library_{name}"].run(surfaces.library.realm, arguments, RequestContext.now())
    assert status_of(reply) == status
    expected = json.loads(reply.text)["error"]
    assert expected["code"] == code
    for call in SURFACES[1:]:
        error = call(surfaces, name, arguments)["error"]
        assert {"details": {}, **error} == expected, call.__name__


def put_again(library: Library) -> "Names":
    """What a removal removes must be there before each surface removes it."""
    library.data("put_label", id=library.session(ANCHOR)["id"], name=LABEL)
    return Names.of(library)


def steady(name: str, answer: Any, names: "Names") -> Any:
    """An answer without what differs from call to call: times of reviews, and which observation was deleted."""
    if name == "health":
        status = answer["data"]["status"]
        return [status[key] for key in ("realm", "sessions", "events")], len(answer["data"]["sources"])
    text = json.dumps(without_absent(answer), sort_keys=True)
    return json.loads(REVIEWED_AT.sub('"reviewed_at": ""', text.replace(names["observation"], "{observation}")))


def without_absent(value: Any) -> Any:
    """Without the fields that are null, empty or false: some are left out of an answer."""
    if isinstance(value, dict):
        named = {key: without_absent(inner) for key, inner in value.items()}
        return {key: inner for key, inner in named.items() if inner not in (None, [], {}) and inner is not False}
    return [without_absent(item) for item in value] if isinstance(value, list) else value

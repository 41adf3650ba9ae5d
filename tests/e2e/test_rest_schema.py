"""REST and its OpenAPI document agree, for valid and for invalid requests.

Requests have the headers of a proxy, so that the server accepts no command from them and runs no program.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import Phase, settings
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator
from schemathesis.core import NOT_SET
from schemathesis.core.result import Ok

from recollect.operations import FAMILIES, OPERATIONS, toolset_of
from recollect.surfaces.http.openapi import document
from tests.conftest import Person
from tests.http_server import HttpServer

Case = schemathesis.Case[Any]

STREAM = "/library/stream"  # continues as long as the connection does; has tests of its own
API = schemathesis.openapi.from_dict(json.loads(document())).exclude(path=STREAM)
EXAMPLES = 8  # of valid and of invalid requests, in addition to those at the limits of every schema
PASSED_ON = {"Via": "1.1 test"}
NOBODY = "00000000-0000-4000-8000-000000000000"
UNSET = ("command", "runner", "cursor", "within_id", "provider", "startLine")  # a schema cannot describe their meaning
EFFECTIVE_KEYS = ("deadline_ms", "runner", "runners", "turn_timeout_ms")  # in a config
OBSERVATION_PATH = "/library/observations/{id}"
WITHOUT_VALID_REQUESTS = {  # the realm has no observations, files and labels
    *(f"POST /v1/tools/{name}" for name in ("get_observations", "read", "record_observation")),
    *(f"{method} {OBSERVATION_PATH}" for method in ("GET", "PATCH", "DELETE")),
    *(f"POST {OBSERVATION_PATH}/{verdict}" for verdict in ("confirm", "retire")),
    "GET /library/files/history",
    "DELETE /library/sessions/{id}/labels/{name}",
    "PUT /library/events/{id}/note",
    # would continue as long as the session does, so it is requested for unknown sessions only
    "GET /sessions/{session_id}/events",
}
NAME_FILTERS = {  # their values are names that the realm has
    "agent", "project", "branch", "model", "tool", "file", "type", "mode", "state", "label", "machine", "since", "until",
    "operation", "concept", "failed",
}  # fmt: skip
OTHER_ROUTES = {"GET /sessions/{session_id}/events", f"GET {STREAM}", "GET /health", "POST /login-links"}
NEEDED = {"/sessions": "prompt", "/v1/tools/meerkat_create_session": "prompt", "/v1/tools/search_events": "query"}
GROUP = re.compile(r"{(\w+)}")
NOT_IN_LABELS = str.maketrans("", "", "[]\0")  # characters that the name of a label in a query cannot have
NOT_IN_NAMES = dict.fromkeys((*range(32), 127))  # that a label cannot have


class Known:
    """The ids in the realm."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self.journey = self._made("/journeys")["journey_id"]
        self.session = self._made("/sessions", prompt="tie the boat")["session_id"]
        self.document = self.new_document()
        self._made(f"/journeys/{self.journey}/sessions", session_id=self.session)

    def new_journey(self) -> str:
        return str(self._made("/journeys")["journey_id"])

    def new_session(self) -> str:
        return str(self._made("/sessions", initial_turn="deferred")["session_id"])

    def new_document(self) -> str:
        return str(self._made(f"/journeys/{self.journey}/documents", document_type="note")["document_id"])

    def _made(self, path: str, **body: Any) -> Any:
        status, answer = self._server.ask("POST", path, body)
        assert status == 200, answer
        return answer


Sense = Callable[
    [Any, Known, bool], Any
]  # for a value: the existing ids, and whether the request is the last that uses them


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with HttpServer(Person(tmp_path_factory.mktemp("schema")), "--realm", "schema") as server:
        yield server


@pytest.fixture(scope="module")
def known(server: HttpServer) -> Known:
    return Known(server)


# ---- the document


def test_the_document_is_openapi_3_1() -> None:
    whole = json.loads(document())
    assert whole["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(whole).validate()


def test_every_schema_of_the_document_is_json_schema_2020_12() -> None:
    schemas = list(_schemas(json.loads(document())))
    assert len(schemas) > 100
    for schema in schemas:
        Draft202012Validator.check_schema(schema)


def _schemas(part: Any) -> Iterator[Any]:
    match part:
        case dict():
            if isinstance(part.get("schema"), dict):
                yield part["schema"]
            for inner in part.values():
                yield from _schemas(inner)
        case list():
            for inner in part:
                yield from _schemas(inner)


def test_the_document_is_served_unchanged(server: HttpServer) -> None:
    with server.response("GET", "/openapi.json") as response:
        assert response.read() == document()
        assert response.headers["content-type"] == "application/json"


def test_every_route_is_in_the_document_and_nothing_else_is() -> None:
    documented = {
        f"{method.upper()} {path}" for path, methods in json.loads(document())["paths"].items() for method in methods
    }
    routes = {route.http for operation in OPERATIONS.values() for route in operation.routes if route.http}
    tools = {f"POST /v1/tools/{name}" for name in toolset_of(tuple(FAMILIES)).operations}
    assert documented == routes | tools | OTHER_ROUTES


def test_every_path_of_the_document_answers_with_and_without_v1(server: HttpServer) -> None:
    paths = json.loads(document())["paths"]
    del paths[STREAM]
    for path, methods in paths.items():
        for prefix in ("", "/v1") if not path.startswith(("/v1", "/health", "/login")) else ("",):
            for method in methods:
                _, answer = server.ask(method.upper(), prefix + GROUP.sub(NOBODY, path), {} if method != "get" else None)
                error: dict[str, Any] = answer or {}
                code = error.get("error", error).get("code")
                assert code not in ("NOT_FOUND", "METHOD_NOT_ALLOWED"), (method, prefix + path)


# ---- requests that are made up


@pytest.mark.parametrize("label", [found.ok().label for found in API.get_all_operations() if isinstance(found, Ok)])
def test_valid_requests_get_the_documented_responses(label: str, server: HttpServer, known: Known) -> None:
    operation = API.find_operation_by_label(label)
    assert operation is not None
    operation_raw = operation.definition.raw
    named = {place: {one["name"]: "" for one in operation_raw.get("parameters", ()) if one["in"] == place and one.get("required")}
             for place in ("path", "query")}  # fmt: skip
    body = operation_raw.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    case = operation.Case(
        path_parameters=named["path"],
        query=named["query"],
        body=dict.fromkeys(body.get("required", ()), "") if body else NOT_SET,
        media_type="application/json" if body else None,
    )
    make_valid(case, known)
    response = case.call_and_validate(
        base_url=server.url, headers={**PASSED_ON, "Authorization": f"Bearer {server.token}"}, timeout=30
    )
    assert response.status_code == (404 if label in WITHOUT_VALID_REQUESTS else 200), response.text


@API.parametrize()
@settings(derandomize=True, max_examples=EXAMPLES, deadline=None, database=None, phases=(Phase.explicit, Phase.generate))
def test_any_request_gets_a_documented_response(case: Case, server: HttpServer, known: Known) -> None:
    is_positive = case.meta is not None and case.meta.generation.mode.is_positive
    if is_positive:
        make_valid(case, known)
    elif isinstance(case.body, dict) and isinstance(case.body.get("command"), list):
        return  # harmless if the server accepted it
    elif isinstance(case.body, dict) and case.body.get("user_id") is not None and "x-device-id" in (case.headers or {}):
        return  # the body names the user, so an invalid header is not read
    case.call_and_validate(base_url=server.url, headers={**PASSED_ON, "Authorization": f"Bearer {server.token}"}, timeout=30)


def test_only_built_in_runners_were_run(server: HttpServer, known: Known) -> None:
    status, answer = server.ask("GET", "/sessions?limit=1000")
    assert status == 200
    assert {row["runner"] for row in answer["sessions"]} == {"recall"}


def make_valid(case: Case, known: Known) -> None:
    """Change a request that fits the schema so that it names existing ids and meaningful words."""
    doomed = GROUP.findall(case.path)[-1] if case.method == "DELETE" else "session_id" if "archive" in case.path else ""
    for place in (case.path_parameters, case.query, case.body):
        if not isinstance(place, dict):
            continue
        for name, value in list(place.items()):
            if name in UNSET:
                del place[name]
            elif name in SENSE and value is not None:
                place[name] = SENSE[name](value, known, name == doomed)
            elif name.startswith("labels["):
                place[f"labels[say {name[6:].translate(NOT_IN_LABELS)}]"] = str(place.pop(name)).translate(NOT_IN_LABELS)
            elif isinstance(value, float) and value.is_integer():
                place[name] = int(value)  # a schema accepts 1.0 as an integer; most programs do not
    if case.path.startswith("/library/"):
        _fix_library_arguments(case)
    _fix_dependent_arguments(case)


def _fix_library_arguments(case: Case) -> None:
    for place in (case.query, case.body):
        if isinstance(place, dict) and case.path != OBSERVATION_PATH:
            for name in place.keys() & NAME_FILTERS:
                del place[name]
    if case.path == "/library/ask":
        case.query = {"question": "say it"}
    elif case.method == "DELETE" and "/labels/" in case.path:
        case.path_parameters["name"] = "no such label"
    elif case.path == "/library/forget":
        case.body = {"ids": ["last"], "dry_run": True}
    elif case.path.endswith("/continue"):
        case.body = {"preview": True}
    elif case.path.startswith("/library/events/"):
        case.path_parameters["id"] = f"event:{'0' * 32}"
    elif case.path.startswith(OBSERVATION_PATH):
        case.path_parameters["id"] = "obs-0123456789abcdef"
        case.body = {"title": "say it"} if case.method == "PATCH" else case.body


def _fix_dependent_arguments(case: Case) -> None:
    """Arguments that depend on each other."""
    if case.path == "/sessions/{session_id}/events":
        case.path_parameters["session_id"] = NOBODY
    needed = NEEDED.get(case.path)
    if needed is not None and not isinstance(case.body, dict):
        case.body = {}
    body = case.body
    if not isinstance(body, dict):
        return
    if needed is not None and body.get(needed) is None:
        body[needed] = "say it"
    if isinstance(body.get("query"), list):
        for name in ("types", "concepts", "files"):
            body.pop(name, None)
    if case.path.endswith("meerkat_config"):
        named = {"set": "config", "patch": "patch"}.get(str(body["action"]))
        case.body = {"action": body["action"], **({named: body.get(named) or {}} if named else {})}


def text(value: Any, known: Known, is_last: bool) -> str:
    return f"say {value}"[:100]


def texts(value: Any, known: Known, is_last: bool) -> Any:
    return [f"say {one}"[:60] for one in value] if isinstance(value, list) else text(value, known, is_last)


def without_effective_keys(value: Any, known: Known, is_last: bool) -> Any:
    return {name: inner for name, inner in dict(value).items() if name not in EFFECTIVE_KEYS}


def session(value: Any, known: Known, is_last: bool) -> str:
    return known.new_session() if is_last else known.session


def journey(value: Any, known: Known, is_last: bool) -> str:
    return known.new_journey() if is_last else known.journey


def constant(value: Any) -> Sense:
    return lambda *_: value


SENSE: dict[str, Sense] = {
    **dict.fromkeys(("prompt", "query", "title", "subtitle", "narrative"), text),
    **dict.fromkeys(("types", "projects", "concepts", "files", "facts", "files_read", "files_modified"), texts),
    "query": texts,
    "config": without_effective_keys,
    "patch": without_effective_keys,
    "session_id": session,
    "journey_id": journey,
    "document_id": lambda value, known, is_last: known.new_document() if is_last else known.document,
    "realm_id": constant("schema"),
    "id": lambda value, known, is_last: f"session:{known.session.replace('-', '')}",
    "ids": constant(["obs-0123456789abcdef"]),
    "evidence_ids": constant([f"event:{'0' * 32}"]),
    "event_index": constant(0),
    "document_type": constant("note"),
    "action": lambda value, known, is_last: value or "get",
    "offset": lambda value, known, is_last: min(int(value), 1 << 40),
    "path": constant("/no/such.jsonl"),
    "type": constant("decision"),
    **dict.fromkeys(("start_datetime", "from_date"), constant("2026-01-01T00:00:00Z")),
    **dict.fromkeys(("end_datetime", "to_date"), constant("2026-02-01T00:00:00+01:00")),
    "name": lambda value, known, is_last: f"say {value}"[:60].translate(NOT_IN_NAMES).strip(),
    "after": constant("2026-01-01"),
    "before": constant("2026-02-01"),
}

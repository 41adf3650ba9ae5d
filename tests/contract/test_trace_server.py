"""The server around the trace tools: their envelope, schemas, deadlines, and a broken store (A39, A40, A45)."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from recollect.index.ngrams import NGRAMS
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.store import archive_path
from tests.conftest import Person
from tests.contract.history_client import hints_of, text_of
from tests.contract.trace_archive import EVERYWHERE, NETS, RIGGING, SIXTY, build_ngram_index, serve_archive, sync_first_logs
from tests.contract.trace_client import EVENT_TYPES, LEVELS, TOOLS, Answer, Trace, connect_trace
from tests.logs import Claude, write

pytestmark = pytest.mark.process

CHARACTERS = 4  # of a token
ALL_TOOLS = 6_000  # tokens of the descriptions that a model gets of the tools of all families


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, str]:
    """A person with one session, and its id; no test may change them."""
    person = sync_one_session(Person(tmp_path_factory.mktemp("small")))
    return person, json.loads(run_operation(person, "search_event_previews", {"query": "jib"}).text)["data"]["matches"][0][
        "session_id"
    ]


def sync_one_session(person: Person) -> Person:
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("Trim the jib"), log.says("Trimmed.")])
    person.sync()
    return person


def run_operation(person: Person, tool: str, arguments: Any, **settings: Any) -> Any:
    """Run an operation in this process."""
    return OPERATIONS[tool].run(LiveRealm(person.settings(**settings)), arguments, RequestContext.now())


def valid_arguments(session: str) -> dict[str, Answer]:
    """Arguments with which every tool gives a non-empty answer."""
    return {
        "search_event_previews": {"query": "e"},
        "get_event_details": {"session_id": session, "event_index": 0},
        "get_session_details": {"session_id": session},
        "analyze_session": {"session_id": session},
        "search_events": {"query": "e"},
    }


# ---- the envelope


def test_every_answer_has_exactly_the_fields_of_the_envelope(trace: Trace) -> None:
    """A39: empty fields are left out, and only paged answers have pagination."""
    asked = valid_arguments(trace.ids[NETS])
    keys = {tool: list(trace.answer(tool, **arguments)) for tool, arguments in asked.items()}
    assert keys == {
        "search_event_previews": ["data", "pagination", "hint"],
        "get_event_details": ["data"],
        "get_session_details": ["data", "hint"],
        "analyze_session": ["data", "hint"],
        "search_events": ["data", "pagination", "hint", "warnings"],
    }
    assert list(trace.answer("get_session_details", session_id=trace.ids[SIXTY])) == ["data", "hint", "warnings"]


def test_every_tool_that_a_hint_names_exists(trace: Trace) -> None:
    names = {tool.name for tool in trace.portal.call(trace.client.list_tools).tools}
    for tool, arguments in valid_arguments(trace.ids[NETS]).items():
        named = re.findall(r"\b(?:get|search|analyze)_\w+", trace.answer(tool, **arguments).get("hint", ""))
        assert set(named) <= names, tool


def test_an_answer_is_the_same_as_text_and_as_object_and_an_error_is_marked(trace: Trace) -> None:
    """A39: the client of these tests checks the first part on every call; this test reads the raw answer."""
    good = trace.result("get_event_details", {"session_id": trace.ids[NETS], "event_index": 0})
    bad = trace.result("get_event_details", {"session_id": trace.ids[NETS], "event_index": 28})
    assert (good.is_error, bad.is_error) == (False, True)
    assert [json.loads(text_of(result)) for result in (good, bad)] == [
        good.structured_content,
        bad.structured_content,
    ]
    assert bad.structured_content == {
        "error": {
            "code": "invalid_event_index",
            "message": "event_index must be from 0 to 27, not 28",
            "details": {"event_index": 28, "max_index": 27},
            "retryable": False,
        }
    }


def test_the_same_request_gives_the_same_answer(trace: Trace) -> None:
    for tool, arguments in valid_arguments(trace.ids[EVERYWHERE]).items():
        assert trace.reply(tool, arguments) == trace.reply(tool, arguments)


# ---- invalid requests


@pytest.mark.parametrize("tool", TOOLS)
def test_the_error_for_an_unknown_argument_names_it(trace: Trace, tool: str) -> None:
    for name in ("nonsense", "Query", "sessionId", "session-id", "limits", ""):
        error = trace.error(tool, **valid_arguments(trace.ids[NETS])[tool], **{name: "x"})
        assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", name)


@pytest.mark.parametrize("tool", TOOLS)
def test_arguments_that_are_not_an_object_are_refused(small: tuple[Person, str], tool: str) -> None:
    person, _ = small
    for arguments in (["query"], "query", 5, True):
        reply = run_operation(person, tool, arguments)
        error = json.loads(reply.text)["error"]
        assert (reply.is_error, error["code"], error["retryable"]) == (True, "invalid_parameter", False)
        assert error["details"]["reason"] == error["message"]


def test_any_message_of_a_client_is_answered(small: tuple[Person, str]) -> None:
    """And the server continues: half a character, deep nesting, no arguments at all."""
    person, session = small
    deep = "[" * 400 + "]" * 400
    with person.mcp() as raw:
        sent = [
            '{"name": "search_event_previews", "arguments": {"query": "\\ud800"}}',
            '{"name": "search_event_previews", "arguments": {"query": "\\u0000"}}',
            f'{{"name": "search_event_previews", "arguments": {{"query": {deep}}}}}',
            f'{{"name": "get_event_details", "arguments": {{"session_id": "{session}", "event_index": {"9" * 400}}}}}',
            f'{{"name": "get_event_details", "arguments": {{"session_id": "{session}", "event_index": 1e400}}}}',
            '{"name": "analyze_session"}',
            '{"name": "analyze_session", "arguments": null}',
            '{"name": "analyze_session", "arguments": [1]}',
        ]
        for number, params in enumerate(sent):
            raw.say(f'{{"jsonrpc": "2.0", "id": "q{number}", "method": "tools/call", "params": {params}}}')
            answer = raw.hear()
            assert "error" in answer or answer["result"]["structuredContent"].keys() & {"data", "error"}, answer
        assert raw.call("get_event_details", session_id=session, event_index=0)["data"]["payload"] == {
            "text": "Trim the jib"
        }


# ---- schemas


@pytest.fixture(scope="module")
def schemas(trace: Trace) -> dict[str, Answer]:
    return {tool.name: tool.input_schema for tool in trace.portal.call(trace.client.list_tools).tools if tool.name in TOOLS}


def test_the_tools_declare_their_arguments(schemas: dict[str, Answer]) -> None:
    """A45: at most eight each, and the required ones."""
    filters = {"query", "limit", "cursor", "provider", "event_type", "session_id"}
    assert list(schemas) == TOOLS
    assert {name: (set(schema["properties"]), schema["required"]) for name, schema in schemas.items()} == {
        "search_event_previews": (filters, ["query"]),
        "get_event_details": ({"session_id", "event_index"}, ["session_id", "event_index"]),
        "get_session_details": ({"session_id", "detail_level", "include_reasoning"}, ["session_id"]),
        "analyze_session": ({"session_id"}, ["session_id"]),
        "search_events": (
            filters | {"detail_level"},
            [],
        ),  # a client that validates arguments would refuse the old name of query
    }
    assert [name for name in TOOLS if schemas[name].get("additionalProperties") is not False] == ["search_events"]
    assert max(len(schema["properties"]) for schema in schemas.values()) <= 8


def test_the_schemas_list_enums_defaults_and_maxima(schemas: dict[str, Answer]) -> None:
    """A45."""
    for name, bounds in {"search_event_previews": (10, 50), "search_events": (5, 20)}.items():
        limit = schemas[name]["properties"]["limit"]
        assert (limit["default"], limit["maximum"], limit["minimum"]) == (*bounds, 1)
        assert schemas[name]["properties"]["event_type"]["enum"] == EVENT_TYPES
    session = schemas["get_session_details"]["properties"]
    assert (session["detail_level"]["enum"], session["detail_level"]["default"]) == (LEVELS, "summary")
    assert (session["include_reasoning"]["type"], session["include_reasoning"]["default"]) == ("boolean", False)
    level = schemas["search_events"]["properties"]["detail_level"]
    assert (level["enum"], level["default"]) == (["preview", "compact", "full"], "preview")
    assert schemas["get_event_details"]["properties"]["event_index"]["minimum"] == 0


def test_every_argument_is_typed_and_described(schemas: dict[str, Answer]) -> None:
    """A45: with its default if it is optional, and with its maximum and its size if it has them."""
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        for name, argument in schema["properties"].items():
            assert argument["type"] in ("string", "integer", "boolean")
            assert argument["description"]
            if name not in ("query", *schema["required"]):
                assert "default" in argument["description"].lower(), name
            if "maximum" in argument:
                assert str(argument["maximum"]) in argument["description"]
                assert str(argument["default"]) in argument["description"]
            if name in ("limit", "detail_level", "include_reasoning"):
                assert "KB" in argument["description"], name


def test_accepted_arguments_match_the_schemas_of_the_tools(trace: Trace, schemas: dict[str, Answer]) -> None:
    for tool, arguments in valid_arguments(trace.ids[RIGGING]).items():
        Draft202012Validator(schemas[tool]).validate(arguments)


def test_reading_changes_nothing(trace: Trace) -> None:
    listed = trace.tools()
    for name in TOOLS:
        hints = hints_of(listed[name])
        assert (hints.read_only_hint, hints.destructive_hint) == (True, False)


def test_the_descriptions_of_all_tools_are_short(trace: Trace) -> None:
    tools = trace.portal.call(trace.client.list_tools).tools
    told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    assert len(json.dumps(told, separators=(",", ":"), ensure_ascii=False)) < ALL_TOOLS * CHARACTERS


def test_alone_the_family_offers_its_tools_and_names_no_others(small: tuple[Person, str]) -> None:
    person, _ = small
    others = OPERATIONS.keys() - set(TOOLS)
    with person.mcp("--no-sync", "--toolsets", "trace") as raw:
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        instructions = raw.request("initialize", info)["result"]["instructions"]
        assert [tool["name"] for tool in raw.request("tools/list")["result"]["tools"]] == TOOLS
        assert raw.request("tools/call", {"name": "list_sessions", "arguments": {}})["error"]["code"] == -32602
    words = set(re.findall(r"\w+", instructions))
    assert words & set(TOOLS) == set(TOOLS) - {"search_events"}, "the deprecated tool is not recommended"
    assert not {other for other in others & words if "_" in other}


# ---- deadlines


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_past_its_deadline_says_so_and_may_be_called_again(small: tuple[Person, str], tool: str) -> None:
    """A40."""
    person, session = small
    reply = run_operation(person, tool, valid_arguments(session)[tool], deadline_ms=0)
    error = json.loads(reply.text)["error"]
    assert (reply.is_error, error["code"], error["retryable"]) == (True, "search_timeout", True)
    refused = json.loads(run_operation(person, tool, {"nonsense": 1}, deadline_ms=0).text)["error"]
    assert refused["code"] == "invalid_parameter", "a refusal is not subject to the deadline"


def test_a_deadline_may_be_set_in_the_environment(person: Person) -> None:
    """A40: by the environment, and by the config of a realm."""
    sync_one_session(person)
    with connect_trace(person, RECOLLECT_DEADLINE_MS="0") as late:
        timed_out = late.error("search_event_previews", query="jib")
    (person.realm / "config.json").write_text('{"deadline_ms": 0}')
    with connect_trace(person) as trace:
        configured = trace.error("search_event_previews", query="jib")
        (person.realm / "config.json").unlink()
        matches = trace.matches("jib")
    assert timed_out == configured
    assert (timed_out["code"], timed_out["retryable"]) == ("search_timeout", True)
    assert len(matches) == 1


# ---- a broken store


def overwrite(archive: Path) -> None:
    for path in archive.parent.glob(f"{archive.name}*"):
        path.unlink()
    archive.write_bytes(os.urandom(50_000))


def replace_by_a_folder(archive: Path) -> None:
    for path in archive.parent.glob(f"{archive.name}*"):
        path.unlink()
    archive.mkdir()


@pytest.mark.parametrize("breaks", [overwrite, replace_by_a_folder], ids=lambda one: one.__name__)
def test_an_archive_that_breaks_under_a_running_server_is_an_internal_error(
    person: Person, breaks: Callable[[Path], None]
) -> None:
    """Every time and for every tool; it may be retried, and a bad request is still refused as such."""
    sync_one_session(person)
    with connect_trace(person) as trace:
        session = trace.matches("jib")[0]["session_id"]
        breaks(archive_path(person.realm))
        errors = [trace.error(tool, **arguments) for tool, arguments in valid_arguments(session).items() for _ in range(2)]
        refused = trace.error("search_event_previews", query=" ")
    assert {(error["code"], error["retryable"]) for error in errors} == {("internal_error", True)}
    assert refused["code"] == "invalid_parameter"


def test_a_missing_archive_is_empty(person: Person) -> None:
    """As in the history tools: a new archive is created, and the next sync fills it."""
    sync_one_session(person)
    with connect_trace(person) as trace:
        session = trace.matches("jib")[0]["session_id"]
        shutil.rmtree(person.realm)
        assert trace.matches("jib") == []
        assert trace.error("get_session_details", session_id=session)["code"] == "session_not_found"
        person.sync()
        assert trace.matches("jib")[0]["session_id"] == session


def corrupt(folder: Path) -> None:
    (folder / "meta.json").write_text("{")


def delete_parts(folder: Path) -> None:
    for path in folder.glob("*.*"):
        if path.name != "meta.json":
            path.unlink()


@pytest.mark.parametrize("breaks", [shutil.rmtree, corrupt, delete_parts], ids=lambda one: one.__name__)
def test_a_broken_index_is_not_used(person: Person, breaks: Callable[[Path], None]) -> None:
    """Under a running server, and before one starts."""
    build_ngram_index(sync_first_logs(person))
    with connect_trace(person) as trace:
        before = trace.places("marlinspike"), trace.places("gull")
        breaks(NGRAMS.folder(person.realm))
        running = trace.places("marlinspike"), trace.places("gull")
    with connect_trace(person) as trace:
        after = trace.places("marlinspike"), trace.places("gull")
    assert before == running == after
    assert all(before)

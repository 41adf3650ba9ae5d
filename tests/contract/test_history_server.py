"""The server around the history tools: envelopes, schemas, targets, deadlines, and stable ids."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from recollect.operations import OPERATIONS
from recollect.store import archive_path
from tests.conftest import Person
from tests.contract.history_archive import (
    LIGHTHOUSE,
    MIGRATION,
    Codex,
    dredging,
    dredging_fork,
    serve_archive,
    write_errand,
    write_resumed_session,
)
from tests.contract.history_client import EVER, History, connect_history
from tests.logs import Claude, append, write

pytestmark = pytest.mark.process

TOOLS = ["search_sessions", "open", "list_sessions"]
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ABSENT = "event:evt_01J9DOESNOTEXIST000000000000"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


@pytest.fixture(scope="module")
def requests(history: History) -> dict[str, tuple[str, dict[str, Any], int]]:
    """A request for every target of the contract: tool, arguments, milliseconds."""
    turn = history.turn(MIGRATION)
    session, event = turn["turn"]["session_id"], turn["events"][0]["id"]
    long, longer = (history.ids_by_title[f"voyage of {turns} turns, day 1"] for turns in (100, 101))
    return {
        "search": ("search_sessions", {"query": "cargo"}, 750),
        "search without hits": ("search_sessions", {"query": "qqzzv"}, 750),
        "search in a session": ("search_sessions", {"query": "cargo", "within_id": session}, 500),
        "search in a turn": ("search_sessions", {"query": "cargo", "within_id": turn["turn"]["id"]}, 300),
        "open event": ("open", {"id": event}, 200),
        "open turn": ("open", {"id": turn["turn"]["id"]}, 300),
        "open session": ("open", {"id": session}, 500),
        "open session of 100 turns": ("open", {"id": long}, 500),
        "open session of 101 turns": ("open", {"id": longer}, 1_500),
        "list": ("list_sessions", EVER, 300),
        "list one mode": ("list_sessions", {**EVER, "mode": "chat"}, 300),
        "blank query": ("search_sessions", {"query": "   "}, 750),
        "bad event type": ("search_sessions", {"query": "migration", "event_types": ["debug_trace"]}, 750),
        "malformed id": ("open", {"id": "not-a-valid-id"}, 200),
        "unknown event": ("open", {"id": ABSENT}, 200),
        "no window": ("list_sessions", {}, 300),
        "event as scope": ("search_sessions", {"query": "x", "within_id": event}, 750),
    }


REQUESTS = [
    "search", "search without hits", "search in a session", "search in a turn", "open event", "open turn", "open session",
    "open session of 100 turns", "open session of 101 turns", "list", "list one mode", "blank query", "bad event type",
    "malformed id", "unknown event", "no window", "event as scope",
]  # fmt: skip
REFUSED = set(REQUESTS[REQUESTS.index("blank query") :])


# ---- envelopes


@pytest.mark.parametrize("name", REQUESTS)
def test_answers_and_errors_are_both_valid_tool_results(history: History, requests: dict[str, Any], name: str) -> None:
    """Rules 30 and 32: isError is false, and the text is the same JSON as the structured content."""
    tool, arguments, _ = requests[name]
    result = history.result(tool, arguments)
    assert not result.is_error
    [block] = result.content
    assert block.type == "text"
    envelope = result.structured_content
    assert json.loads(block.text) == envelope
    body = "error" if name in REFUSED else "data"
    assert set(envelope) == {"schema_version", "tool", "request", body, "warnings", "performance"}
    assert envelope["schema_version"] == ("moraine.mcp.error.v1" if name in REFUSED else f"moraine.mcp.{tool}.v1")
    assert envelope["tool"] == tool
    assert envelope["warnings"] == []
    if name in REFUSED:
        assert set(envelope["error"]) == {"code", "message", "details"}


@pytest.mark.parametrize("name", REQUESTS)
def test_performance_names_the_target_that_applies(history: History, requests: dict[str, Any], name: str) -> None:
    """Rule 28."""
    tool, arguments, target = requests[name]
    performance = history.call(tool, **arguments)["performance"]
    assert set(performance) == {"elapsed_ms", "sla_target_ms", "met_sla"}
    assert performance["sla_target_ms"] == target
    assert performance["elapsed_ms"] > 0
    assert performance["met_sla"] is (performance["elapsed_ms"] <= target)


def test_elapsed_time_includes_the_serialization(history: History) -> None:
    """Rule 28: megabytes take longer than a line."""
    events = history.turn("Show the survey")["events"]
    small, large = (
        min(history.call("open", id=events[place]["id"])["performance"]["elapsed_ms"] for _ in range(3)) for place in (0, 2)
    )
    assert large > small


@pytest.mark.parametrize("name", REQUESTS)
def test_every_answer_fits_the_schema_that_its_tool_declares(history: History, requests: dict[str, Any], name: str) -> None:
    """Rule 30: one schema for success and error, because clients check both against it."""
    tool, arguments, _ = requests[name]
    declared, complete = history.tools()[tool].output_schema, OPERATIONS[tool].answer_schema
    assert declared is not None and complete is not None
    envelope = history.call(tool, **arguments)
    for schema in (declared, complete):  # for models, in outline, and for programs
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        validator.validate(envelope)
        for key in ("schema_version", "tool", "request", "warnings", "performance"):
            assert not validator.is_valid({other: value for other, value in envelope.items() if other != key})


def test_the_tools_declare_their_arguments(history: History) -> None:
    """Rules 1, 8 and 11: the names, the required ones, and no others."""
    tools = {tool.name: tool for tool in history.portal.call(history.client.list_tools).tools}
    assert [name for name in tools if name in TOOLS] == TOOLS
    declared = {
        name: (set(tools[name].input_schema["properties"]), set(tools[name].input_schema["required"])) for name in TOOLS
    }
    assert declared == {
        "search_sessions": ({"query", "within_id", "event_types", "n_hits"}, {"query"}),
        "open": ({"id"}, {"id"}),
        "list_sessions": (
            {"start_datetime", "end_datetime", "limit", "cursor", "mode", "sort"}, {"start_datetime", "end_datetime"},
        ),
    }  # fmt: skip
    assert not any(tools[name].input_schema["additionalProperties"] for name in TOOLS)


def moments_in(answer: Any) -> Iterator[tuple[str, str]]:
    match answer:
        case dict():
            for key, value in answer.items():
                if key.endswith(("_at", "_datetime")) or key == "timestamp":
                    yield key, value
                else:
                    yield from moments_in(value)
        case list():
            for item in answer:
                yield from moments_in(item)


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in REFUSED and name != "search without hits"])
def test_every_timestamp_is_utc_with_milliseconds(history: History, requests: dict[str, Any], name: str) -> None:
    """Rule 27."""
    tool, arguments, _ = requests[name]
    moments = list(moments_in(history.call(tool, **arguments)))
    assert moments
    for key, moment in moments:
        assert MOMENT.fullmatch(moment), key


def test_milliseconds_are_those_of_the_log(history: History) -> None:
    """Rule 27."""
    assert history.turn(MIGRATION)["events"][0]["timestamp"] == "2026-01-02T09:01:05.125Z"
    assert history.open(history.ids_by_title[MIGRATION])["session"]["started_at"] == "2026-01-02T09:01:05.125Z"


@pytest.mark.parametrize("arguments", [["query"], "query"], ids=["a list", "a string"])
def test_arguments_that_are_not_an_object_are_refused_in_the_error_envelope(person: Person, arguments: Any) -> None:
    """Rule 30: a tool result fits the tool's schema, and the server continues."""
    with person.mcp() as raw:
        schema = raw.request("tools/list")["result"]["tools"][0]["outputSchema"]
        answer = raw.request("tools/call", {"name": "search_sessions", "arguments": arguments})
        if "result" in answer:
            envelope = answer["result"]["structuredContent"]
            assert envelope["error"]["code"] == "invalid_request"
            Draft202012Validator(schema).validate(envelope)
        else:
            assert answer["error"]["code"] == -32602
        assert raw.call("search_sessions", query="x")["tool"] == "search_sessions"


# ---- deadlines and faults


def test_every_tool_reports_an_exceeded_deadline(person: Person) -> None:
    """Rule 29: a deadline of 0 ms is always past."""
    write_resumed_session(person)
    person.sync()
    with connect_history(person) as history:
        session = history.ids_by_title[LIGHTHOUSE]
    with connect_history(person, RECOLLECT_DEADLINE_MS="0") as history:
        for tool, arguments, target in (
            ("search_sessions", {"query": "fresnel"}, 750),
            ("search_sessions", {"query": "fresnel", "within_id": session}, 500),
            ("list_sessions", EVER, 300),
            ("open", {"id": session}, 500),
        ):
            envelope = history.call(tool, **arguments)
            assert envelope["schema_version"] == "moraine.mcp.error.v1"
            assert envelope["error"]["code"] == "deadline_exceeded"
            assert envelope["error"]["message"]
            assert envelope["request"] == arguments
            assert envelope["performance"]["sla_target_ms"] == target


def test_a_deadline_does_not_hide_a_bad_request(person: Person) -> None:
    """Rule 29: a refusal is not subject to the deadline."""
    with connect_history(person, RECOLLECT_DEADLINE_MS="0") as history:
        assert history.error("search_sessions", query=" ")["code"] == "invalid_request"
        assert history.error("open", id="?")["code"] == "invalid_id"


def test_a_broken_archive_is_a_short_internal_error(person: Person) -> None:
    """Source, error behaviour: runtime failures are answers and never end the server."""
    write_resumed_session(person)
    person.sync()
    archive = archive_path(person.realm)
    for beside in archive.parent.glob(f"{archive.name}*"):
        beside.write_bytes(b"no database at all " * 500)
    with connect_history(person) as history:
        for tool, arguments in (
            ("search_sessions", {"query": "fresnel"}),
            ("list_sessions", EVER),
            ("open", {"id": ABSENT}),
        ):
            error = history.error(tool, **arguments)
            assert error["code"] == "internal_error"
            assert 0 < len(error["message"]) < 300
            assert "Traceback" not in error["message"]


# ---- a running server


def test_a_running_server_sees_what_another_process_synced(person: Person) -> None:
    """Rule 45: from an empty archive to a first session, and then to a longer one."""
    log = Claude()
    with connect_history(person) as history:
        empty = history.call("search_sessions", query="halyard")
        assert empty["data"]["results"] == []
        path = write(person.claude_log(log.session), [log.prompt("Splice the halyard"), log.says("Splicing.", stop=None)])
        person.run("sync")
        [hit] = history.hits("halyard")
        assert history.open(hit["id"])["content"]["text"] == "Splice the halyard"
        assert history.open(hit["session"]["id"])["session"]["completed"] is False
        append(path, log.says("Spliced the halyard."), log.prompt("Thank you"), log.says("Welcome."))
        person.run("sync")
        again = history.hits("halyard")
        assert len(again) == 2
        assert hit["id"] in {one["id"] for one in again}
        session = history.open(hit["session"]["id"])["session"]
        assert (session["completed"], session["turn_count"], session["event_count"]) == (True, 2, 5)
        assert [one["session"]["turn_count"] for one in history.sessions()] == [2]


# ---- stable ids


def write_some_logs(person: Person) -> None:
    write_errand(person)
    write_resumed_session(person)
    for number, session in ((3, dredging), (4, dredging_fork)):
        log = Codex(number)
        write(person.codex_log(log.session), session(log))


def everything(person: Person) -> dict[str, Any]:
    """All answers about a realm: every session, turn and event by id, and the hits of a search."""
    with connect_history(person) as history:
        answers = {"search": [hit["open"] for hit in history.hits("the rope notes", n_hits=50)]}
        for listed in history.sessions():
            answers[listed["id"]] = session = history.open(listed["id"])
            for turn in session["turns"]:
                answers[turn["id"]] = turn_answer = history.open(turn["id"])
                answers |= {event["id"]: history.open(event["id"]) for event in turn_answer["events"]}
    return answers


@pytest.fixture(scope="module")
def realm_and_answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Person, dict[str, Any]]:
    """A realm and all its first answers. No test may change them, so the fixture can be shared."""
    person = Person(tmp_path_factory.mktemp("realm_and_answers"))
    write_some_logs(person)
    person.run("sync")
    told = everything(person)
    assert told["search"]
    return person, told


OUTLIVED = {
    "a restart": ["status"],
    "a second sync": ["sync"],
    "a rebuilt index": ["rebuild"],
    "all logs read again": ["rebuild", "--logs"],
}


@pytest.mark.parametrize("command", OUTLIVED.values(), ids=OUTLIVED)
def test_ids_survive_rebuilds_and_new_syncs(realm_and_answers: tuple[Person, dict[str, Any]], command: list[str]) -> None:
    """Rule 26: a new server gives the same answers about the realm, whatever was run in between."""
    person, told = realm_and_answers
    person.run(*command)
    assert everything(person) == told


def test_ids_survive_the_loss_of_the_archive_and_do_not_depend_on_where_the_home_is(
    realm_and_answers: tuple[Person, dict[str, Any]], tmp_path: Path
) -> None:
    """Rules 26 and 45: the same logs in another folder, read again."""
    person, answers = realm_and_answers
    moved = Person(tmp_path / "elsewhere")
    shutil.copytree(person.home, moved.home, dirs_exist_ok=True)
    moved.run("sync")
    assert everything(moved) == answers


# ---- large realms


def crowd(person: Person, sessions: int, events: int) -> Path:
    """A log of many small side chains, each a session of its own."""
    blocks = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "plank"} for n in range(events)]
    record = {
        "type": "user", "sessionId": Claude().session, "isSidechain": True, "parentUuid": None,
        "timestamp": "2026-02-01T00:00:00.000Z", "message": {"role": "user", "content": blocks},
    }  # fmt: skip
    return write(person.claude_log(Claude().session), ({**record, "uuid": f"{n:036d}"} for n in range(sessions)))


def targets(history: History) -> list[int]:
    """The targets of a search, of a window with all sessions, of that window for one mode, and of an empty window."""
    empty = {**EVER, "end_datetime": "2026-02-01T00:00:00Z"}
    requests = [
        ("search_sessions", {"query": "anvil"}),
        *(("list_sessions", window) for window in (EVER, {**EVER, "mode": "chat"}, empty)),
    ]
    return [history.call(tool, **arguments)["performance"]["sla_target_ms"] for tool, arguments in requests]


def test_the_targets_grow_with_the_realm_at_exactly_the_sizes_of_the_contract(person: Person) -> None:
    """Rule 28: up to 100,000 documents and 5,000 sessions have the small targets; one more of either has the next."""
    path = crowd(person, sessions=5_000, events=20)
    person.sync()
    with connect_history(person) as history:
        assert targets(history) == [750, 300, 300, 300]
        log = Claude("22222222-2222-4222-8222-222222222222")
        write(path.with_stem(log.session), [log.prompt("One more plank")])
        person.sync()
        assert targets(history) == [1_500, 1_000, 1_200, 300]

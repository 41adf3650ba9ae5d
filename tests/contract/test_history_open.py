"""The answers of open for a session, a turn and an event; every id in any answer opens."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.history_archive import (
    CARGO,
    CARGO_FAILED,
    CHECKOUT,
    JUST_FITS,
    JUST_TOO_LONG,
    MEGABYTES,
    MIGRATION,
    MIGRATION_ANSWER,
    MIGRATION_PROMPT,
    PREVIEW,
    serve_archive,
)
from tests.contract.history_client import EVER, TYPES, History, text_of

pytestmark = pytest.mark.process

MONITOR = "Investigate monitor startup"
SPEAKS = {"assistant_response", "reasoning"}
TOOL_SIDE = {"tool_call", "tool_response"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


def ids_in(answer: Any) -> Iterator[str]:
    """Every id in an answer, at any depth. Ids in the arguments of a logged tool call are not Recollect's."""
    match answer:
        case dict():
            for key, value in answer.items():
                if key == "arguments":
                    continue
                if key == "id" or key.endswith(("_id", "_ids")):
                    yield from (found for found in (value if isinstance(value, list) else [value]) if found is not None)
                else:
                    yield from ids_in(value)
        case list():
            for item in answer:
                yield from ids_in(item)


@pytest.fixture(scope="module")
def graph(history: History) -> dict[str, Any]:
    """The answer of open for every id that can be reached from a listing."""
    opened: dict[str, Any] = {}
    ahead = list(ids_in(history.sessions()))
    while ahead:
        identity = ahead.pop()
        if identity not in opened:
            opened[identity] = history.open(identity)
            ahead += ids_in(opened[identity])
    return opened


def of_kind(graph: dict[str, Any], kind: str) -> list[Any]:
    return [data for data in graph.values() if data["kind"] == kind]


# ---- ids


def test_every_id_in_every_answer_opens_and_every_event_can_be_reached(history: History, graph: dict[str, Any]) -> None:
    """Rule 26; the traversal contract."""
    for identity, data in graph.items():
        assert data[data["kind"]]["id"] == identity
    listed = history.sessions()
    assert {one["id"] for one in listed} == {data["session"]["id"] for data in of_kind(graph, "session")}
    assert len(of_kind(graph, "turn")) == sum(one["session"]["turn_count"] for one in listed)
    assert len(of_kind(graph, "event")) == sum(one["session"]["event_count"] for one in listed)


@pytest.mark.parametrize("query", ["voyage", "cargo", "monitor", "made", "rope", "zephyr"])
def test_every_id_of_a_hit_opens(history: History, graph: dict[str, Any], query: str) -> None:
    """Rule 26: search hit to event, turn and session."""
    found = history.hits(query, n_hits=50, event_types=TYPES)
    assert found
    for hit in found:
        assert set(ids_in(hit)) == set(hit["open"].values())
        assert [graph[hit["open"][f"{noun}_id"]]["kind"] for noun in ("event", "turn", "session")] == [
            "event",
            "turn",
            "session",
        ]


def test_every_parent_lists_all_its_children(graph: dict[str, Any]) -> None:
    """The traversal contract: parent references are right at every level."""
    for data in of_kind(graph, "event"):
        event, turn = data["event"], graph[data["event"]["turn_id"]]
        assert turn["events"][event["ordinal"] - 1]["id"] == event["id"]
        assert turn["turn"]["session_id"] == event["session_id"] == data["session"]["id"]
        assert data["turn"] == {key: turn["turn"][key] for key in ("id", "ordinal", "completed")}
    for data in of_kind(graph, "turn"):
        session = graph[data["turn"]["session_id"]]
        assert session["turns"][data["turn"]["ordinal"] - 1]["id"] == data["turn"]["id"]
        assert data["session"] == {key: session["session"][key] for key in ("id", "title", "source")}


def test_events_are_chained_inside_their_turn_and_turns_inside_their_session(graph: dict[str, Any]) -> None:
    """Rule 24."""
    for data in of_kind(graph, "turn"):
        events = [event["id"] for event in data["events"]]
        assert [data["traversal"][f"{place}_event_id"] for place in ("first", "last")] == [events[0], events[-1]]
        for before, event, after in zip([None, *events], events, [*events[1:], None], strict=False):
            traversal = graph[event]["traversal"]
            assert [traversal["previous_event_id"], traversal["next_event_id"]] == [before, after]
    for data in of_kind(graph, "session"):
        turns = [turn["id"] for turn in data["turns"]]
        for before, turn, after in zip([None, *turns], turns, [*turns[1:], None], strict=False):
            for opened in (graph[turn], *(graph[event["id"]] for event in graph[turn]["events"])):
                traversal = opened["traversal"]
                assert [traversal["previous_turn_id"], traversal["next_turn_id"]] == [before, after]
                assert traversal["session_id"] == data["session"]["id"]


def test_sessions_are_chained_by_start_time_and_then_by_id(graph: dict[str, Any]) -> None:
    """Rule 25."""
    sessions = sorted((data["session"]["started_at"], data["session"]["id"]) for data in of_kind(graph, "session"))
    ids = [identity for _, identity in sessions]
    for before, session, after in zip([None, *ids], ids, [*ids[1:], None], strict=False):
        traversal = graph[session]["traversal"]
        assert [traversal["previous_session_id"], traversal["next_session_id"]] == [before, after]


def test_parents_and_children_name_each_other(graph: dict[str, Any]) -> None:
    """Rule 25: children in order, null for a root."""
    sessions = of_kind(graph, "session")
    assert any(data["traversal"]["child_session_ids"] for data in sessions)
    for data in sessions:
        identity = data["session"]["id"]
        children = [one for one in sessions if one["traversal"]["parent_session_id"] == identity]
        children.sort(key=lambda one: (one["session"]["started_at"], one["session"]["id"]))
        assert data["traversal"]["child_session_ids"] == [one["session"]["id"] for one in children]


# ---- the shapes of the contract


def keys(data: Any, *path: str | int) -> set[str]:
    for step in path:
        data = data[step]
    return set(data)


TURN_HEAD = {"id", "ordinal", "completed", "terminal_event_id", "event_count", "started_at", "updated_at"}
GIST = {"user_input", "final_response", "tools_called", "event_types"}


def test_open_session_gives_metadata_and_a_compact_list_of_turns(history: History) -> None:
    """The open matrix: id=session."""
    envelope = history.call("open", id=history.ids_by_title[MIGRATION])
    assert envelope["request"] == {"id": history.ids_by_title[MIGRATION]}
    data = envelope["data"]
    assert keys(data) == {"kind", "session", "turns", "traversal"}
    head = {"id", "title", "source", "started_at", "updated_at", "completed", "turn_count", "event_count"}
    assert keys(data, "session") == head
    assert keys(data, "turns", 0) == TURN_HEAD | GIST | {"open"}
    assert keys(data, "traversal") == {"previous_session_id", "next_session_id", "parent_session_id", "child_session_ids"}
    assert (data["kind"], data["session"]["source"], data["session"]["turn_count"]) == ("session", "codex", 2)
    first, second = data["turns"]
    assert first["open"] == {"turn_id": first["id"], "terminal_event_id": first["terminal_event_id"]}
    assert first["user_input"]["text"] == MIGRATION_PROMPT
    assert first["final_response"]["text"] == MIGRATION_ANSWER
    assert first["final_response"]["event_id"] == first["terminal_event_id"]
    assert second["user_input"]["text"] == "Can you summarize the validation?"
    assert (first["tools_called"], second["tools_called"]) == (["exec_command", "apply_patch"], [])


def test_open_turn_gives_metadata_a_summary_and_every_event(history: History) -> None:
    """The open matrix: id=turn."""
    data = history.turn(MIGRATION)
    assert keys(data) == {"kind", "turn", "session", "summary", "events", "traversal"}
    assert keys(data, "turn") == TURN_HEAD | {"session_id"}
    assert keys(data, "session") == {"id", "title", "source"}
    assert keys(data, "summary") == GIST
    summary = {"id", "ordinal", "type", "timestamp", "terminal", "tool_name", "model", "summary", "truncated"}
    assert all(set(event) == summary for event in data["events"])
    traversal = {"session_id", "previous_turn_id", "next_turn_id", "first_event_id", "last_event_id"}
    assert keys(data, "traversal") == traversal
    call = data["events"][1]
    assert (call["type"], call["tool_name"], call["summary"], call["truncated"]) == (
        "tool_call",
        "exec_command",
        CARGO,
        False,
    )


COMMON = {"format", "text", "truncated"}
EXAMPLES = {
    "user_input": (1, {"format": "text", "text": MIGRATION_PROMPT, "truncated": False}, (None, None, None)),
    "tool_call": (
        2,
        {
            "format": "tool_call",
            "tool_name": "exec_command",
            "arguments": {"cmd": CARGO, "workdir": CHECKOUT},
            "text": f'exec_command(cmd="{CARGO}", workdir="{CHECKOUT}")',
            "truncated": False,
        },
        (None, "gpt-5", "exec_command"),
    ),
    "tool_response": (
        3,
        {"format": "tool_response", "tool_name": "exec_command", "exit_code": 101, "text": CARGO_FAILED, "truncated": False},
        (None, "gpt-5", "exec_command"),
    ),
    "assistant_response": (8, {"format": "text", "text": MIGRATION_ANSWER, "truncated": False}, ("gpt-5", "gpt-5", None)),
}  # fmt: skip


@pytest.mark.parametrize("type_", EXAMPLES)
def test_open_event_gives_metadata_full_content_and_traversal(history: History, type_: str) -> None:
    """Rules 22 and 23; the open matrix: id=event; the source's four examples."""
    ordinal, content, names = EXAMPLES[type_]
    data = history.events(MIGRATION)[ordinal - 1]
    assert keys(data) == {"kind", "event", "content", "session", "turn", "traversal"}
    head = {
        "id",
        "session_id",
        "turn_id",
        "ordinal",
        "type",
        "timestamp",
        "terminal",
        "model",
        "originating_model",
        "tool_name",
    }
    assert keys(data, "event") == head
    event = data["event"]
    assert (event["type"], event["ordinal"], event["terminal"]) == (type_, ordinal, type_ == "assistant_response")
    assert data["content"] == content
    assert (event["model"], event["originating_model"], event["tool_name"]) == names
    assert keys(data, "session") == {"id", "title", "source"}
    assert keys(data, "turn") == {"id", "ordinal", "completed"}
    beside = {"previous_event_id", "next_event_id", "previous_turn_id", "next_turn_id"}
    assert keys(data, "traversal") == {"session_id", "turn_id"} | beside


def test_an_incomplete_turn_is_shown_without_inventing_an_answer(history: History) -> None:
    """Rule 35; the source's example of an incomplete turn."""
    data = history.turn(MONITOR, 4)
    turn, summary = data["turn"], data["summary"]
    assert (turn["ordinal"], turn["completed"], turn["terminal_event_id"], turn["event_count"]) == (4, False, None, 2)
    assert summary["user_input"]["text"] == "Check whether the monitor starts after the latest config change."
    assert summary["final_response"] is None
    assert (summary["tools_called"], summary["event_types"]) == (["Bash"], ["user_input", "tool_call"])
    assert [event["summary"] for event in data["events"]][1] == "bin/moraine status"
    assert not any(event["terminal"] for event in data["events"])
    assert data["traversal"]["next_turn_id"] is None
    assert data["traversal"]["previous_turn_id"] == history.turn(MONITOR, 3)["turn"]["id"]


def test_tools_and_event_types_of_a_turn_come_once_each_in_the_order_seen(history: History, graph: dict[str, Any]) -> None:
    """Rule 21."""
    assert history.turn(MONITOR)["summary"]["tools_called"] == ["Grep", "Bash"]
    for data in of_kind(graph, "turn"):
        tools = [event["tool_name"] for event in data["events"] if event["type"] == "tool_call"]
        assert data["summary"]["tools_called"] == list(dict.fromkeys(tools))
        assert data["summary"]["event_types"] == list(dict.fromkeys(event["type"] for event in data["events"]))
        [told] = [turn for turn in graph[data["turn"]["session_id"]]["turns"] if turn["id"] == data["turn"]["id"]]
        assert {key: told[key] for key in GIST} == data["summary"]
        assert {key: told[key] for key in TURN_HEAD} == {key: data["turn"][key] for key in TURN_HEAD}


def test_only_events_with_a_model_or_a_tool_name_them(graph: dict[str, Any]) -> None:
    """Rules 22 and 23."""
    events = [data["event"] for data in of_kind(graph, "event")]
    assert SPEAKS | TOOL_SIDE | {"user_input", "system", "runtime", "compaction", "unknown"} == {
        event["type"] for event in events
    }
    for event in events:
        assert (event["model"] is not None) is (event["type"] in SPEAKS)
        assert (event["originating_model"] is not None) is (event["type"] in SPEAKS | TOOL_SIDE)
        assert (event["tool_name"] is not None) is (event["type"] in TOOL_SIDE)


def test_a_response_has_the_name_of_the_called_tool(history: History) -> None:
    """Rule 23: joined by call id."""
    events = history.events(MONITOR)
    tools_and_texts = [
        (event["event"]["tool_name"], event["content"]["text"])
        for event in events
        if event["event"]["type"] == "tool_response"
    ]
    assert tools_and_texts == [("Grep", "etc/monitor.toml"), ("Bash", "Exit code 3\ncat: no such file"), ("Grep", "none")]


def test_a_known_exit_code_is_shown(history: History) -> None:
    """Rule 23."""
    codes = [
        event["content"]["exit_code"] for event in history.events(MIGRATION) if event["event"]["type"] == "tool_response"
    ]
    assert codes == [101, 0, 0]
    codes = [
        event["content"].get("exit_code") for event in history.events(MONITOR) if event["event"]["type"] == "tool_response"
    ]
    assert codes == [None, 3, None]


def test_the_arguments_of_any_call_are_an_object(graph: dict[str, Any]) -> None:
    """Rule 23."""
    calls = [data for data in of_kind(graph, "event") if data["event"]["type"] == "tool_call"]
    assert {data["content"]["tool_name"] for data in calls} >= {"apply_patch", "web_search", "WebFetch", "Task"}
    for data in calls:
        content = data["content"]
        assert keys(content) == COMMON | {"tool_name", "arguments"}
        assert isinstance(content["arguments"], dict)
        assert content["text"].startswith(f"{data['event']['tool_name']}(")


# ---- sizes


@pytest.mark.parametrize("turns", [100, 101])
def test_a_session_opens_with_all_its_turns_however_many(history: History, turns: int) -> None:
    """Rule 18."""
    data = history.open(history.ids_by_title[f"voyage of {turns} turns, day 1"])
    assert [turn["ordinal"] for turn in data["turns"]] == list(range(1, turns + 1))
    assert data["session"]["turn_count"] == turns
    assert data["turns"][-1]["user_input"]["text"] == f"voyage of {turns} turns, day {turns}"


def test_a_turn_opens_with_all_its_events_however_many(history: History) -> None:
    """Rule 18."""
    data = history.turn("Read all soundings")
    assert [event["ordinal"] for event in data["events"]] == list(range(1, 243))
    assert data["turn"]["event_count"] == 242


def test_an_event_of_three_megabytes_opens_complete(history: History, graph: dict[str, Any]) -> None:
    """Rule 19."""
    content = history.events("Show the survey")[2]["content"]
    assert content["text"].startswith("anchorfirst\n")
    assert content["text"].endswith("anchorlast")
    assert len(content["text"]) > MEGABYTES * 999_000
    assert not any(data["content"]["truncated"] for data in of_kind(graph, "event"))


def test_only_an_event_is_opened_with_its_payload(history: History) -> None:
    """Rule 18: a session and a turn stay small however large their events are."""
    session = history.ids_by_title["Show the survey"]
    turn = history.open(session)["turns"][0]["id"]
    for identity in (session, turn):
        assert len(text_of(history.result("open", {"id": identity}))) < 5_000


def test_previews_are_short_and_say_whether_there_is_more(graph: dict[str, Any]) -> None:
    """Rule 20."""
    for data in of_kind(graph, "turn"):
        previews = [part for part in (data["summary"]["user_input"], data["summary"]["final_response"]) if part]
        previews += [{**event, "event_id": event["id"], "text": event["summary"]} for event in data["events"]]
        for preview in previews:
            full = graph[preview["event_id"]]
            assert len(preview["text"]) <= PREVIEW
            if full["event"]["type"] != "tool_call":  # a call shows its most informative argument, not its text
                assert preview["truncated"] is (len(full["content"]["text"]) > PREVIEW)
                assert full["content"]["text"].startswith(preview["text"].removesuffix("…"))


@pytest.mark.parametrize(
    ("query", "prompt", "answer"), [("ebb", JUST_FITS, JUST_TOO_LONG), ("flow", JUST_TOO_LONG, JUST_FITS)]
)
def test_a_preview_is_cut_only_beyond_two_hundred_characters(history: History, query: str, prompt: str, answer: str) -> None:
    """Rule 20."""
    [hit] = history.hits(query, event_types=["user_input"])
    summary = history.open(hit["turn"]["id"])["summary"]
    for preview, text in ((summary["user_input"], prompt), (summary["final_response"], answer)):
        assert preview["truncated"] is (len(text) > PREVIEW)
        assert (preview["text"] == text) is (len(text) <= PREVIEW)


# ---- refusals

MALFORMED = [
    "not-a-valid-id", "session", "session:", ":abc", "sessions:abc", "Session:abc", "session:a b", "session:a:b", "turn:a/b",
    "event:é", "event:１２", "event:abc\n", " event:abc", "event:abc ", "\tevent:abc", "event:abc\x00", f"event:{'x' * 129}",
    "eventabc", "message:abc", "session:abc,turn:abc",
]  # fmt: skip
UNKNOWN = [
    "session:ses_01J9Q3N7W6F9A8K2M4V5R6T7Y8", "turn:turn_01J9Q3P4V8BN7XM9G2K6Q1W3E4", "event:evt_01J9DOESNOTEXIST000000000000",
    "session:c2Vzcy0x", "session:-", "turn:_", f"event:{'x' * 128}", "event:0", "turn:0-0",
    "session:00000000000000000000000000000000", "turn:00000000000000000000000000000000-1",
    "event:00000000000000000000000000000000", "turn:99999999999999999999999999999999-99999999999999999999",
]  # fmt: skip


@pytest.mark.parametrize("identity", MALFORMED)
def test_a_malformed_id_is_an_invalid_id(history: History, identity: str) -> None:
    """Rules 8, 9 and 45; the open matrix: ids are not trimmed or normalised."""
    envelope = history.call("open", id=identity)
    assert envelope["error"] == {
        "code": "invalid_id",
        "message": "id is not a valid Moraine MCP ID",
        "details": {"field": "id"},
    }
    assert envelope["request"] == {"id": identity}


@pytest.mark.parametrize("identity", UNKNOWN)
def test_a_well_formed_id_without_a_record_is_not_found(history: History, identity: str) -> None:
    """Rules 8 and 9; the open matrix: the source's own ids are well-formed."""
    envelope = history.call("open", id=identity)
    noun = identity.partition(":")[0]
    assert envelope["error"] == {"code": "not_found", "message": f"{noun} not found", "details": {"id": identity}}
    assert envelope["request"] == {"id": identity}


BAD_ARGUMENTS = [
    ({}, "id"), ({"id": ""}, "id"), ({"id": "   "}, "id"), ({"id": "\n"}, "id"), ({"id": None}, "id"), ({"id": 5}, "id"),
    ({"id": ["session:abc"]}, "id"), ({"id": {}}, "id"), ({"id": True}, "id"),
    ({"id": "session:abc", "depth": 2}, "depth"), ({"session_id": "session:abc"}, "session_id"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "field"), BAD_ARGUMENTS)
def test_a_missing_or_blank_id_or_an_unknown_name_is_an_invalid_request(
    history: History, arguments: dict[str, Any], field: str
) -> None:
    """Rules 3, 8 and 10; the open matrix: missing and blank id."""
    envelope = history.call("open", **arguments)
    assert envelope["error"]["code"] == "invalid_request"
    assert envelope["error"]["details"] == {"field": field}
    assert envelope["request"] == arguments


def test_an_id_of_one_kind_does_not_open_as_another(history: History) -> None:
    """Rule 8: the word before the colon is part of the id."""
    session = history.data("list_sessions", **EVER, limit=1)["sessions"][0]["id"]
    event = session.replace("session:", "event:")
    assert history.error("open", id=event) == {"code": "not_found", "message": "event not found", "details": {"id": event}}

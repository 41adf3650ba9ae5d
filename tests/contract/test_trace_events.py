"""get_event_details: one complete event, by its index in its session (A17 to A19)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.trace_archive import (
    DEPTHS,
    ESCAPES,
    EVERYWHERE,
    EVERYWHERE_TYPES,
    LEDGER,
    LEDGER_ANSWER,
    LEDGER_ARGUMENT,
    LEDGER_OUTPUT,
    LEDGER_PROMPT,
    LEDGER_THOUGHTS,
    NESTED,
    NETS,
    PATCH,
    QUOTED,
    RIGGING,
    SCRIPT_TEXTS,
    SCRIPTS,
    SIGN_TEXTS,
    SIGNALS,
    SIGNS,
    serve_archive,
)
from tests.contract.trace_client import EVENT_TYPES, Trace

pytestmark = pytest.mark.process

EVENT = "get_event_details"
FIELDS = ["session_id", "event_index", "timestamp", "event_type", "payload"]
CLAUDE, GPT = {"model": "claude-sonnet-4-5"}, {"model": "gpt-5"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


# ---- payloads


def test_an_event_has_the_fields_of_the_contract(trace: Trace) -> None:
    answer = trace.answer(EVENT, session_id=trace.ids[DEPTHS], event_index=3)
    assert list(answer) == ["data"]
    assert list(answer["data"]) == FIELDS
    assert {name: answer["data"][name] for name in FIELDS[:-1]} == {
        "session_id": trace.ids[DEPTHS],
        "event_index": 3,
        "timestamp": "2026-01-02T09:01:08.125Z",
        "event_type": "tool_result",
    }


def test_events_of_different_agents_have_one_form(trace: Trace) -> None:
    """Every type except notifications, from Codex."""
    told = [(event["event_type"], event["payload"]) for event in trace.every_event(DEPTHS)]
    assert told == [
        ("user", {"text": DEPTHS}),
        ("reasoning", {"text": "The lead line is short.", **GPT}),
        ("tool_call", {"name": "exec_command", "arguments": {"cmd": "sound --fathoms", "workdir": "/home/sam"}, **GPT}),
        ("tool_result", {"output": "bottom not found", "is_error": True, "exit_code": 101, "call_index": 2}),
        (
            "token_usage",
            {
                "input_tokens": 600,
                "output_tokens": 50,
                "cache_read_tokens": 400,
                "cache_write_tokens": 0,
                "reasoning_tokens": 20,
                "text": "tokens: input 600, cached 400, output 50",
            },
        ),
        ("tool_call", {"name": "apply_patch", "arguments": {"input": PATCH}, **GPT}),
        ("tool_result", {"output": "Success.", "is_error": False, "exit_code": 0, "call_index": 5}),
        ("message", {"text": "Five fathoms.", **GPT}),
        ("notification", {"text": "turn complete", "kind": "runtime"}),
    ]


def test_an_event_that_is_neither_message_nor_tool_use_is_a_notification(trace: Trace) -> None:
    events = trace.every_event(SIGNALS)
    assert [event["event_type"] for event in events] == ["user", "notification", "message", *["notification"] * 5]
    notes = [event["payload"] for event in events if event["event_type"] == "notification"]
    assert [(note["kind"], note["text"]) for note in notes if note["kind"] != "unknown"] == [
        ("system", "<system-reminder>reminded</system-reminder>"),
        ("compaction", "Continued: compacted"),
        ("system", "informed"),
        ("runtime", "turn took 5.0 s"),
        ("runtime", "[Request interrupted by user]"),
    ]
    (stranger,) = (json.loads(note["text"]) for note in notes if note["kind"] == "unknown")
    assert stranger["text"] == "unheard of"


def test_every_type_of_event_occurs(trace: Trace) -> None:
    met = {event["event_type"] for title in (DEPTHS, SIGNALS, EVERYWHERE) for event in trace.every_event(title)}
    assert met == set(EVENT_TYPES)
    assert [event["event_type"] for event in trace.every_event(EVERYWHERE)] == EVERYWHERE_TYPES


def test_texts_come_back_unchanged(trace: Trace) -> None:
    """A17: in every script, with every control character and every blank."""
    for title, texts in ((SCRIPTS, SCRIPT_TEXTS), (SIGNS, SIGN_TEXTS)):
        spoken = [event["payload"]["text"] for event in trace.every_event(title)]
        assert spoken == [title, *texts]


def test_arguments_come_back_unchanged(trace: Trace) -> None:
    """A17: as an object, whatever JSON must escape in it."""
    assert trace.event(ESCAPES, 1)["payload"] == {"name": "Bash", "arguments": {"command": QUOTED}, **CLAUDE}
    assert trace.event(ESCAPES, 2)["payload"] == {"output": QUOTED, "is_error": False, "call_index": 1}
    assert trace.event(ESCAPES, 3)["payload"] == {"name": "MultiEdit", "arguments": NESTED, **CLAUDE}


def test_a_long_event_is_not_cut(trace: Trace) -> None:
    """A17: a tool's output of 50 KB, and every other long event."""
    payloads = [event["payload"] for event in trace.every_event(LEDGER)]
    assert payloads[0] == {"text": LEDGER_PROMPT}
    assert [one["text"] for one in (payloads[1], payloads[5], payloads[8])] == [*LEDGER_THOUGHTS]
    assert payloads[2] == {"text": LEDGER_ANSWER, **CLAUDE}
    assert payloads[3] == {"name": "Bash", "arguments": {"command": LEDGER_ARGUMENT}, **CLAUDE}
    assert payloads[4] == {"output": LEDGER_OUTPUT, "is_error": False, "call_index": 3}
    assert len(LEDGER_OUTPUT) > 50_000


def test_a_result_names_the_call_that_it_answers(trace: Trace) -> None:
    """Also out of order, in a later turn, and without a call."""
    events = trace.every_event(RIGGING)
    call_index_of = {
        event["payload"]["output"]: event["payload"]["call_index"]
        for event in events
        if event["event_type"] == "tool_result"
    }
    calls = {event["event_index"]: event["payload"]["name"] for event in events if event["event_type"] == "tool_call"}
    assert [calls[call_index_of[output]] for output in ("E1", "E2", "E3")] == ["Bash", "Read", "Grep"]
    assert call_index_of["F2"] == next(event["event_index"] for event in events if event["payload"].get("text") == "F1") - 1
    assert call_index_of["J1"] is None


def test_a_failure_has_its_exit_code_if_it_is_known(trace: Trace) -> None:
    failed = [event["payload"] for event in trace.every_event(NETS) if event["payload"].get("is_error")]
    assert [(payload["output"], payload.get("exit_code")) for payload in failed] == [
        ("no net", None), ("Exit code 3\ntorn", 3), ("torn", None), ("torn", None),
    ]  # fmt: skip


# ---- indexes


def test_a_prefix_opens_the_event_and_shows_the_full_id(trace: Trace) -> None:
    session = trace.ids[NETS]
    for name in (session, session.upper(), session[:9], session[:6]):
        event = trace.data(EVENT, session_id=name, event_index=1)
        assert event == trace.event(NETS, 1)
        assert event["session_id"] == session


def test_indexes_count_from_zero_without_a_gap(trace: Trace) -> None:
    count = trace.count(NETS)
    events = trace.every_event(NETS)
    assert [event["event_index"] for event in events] == [*range(count)]
    assert [event["timestamp"] for event in events] == sorted(event["timestamp"] for event in events)
    assert events[0]["payload"]["text"] == NETS


@pytest.mark.parametrize("beyond", [0, 1, 1_000, 2**31, 2**63, 2**64, 10**30])
def test_an_index_after_the_last_is_refused_and_the_last_is_named(trace: Trace, beyond: int) -> None:
    """A18."""
    count = trace.count(NETS)
    error = trace.error(EVENT, session_id=trace.ids[NETS], event_index=count + beyond)
    assert (error["code"], error["details"]["max_index"]) == ("invalid_event_index", count - 1)
    assert trace.event(NETS, count - 1)["event_index"] == count - 1


@pytest.mark.parametrize("index", [-1, -2, -(2**63), -(10**30)])
def test_an_index_before_the_first_is_refused(trace: Trace, index: int) -> None:
    """A19."""
    error = trace.error(EVENT, session_id=trace.ids[NETS], event_index=index)
    assert (error["code"], error["details"]["max_index"]) == ("invalid_event_index", trace.count(NETS) - 1)


@pytest.mark.parametrize("index", ["5", "", 2.5, 1.0, True, False, None, [1], {}])
def test_an_index_must_be_a_whole_number(trace: Trace, index: Any) -> None:
    error = trace.error(EVENT, session_id=trace.ids[NETS], event_index=index)
    assert (error["code"], error["details"]["parameter"]) == ("invalid_parameter", "event_index")
    assert error["details"]["reason"]


def test_both_arguments_must_be_given(trace: Trace) -> None:
    assert trace.error(EVENT, session_id=trace.ids[NETS])["details"]["parameter"] == "event_index"
    assert trace.error(EVENT, event_index=0)["details"]["parameter"] == "session_id"

"""Telemetry repeats a conversation with every model call. Each of its messages is still one event."""

import json
from pathlib import Path
from typing import Any

from recollect.model import Record
from recollect.sources.otel import SOURCE
from tests.logs import write

START = 1_781_293_600_000_000_000
SECOND = 1_000_000_000
Message = dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": text}]}


def agent(text: str) -> Message:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}]}


def span(number: int, kind: str, messages: list[Message], answer: Message | None, *, inside: int | None = None) -> Message:
    """A span that starts ten seconds after the previous number; `inside` is its parent."""
    attributes = {
        "gen_ai.operation.name": kind,
        "gen_ai.conversation.id": "c",
        "gen_ai.input.messages": json.dumps(messages),
    }
    if answer:
        attributes["gen_ai.output.messages"] = json.dumps([answer])
    return {
        "traceId": "t",
        "spanId": str(number),
        "parentSpanId": "" if inside is None else str(inside),
        "name": kind,
        "startTimeUnixNano": str(START + number * 10 * SECOND),
        "endTimeUnixNano": str(START + (number * 10 + (5 if kind == "chat" else 99)) * SECOND),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def event_texts(folder: Path, *spans: Message) -> list[str]:
    """The texts of the events that are read from these spans."""
    log = write(folder / "traces.jsonl", [{"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]} for span in spans])
    ((_, _, entries),) = SOURCE.formats[0].read_sessions(log, lambda session, mark: False)  # type: ignore[attr-defined]
    return [entry.text for entry in entries if isinstance(entry, Record)]


def test_a_conversation_that_is_sent_again_is_read_once(tmp_path: Path) -> None:
    first = span(1, "chat", [user("one")], agent("first"))
    second = span(2, "chat", [user("one"), agent("first"), user("two")], agent("second"))
    assert event_texts(tmp_path, first, second) == ["one", "first", "two", "second"]


def test_the_same_words_twice_are_two_prompts(tmp_path: Path) -> None:
    first = span(1, "chat", [user("go on")], agent("first"))
    second = span(2, "chat", [user("go on"), agent("first"), user("go on")], agent("second"))
    assert event_texts(tmp_path, first, second) == ["go on", "first", "go on", "second"]


def test_the_same_words_twice_are_two_prompts_where_only_new_messages_are_sent(tmp_path: Path) -> None:
    calls = [
        span(number, "chat", [user(text)], agent(f"{number}")) for number, text in enumerate(["hello", "go on", "go on"])
    ]
    assert event_texts(tmp_path, *calls) == ["hello", "0", "go on", "1", "go on", "2"]


def test_a_conversation_that_was_shortened_is_read_once(tmp_path: Path) -> None:
    first = span(1, "chat", [user("one")], agent("first"))
    second = span(2, "chat", [user("one"), agent("first"), user("two")], agent("second"))
    third = span(3, "chat", [user("two"), agent("second"), user("three")], agent("third"))
    assert event_texts(tmp_path, first, second, third) == ["one", "first", "two", "second", "three", "third"]


def test_an_answer_that_was_not_recorded_comes_from_the_next_call(tmp_path: Path) -> None:
    first = span(1, "chat", [user("one")], None)
    second = span(2, "chat", [user("one"), agent("first"), user("two")], agent("second"))
    assert event_texts(tmp_path, first, second) == ["one", "first", "two", "second"]


def test_a_prompt_that_was_wrapped_for_the_model_is_read_as_the_person_typed_it(tmp_path: Path) -> None:
    wrapped = user("<context>a harbour</context>\nMend the net")
    outer = span(0, "invoke_agent", [user("Mend the net")], agent("mended"))
    first = span(1, "chat", [wrapped], agent("looking"), inside=0)
    second = span(2, "chat", [wrapped, agent("looking")], agent("mended"), inside=0)
    assert event_texts(tmp_path, first, second, outer) == ["Mend the net", "looking", "mended"]


def test_calls_with_the_same_number_in_different_turns_are_different_calls(tmp_path: Path) -> None:
    call = {"role": "assistant", "parts": [{"type": "tool_call", "id": "call_0", "name": "tide", "arguments": {}}]}
    low, high = (
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_0", "response": tide}]}
        for tide in ("low", "high")
    )
    before = [user("one"), call, low, agent("It is low."), user("two")]
    calls = [
        span(1, "chat", before[:1], call),
        span(2, "chat", before[:3], agent("It is low.")),
        span(3, "chat", before, call),
        span(4, "chat", [*before, call, high], agent("It is high.")),
    ]
    assert event_texts(tmp_path, *calls) == ["one", "", "low", "It is low.", "two", "", "high", "It is high."]


def test_spans_that_were_written_out_of_order_are_read_in_order(tmp_path: Path) -> None:
    first = span(1, "chat", [user("one")], agent("first"))
    second = span(2, "chat", [user("one"), agent("first"), user("two")], agent("second"))
    assert event_texts(tmp_path, second, first) == ["one", "first", "two", "second"]

"""Messages with content blocks and chat messages become the same records, for any agent."""

from typing import Any

import pytest

from recollect.model import Kind, Record, Stop, TurnStart, Usage
from recollect.sources.formats.message import (
    RecordBuilder,
    read_agent_message,
    read_chat_message,
    read_user_message,
    text_of,
)


@pytest.fixture
def builder() -> RecordBuilder:
    return RecordBuilder(session="s", key="s/m", at=5, model="m-1", usage=Usage(input=3))


def shape(records: list[Record]) -> list[tuple[str, str]]:
    return [(str(record.kind), record.text) for record in records]


def test_a_prompt_in_several_blocks_is_one_prompt(builder: RecordBuilder) -> None:
    (record,) = read_user_message(builder, [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, "two"])
    assert (record.text, record.opens, record.model) == ("one\n\n[image]\n\ntwo", TurnStart.PROMPT, None)


def test_results_in_a_users_message_do_not_open_a_turn(builder: RecordBuilder) -> None:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "out"}], "is_error": True}
    (record,) = read_user_message(builder, [block])
    assert (record.kind, record.text, record.call, record.failed, record.opens) == (
        Kind.TOOL_RESPONSE, "out", "c1", True, TurnStart.NO,
    )  # fmt: skip


def test_reminders_are_not_part_of_the_prompt(builder: RecordBuilder) -> None:
    records = list(read_user_message(builder, "<system-reminder>be kind</system-reminder>fix it"))
    assert shape(records) == [("user_input", "fix it"), ("system", "<system-reminder>be kind</system-reminder>")]


def test_an_answer_keeps_its_order_and_counts_its_tokens_once(builder: RecordBuilder) -> None:
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
    ]
    records = list(read_agent_message(builder, content))
    assert shape(records) == [("reasoning", "hm"), ("assistant_response", "I look."), ("tool_call", "")]
    assert [record.usage for record in records] == [Usage(input=3), None, None]
    assert [record.key for record in records] == ["s/m.0", "s/m.1", "s/m.2"]
    assert {record.model for record in records} == {"m-1"}


def test_the_last_text_carries_the_end_of_a_turn(builder: RecordBuilder) -> None:
    records = list(read_agent_message(builder, ["first", "second", {"type": "hologram", "x": 1}], Stop.ANSWER))
    assert [record.stop for record in records] == [None, Stop.ANSWER, None]
    assert records[-1].kind is Kind.UNKNOWN


@pytest.mark.parametrize("arguments", ['{"path": "."}', {"path": "."}])
def test_a_chat_message_with_tool_calls(builder: RecordBuilder, arguments: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": arguments}}
    message = {"role": "assistant", "reasoning_content": "hm", "content": "I look.", "tool_calls": [call]}
    records = list(read_chat_message(builder, message))
    assert shape(records) == [("reasoning", "hm"), ("assistant_response", "I look."), ("tool_call", "")]
    assert (records[2].tool, records[2].call, records[2].arguments) == ("ls", "c1", {"path": "."})


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"role": "system", "content": "be kind"}, Kind.SYSTEM),
        ({"role": "tool", "tool_call_id": "c1", "content": "out"}, Kind.TOOL_RESPONSE),
        ({"role": "user", "content": "hi"}, Kind.USER_INPUT),
        ({"role": "oracle", "content": "hi"}, Kind.UNKNOWN),
        ({}, Kind.UNKNOWN),
    ],
)
def test_every_role_becomes_something(builder: RecordBuilder, message: dict[str, Any], kind: Kind) -> None:
    assert [record.kind for record in read_chat_message(builder, message)] == [kind]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (["a", {"text": "b"}, {"type": "image_url", "image_url": "data:…"}], "a\nb\n[image_url]"),
        ({"output": {"content": "deep"}}, "deep"),
        ({"odd": 1}, '{"odd":1}'),
        ({}, ""),
        (7, "7"),
        (None, ""),
    ],
)
def test_text_is_found_at_any_depth(content: Any, text: str) -> None:
    assert text_of(content) == text


def test_endless_nesting_is_cut() -> None:
    content: Any = "core"
    for _ in range(500):
        content = [content]
    assert text_of(content) == "[nested too deep]"

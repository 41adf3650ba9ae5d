"""The memory tools as the server lists them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import TextContent

from tests.conftest import Person
from tests.contract.history_client import hints_of
from tests.contract.memory_client import TOKEN, TOOLS, Memory, connect_memory

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with connect_memory(Person(tmp_path_factory.mktemp("memory"))) as client:
        yield client


def test_the_memory_tools_are_listed_with_their_annotations(memory: Memory) -> None:
    listed = memory.tools()
    assert [name for name in listed if name in TOOLS] == TOOLS
    assert {name: hints_of(listed[name]).read_only_hint for name in TOOLS} == {
        "search": True, "get_observations": True, "read": True, "record_observation": False,
    }  # fmt: skip
    assert not any(hints_of(listed[name]).destructive_hint for name in TOOLS)
    for name in TOOLS:
        assert listed[name].input_schema["additionalProperties"] is False
        assert listed[name].output_schema is None, "these tools answer with text"


def test_the_definitions_of_the_memory_tools_cost_less_than_2500_tokens(person: Person) -> None:
    with connect_memory(person, "--toolsets", "memory") as alone:
        tools = alone.portal.call(alone.client.list_tools).tools
    assert [tool.name for tool in tools] == TOOLS
    whole = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
    assert 1_000 < len(whole) / TOKEN < 2_500


def test_the_search_conversation_prompt_tells_a_model_how_to_answer(memory: Memory) -> None:
    (listed,) = memory.portal.call(memory.client.list_prompts).prompts
    assert listed.name == "search-conversation"
    assert [(argument.name, argument.required) for argument in listed.arguments or ()] == [("question", True)]
    question = "why {JWT}, and not %s?"
    got = memory.portal.call(memory.client.get_prompt, "search-conversation", {"question": question})
    (message,) = got.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    for part in (question, "`search`", "`get_observations`", "`read`", "1,000 to 2,000 tokens"):
        assert part in message.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("search-conversation", None, "search-conversation needs these arguments, as text: question"),
        ("search-conversation", {}, "search-conversation needs these arguments, as text: question"),
        ("search-conversation", {"Question": "x"}, "search-conversation needs these arguments, as text: question"),
        ("search-conversations", {"question": "x"}, "Unknown prompt: search-conversations"),
        ("", {"question": "x"}, "Unknown prompt: "),
    ],
)
def test_a_bad_prompt_request_is_refused_with_a_reason(memory: Memory, name: str, arguments: Any, words: str) -> None:
    with pytest.raises(MCPError) as refused:
        memory.portal.call(memory.client.get_prompt, name, arguments)
    assert (refused.value.error.code, refused.value.error.message) == (-32602, words)


def test_without_the_memory_tools_there_is_no_prompt_for_them(person: Person) -> None:
    with connect_memory(person, "--toolsets", "history") as history:
        assert history.portal.call(history.client.list_prompts).prompts == []


@pytest.mark.parametrize("tool", TOOLS)
def test_the_error_for_an_unknown_argument_names_it(memory: Memory, tool: str) -> None:
    assert memory.refusal(tool, start_line=1) == "unknown argument: start_line"
    assert memory.refusal(tool, query="lantern", ids=[], path="/x", title="x", Limit=3).startswith("unknown argument: ")


def test_an_empty_memory_answers_and_says_why_it_is_empty(memory: Memory) -> None:
    empty = "Nothing is indexed yet. Run `recollect sync`, or wait for the first sync to finish."
    assert memory.text("search", query="lantern") == f"No observations found\n\nNote: {empty}"
    assert memory.text("search", query=["lantern", "basket"]) == f"No conversations found\n\nNote: {empty}"
    answer = json.loads(memory.text("search", query="lantern", response_format="json"))
    assert answer == {"results": [], "total": 0, "warnings": [empty]}
    assert memory.refusal("get_observations", ids=["obs-0123456789abcdef"])
    assert memory.refusal("read", path="/nowhere.jsonl") == "File not found"

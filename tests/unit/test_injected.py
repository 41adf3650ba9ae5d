"""Text that an agent wraps around a prompt is removed; text that a person quotes stays."""

import pytest

from recollect.model import Kind, Record, TurnStart
from recollect.sources.codex.text import split_injected
from recollect.sources.formats.injected import separate_context, split_context


@pytest.mark.parametrize(
    ("text", "own", "blocks"),
    [
        ("<hook_context>a</hook_context>\n\nfix it", "fix it", ["<hook_context>a</hook_context>"]),
        ("fix it\n<hook_context>a</hook_context>\n", "fix it", ["<hook_context>a</hook_context>"]),
        ('<hook_prompt hook_run_id="1">a</hook_prompt>\nfix it', "fix it", ['<hook_prompt hook_run_id="1">a</hook_prompt>']),
        ("<session-start-hook>a</session-start-hook>\nfix it", "fix it", ["<session-start-hook>a</session-start-hook>"]),
        ("<system-reminder>a</system-reminder>fix it", "fix it", ["<system-reminder>a</system-reminder>"]),
        ("<hook_context>a</hook_context>", "", ["<hook_context>a</hook_context>"]),
        (
            "<system-reminder>a</system-reminder>\n<hook_context>b</hook_context>\nfix\n\n<system-reminder>c</system-reminder>",
            "fix",
            [
                "<system-reminder>a</system-reminder>",
                "<hook_context>b</hook_context>",
                "<system-reminder>c</system-reminder>",
            ],
        ),
    ],
)
def test_blocks_at_both_ends_are_removed(text: str, own: str, blocks: list[str]) -> None:
    assert split_context(text) == (own, blocks)


@pytest.mark.parametrize(
    "text",
    [
        "Why is there a <hook_context>a</hook_context> in my log?",
        "Why does it end with <hook_context>a</hook_context>",
        "see\n<system-reminder>\na\n</system-reminder>\nwhat is that?",
        "<hook_context> is never closed",
        "<hook>useState</hook> fails",
        "<context>a</context>\nfix it",
        "</hook_context> fix it",
    ],
)
def test_a_quotation_stays_in_the_prompt(text: str) -> None:
    assert split_context(text) == (text, [])


def test_a_block_that_quotes_its_own_tag_ends_where_it_ends() -> None:
    balanced = "<system-reminder>was <system-reminder>x</system-reminder> then</system-reminder>"
    assert split_context(f"{balanced}\nfix it") == ("fix it", [balanced])
    mention = "<system-reminder>mind <system-reminder> tags</system-reminder>"
    assert split_context(f"{mention}\nfix it") == ("fix it", [mention])


def test_any_number_of_blocks_is_read_in_one_pass() -> None:
    text = "<hook_context>" * 100_000 + "</hook_context>" * 50_000 + "fix it"
    assert split_context(text)[0].endswith("fix it")
    own, blocks = split_context(
        "<hook_context>a</hook_context>\n" * 50_000 + "fix it" + "\n<hook_context>a</hook_context>" * 50_000
    )
    assert (own, len(blocks)) == ("fix it", 100_000)


def test_every_source_gets_its_prompts_without_blocks() -> None:
    text = "<hook_context>a</hook_context>\nfix it"
    prompt = Record(session="s", key="s/1", kind=Kind.USER_INPUT, text=text, opens=TurnStart.PROMPT)
    bare = Record(
        session="s", key="s/2", kind=Kind.USER_INPUT, text="<hook_context>a</hook_context>", opens=TurnStart.PROMPT
    )
    answer = Record(session="s", key="s/3", kind=Kind.ASSISTANT_RESPONSE, text=text)
    entries = [entry for entry in separate_context([prompt, bare, answer]) if isinstance(entry, Record)]
    assert [(entry.key, str(entry.kind), entry.opens, entry.text) for entry in entries] == [
        ("s/1", "user_input", TurnStart.PROMPT, "fix it"),
        ("s/1/context.0", "system", TurnStart.NO, "<hook_context>a</hook_context>"),
        ("s/2", "system", TurnStart.NO, "<hook_context>a</hook_context>"),
        ("s/3", "assistant_response", TurnStart.NO, text),
    ]


def test_a_prompt_after_the_blocks_of_codex_stays() -> None:
    block = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"
    assert split_injected(f"{block}\n\nfix it") == ("fix it", [block])
    assert split_injected(block) == ("", [block])
    assert split_injected(f"# AGENTS.md instructions for /w\n\n{block}")[0] == ""

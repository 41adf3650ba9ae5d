"""The line of a prompt that is the title, for all agents; and placeholder titles of agents."""

import pytest

from recollect.title import MAX_SEARCHED, MAX_TITLE, is_placeholder, title_of

PROMPTS = {
    "Fix the oven route": "Fix the oven route",
    "\n\n  Fix the oven route\nIt squeaks.": "Fix the oven route",
    # a line that only introduces
    "Implement the following plan:\n\n# Plan: Add a route bell\n\n## Context\n\nNobody hears us.": "Plan: Add a route bell",
    "Complete assignment thoroughly:\n\nPaint the shed green.": "Paint the shed green.",
    "Please review:\n- the hinge of the route": "the hinge of the route",
    "実装してください：\n\nオーブンの扉を直してください": "オーブンの扉を直してください",
    "Explore how the oven keeps its heat in this kitchen, specifically:\n1. the route": (
        "Explore how the oven keeps its heat in this kitchen, specifically:"
    ),
    # headings
    "# Task\n\nPaint the shed green.": "Paint the shed green.",
    "## Low severity ##\n\nThe hinge is wrapped twice.": "The hinge is wrapped twice.",
    "# Paint the old shed #\n\nIn green.": "Paint the old shed",
    "# Context from my IDE setup:\n\n## My request:\nPaint the shed": "Paint the shed",
    # links
    "https://example.org/issues/12\n\nPaint the shed": "Paint the shed",
    "<https://example.org/issues/12>\nPaint the shed": "Paint the shed",
    "[@heron](https://example.org/heron)\n\ncommented yesterday that the shed is grey": "commented yesterday that the shed is grey",
    "[https://example.org/12](https://example.org/12) paint it": "https://example.org/12 paint it",
    'why does [heron/shed#12](https://example.org/12 "the shed") fail': "why does heron/shed#12 fail",
    "look at ![the shed](shed.png), it is grey": "look at the shed, it is grey",
    "src/shed.py\n\nPaint the shed": "Paint the shed",
    "[Image #1]\nPaint the shed": "Paint the shed",
    # templates and tags
    "[[ ## user_query ## ]]\nPaint the shed\n\n[[ ## completed ## ]]": "Paint the shed",
    "<task>\nPaint the shed\n</task>": "Paint the shed",
    "<user_query>Paint the shed</user_query>": "Paint the shed",
    "<git-context>\nBranch: main\n</git-context>\n\nPaint the shed": "Paint the shed",
    "<div> is grey": "<div> is grey",
    # who the agent is
    "You are a careful painter.\n\nPaint the shed": "Paint the shed",
    "You are assisting the main agent by gathering context.\n\nObjective:\n\nFind the paint": "Find the paint",
    "You are an expert in sheds. Paint the old one green.": "Paint the old one green.",
    "You are wrong about the shed": "You are wrong about the shed",
    "You are a painter, paint the shed": "You are a painter, paint the shed",
    # code and marks
    "```\nmake shed\n```\nfails, why?": "fails, why?",
    "---\nPaint the shed": "Paint the shed",
    "> Paint the shed": "Paint the shed",
    "**Paint** the shed in __init__.py": "Paint the shed in __init__.py",
    'Traceback (most recent call last):\n  File "shed.py", line 8, in <module>\n    paint()\nValueError: grey is not green': (
        "ValueError: grey is not green"
    ),
    "/review 12": "/review 12",
    "/init": "/init",
    "hi": "hi",
    "做吧": "做吧",
}
STAND_INS = {
    "": "",
    "https://example.org/issues/12": "https://example.org/issues/12",
    "[the issue](https://example.org/issues/12)": "the issue",
    "# Task": "Task",
    "You are a careful painter.": "You are a careful painter.",
    "Look at this:": "Look at this:",
    "```\nmake shed\n```": "make shed",
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_title_is_the_first_line_that_names_a_subject(prompt: str) -> None:
    assert title_of(prompt) == (PROMPTS[prompt], True)


@pytest.mark.parametrize("prompt", STAND_INS)
def test_the_first_line_is_the_title_if_no_line_names_a_subject(prompt: str) -> None:
    assert title_of(prompt) == (STAND_INS[prompt], False)


@pytest.mark.parametrize("piece", ["[", "# ", "**a ", "<context>", "a/", "[a](", "漢", "- ", "x: "])
def test_a_prompt_of_any_length_gives_a_short_title(piece: str) -> None:
    title, _ = title_of(piece * 100_000)
    assert len(title) <= MAX_TITLE
    assert title == title_of((piece * 100_000)[:MAX_SEARCHED])[0]


@pytest.mark.parametrize(
    "title", ["New Session", "new chat", "Untitled", "New session - 2026-02-01T10:00:00.000Z", "Chat 3", "Untitled chat"]
)
def test_a_placeholder_is_not_a_title(title: str) -> None:
    assert is_placeholder(title)


@pytest.mark.parametrize(
    "title", ["New session store", "Chat with the oven", "Session expiry", "Untitled documents are lost"]
)
def test_a_title_that_resembles_a_placeholder_stays(title: str) -> None:
    assert not is_placeholder(title)

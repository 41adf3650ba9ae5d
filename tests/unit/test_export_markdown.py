"""A Markdown document shows what a transcript says, and no text of a transcript breaks out of its place."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from recollect.display import neutralise
from recollect.export.fences import SENTINEL, contained, fenced
from tests.library_content import Events, content, document

PARSER = MarkdownIt("commonmark")
MARKUP = st.lists(
    st.sampled_from([*"`~#>-=*_<>[]|\\ \n\t1.", "```", "~~~~", "\n\n", "- ", "1. ", "<!--", "<div>", "text", "    ", "\n# "])
).map("".join)
TEXTS = st.one_of(st.text(max_size=100), MARKUP)


@settings(deadline=None)
@given(TEXTS)
def test_a_fence_cannot_be_closed_by_its_text(text: str) -> None:
    tokens = PARSER.parse(f"{fenced(text, None)[0]}\n{SENTINEL}")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content.rstrip("\n") == neutralise(text).strip("\n").rstrip("\n")


@settings(deadline=None)
@given(TEXTS)
def test_an_answer_ends_where_it_ends_and_stays_below_our_headings(text: str) -> None:
    tokens = PARSER.parse(f"{contained(text, None)[0]}\n\n## Turn 2\n")
    assert [token.type for token in tokens[-3:]] == ["heading_open", "inline", "heading_close"]
    assert tokens[-2].content == "Turn 2"
    assert not [token for token in tokens[:-3] if token.type == "heading_open" and token.tag in ("h1", "h2")]
    assert not [token for token in tokens if token.type == "html_block"]
    assert not [child for token in tokens for child in token.children or () if child.type == "html_inline"]


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_document_has_only_our_headings_of_the_upper_levels(prompt: str, answer: str, output: str) -> None:
    events = Events()
    events.add("user_input", prompt)
    events.add("reasoning", answer)
    events.call(f"Bash {prompt}", output, command=answer, other=output)
    events.add("assistant_response", answer, note=output)
    events.turn = 2
    events.add("user_input", "go on")
    markdown, _ = document("markdown", content(events.all, title=prompt, branch=answer, labels=[output]))
    tokens = PARSER.parse(markdown)
    headings = [tokens[index + 1].content for index, token in enumerate(tokens) if token.tag == "h2" and token.nesting == 1]
    assert headings == ["Turn 1", "Turn 2"]
    blocks = {line for token in tokens if token.type == "html_block" for line in token.content.split("\n") if line}
    assert all(re.match(r"</details>$|<details><summary>.*</summary>$", line) for line in blocks)


@pytest.mark.parametrize(
    "text, markdown",
    [
        ("# Plan\ntext", "### Plan\ntext"),
        ("Plan\n====\ntext", "Plan\n\\====\ntext"),
        ("Plan\n---\ntext", "Plan\n***\ntext"),
        ("a <b>bold</b> `<i>` word", "a \\<b>bold\\</b> `<i>` word"),
        ("see <https://example.org>", "see <https://example.org>"),
        ("```sh\n# not a heading <b>\n```\nafter", "```sh\n# not a heading <b>\n```\nafter"),
        ("```sh\nopen", "```sh\nopen\n```"),
        ("~~~\n```\n~~~", "~~~\n```\n~~~"),
    ],
)
def test_an_answer_keeps_its_form(text: str, markdown: str) -> None:
    assert contained(text, None) == (markdown, False)


def test_a_document_reads_well() -> None:
    events = Events()
    events.add("user_input", "Why is the test flaky?")
    events.call("Bash", "1 failed", command="pytest -q")
    events.call("Edit", "done", file_path="/work/cli/a.py", diff="--- /work/cli/a.py\n+++ /work/cli/a.py\n@@\n-a\n+b\n")
    events.add("assistant_response", "It **sleeps**.")
    markdown, receipt = document("markdown", content(events.all))
    assert "> Why is the test flaky?\n\n" in markdown
    assert (
        "<details><summary><b>Bash</b> pytest -q · exit 0 · 1.2 s</summary>\n\n```\n1 failed\n```\n\n</details>" in markdown
    )
    assert "<b>Edit</b> a.py · +1 −1 · exit 0" in markdown
    assert "```diff\n--- /work/cli/a.py\n" in markdown
    assert "\nIt **sleeps**.\n" in markdown
    assert "- **Agent:** `codex`\n" in markdown
    assert receipt.events == 6
    assert markdown.endswith("1 session, 6 events. No secret was found. Exported by Recollect. Times are in UTC.\n")

"""An HTML document shows what a transcript says, and nothing of a transcript becomes a tag, a script or a request."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from recollect.display import neutralise
from recollect.export.html_text import markdown_html
from tests.library_content import SESSION, Events, content, document

TAGS = set(
    "html head meta title style body header h1 h2 h3 h4 h5 h6 nav b ol ul li a span dl dt dd main div p details summary code"
    " pre i ins del strong em s br blockquote table thead tbody tr th td hr footer".split()
)
OWN_ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "aria-label", "class", "id", "value", "rel", "start"}
MARKUP = st.lists(
    st.sampled_from(
        [
            *"<>&\"'`*_[]()!#|~-+=\\/ \n\t:;.x1é😀\x1b\u202e\x00",
            "<script>",
            "](javascript:x)",
            "](http://a.b)",
            "<!--",
            "]]>",
        ]
    )
).map("".join)
TEXTS = st.one_of(st.text(max_size=200), MARKUP)


class Parsed(HTMLParser):
    """The tags, the addresses and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self.comments: list[str] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses += [value or "" for name, value in attrs if name == "href"]

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def text(self) -> str:
        return "".join(self._texts)


def in_one_line(text: str) -> str:
    return " ".join(neutralise(text).split())


@settings(deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_becomes_markup(prompt: str, answer: str, argument: str, output: str) -> None:
    events = Events()
    events.add("user_input", prompt)
    events.add("system", argument)
    events.add("reasoning", output)
    events.call(f"Bash{argument}", output, command=argument, other=prompt)
    events.call("Edit", output, file_path=argument, diff=f"--- {prompt}\n+++ {prompt}\n@@\n-{argument}\n+{output}\n")
    events.add("runtime", output)
    events.add("assistant_response", answer, note=argument)
    names = {
        "title": prompt,
        "folder": argument,
        "branch": output,
        "models": [answer],
        "labels": [prompt],
        "native_id": answer,
    }
    html, _ = document("html", content(events.all, **names))
    page = Parsed(html)
    assert page.tags <= TAGS
    assert page.attributes <= OWN_ATTRIBUTES | {"href"}
    assert all(re.match(r"#|https?://|mailto:", address, re.IGNORECASE) for address in page.addresses)
    assert page.comments == []
    assert in_one_line(output) in in_one_line(page.text())
    assert in_one_line(argument) in in_one_line(page.text())


@settings(deadline=None)
@given(TEXTS)
def test_markdown_has_no_address_but_of_the_web_and_of_mail(text: str) -> None:
    page = Parsed(markdown_html(text, None)[0])
    assert page.tags <= TAGS
    assert page.attributes <= {"href", "rel", "class", "start"}
    assert all(re.match(r"https?://|mailto:", address, re.IGNORECASE) for address in page.addresses)


@pytest.mark.parametrize(
    "markdown, html",
    [
        ("# Plan", "<h3>Plan</h3>"),
        (
            "- [a](https://example.org/?a=1&b=2)",
            '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer">a</a>',
        ),
        ("[a](javascript:alert(1))", "<span>a</span>"),
        ("[a](src/main.py)", "<span>a</span>"),
        ("![a tree](https://example.org/a.png)", "[image: a tree]"),
        ("<b onclick=x>hi</b>", "&lt;b onclick=x&gt;hi&lt;/b&gt;"),
        ("```html\n<b>\n```", "<pre>&lt;b&gt;</pre>"),
        ("|a|\n|-:|\n|1|", '<td class="right">1</td>'),
        ("one\ntwo", "one<br />\ntwo"),
    ],
)
def test_markdown_is_formatted(markdown: str, html: str) -> None:
    assert html in markdown_html(markdown, None)[0]


def test_a_page_asks_for_nothing_and_runs_nothing() -> None:
    html, _ = document("html", content([]))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert not re.search(r"<script|<link|<img|<iframe|url\(|@import|https?:", html)


def test_a_call_is_one_line_with_its_result_inside() -> None:
    events = Events()
    events.call("Bash", "2 passed", command="pytest -q")
    html, _ = document("html", content(events.all))
    assert "<summary><b>Bash</b> <code>pytest -q</code><i>exit 0</i><i>1.2 s</i></summary>" in html
    assert '</summary>\n<pre id="e1">2 passed</pre>' in html


def test_long_outputs_are_cut_and_the_cut_is_said() -> None:
    events = Events()
    for _ in range(500):
        events.call("Bash", "line of output\n" * 1_000 + "the error at the end", command="make")
    html, receipt = document("html", content(events.all))
    assert len(html.encode()) <= 1_000_000
    assert receipt.texts_shortened == 500
    assert re.search(r'<i class="cut">[\d,]+ characters left out</i>', html)
    assert html.count("the error at the end") == 500
    whole, receipt = document("html", content(events.all), is_full=True)
    assert receipt.texts_shortened == 0
    assert len(whole) > 7_000_000


@pytest.mark.parametrize("letter", ["a", "<", '"', "😀", "`", "*a* ", "- x\n"])
@pytest.mark.parametrize("type", ["user_input", "assistant_response", "tool_response", "reasoning", "system"])
def test_1000_events_take_at_most_1_mb(type: str, letter: str) -> None:  # noqa: A002
    events = Events()
    for number in range(1_000):
        events.turn = 1 + number // 2
        events.add(type, letter * (20_000 // len(letter)))
    html, _ = document("html", content(events.all))
    assert len(html.encode()) <= 1_000_000


def test_several_sessions_have_anchors_of_their_own() -> None:
    events = Events()
    events.add("user_input", "one")
    events.turn = 2
    events.add("user_input", "two")
    first, second = content(events.all), content(events.all)
    second = replace(second, session=replace(SESSION, id="session:other"))
    html, receipt = document("html", first, second, title="Found: retry")
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', html)) <= set(ids)
    assert receipt.sessions == 2

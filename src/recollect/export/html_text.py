"""Text of transcripts as HTML: escaped, or formatted from Markdown without any HTML of its own.

Nothing of a transcript becomes a tag, an attribute other than a link's address, or a request: images are shown as their
descriptions, and only addresses of the web and of mail become links.
"""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from recollect.display import neutralise
from recollect.export.length_limits import Cut, cut_text, short_label

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINKED = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
DEEPER = 2  # levels: the document's title and its turns have the first two
MAX_MARKDOWN = 400_000  # characters: formatting more would take seconds
ALIGNED = {"text-align:right": "right", "text-align:center": "center"}
CUT_NOTE = "{count:,} characters left out"


def text_html(text: str) -> str:
    """A text that can stand between tags, but not inside one."""
    return escape(neutralise(text), quote=False)


def label_html(text: str, size: int) -> str:
    """The first line of a text as HTML, in about `size` bytes."""
    html = text_html(short_label(text, size))
    return html if len(html) <= size + size // 2 else text_html(short_label(text, size * size // len(html)))


def cut_html(text: str, limit: int | None, *, tail: float = 0.0) -> tuple[str, bool]:
    """A text as HTML, with a note in place of what was left out, and whether anything was."""
    cut = cut_text(text, limit, tail=tail)
    if not cut.left_out:
        return text_html(cut.head), False
    return f"{text_html(cut.head)}\n{_note(cut)}\n{text_html(cut.tail)}".rstrip("\n"), True


def markdown_html(text: str, limit: int | None) -> tuple[str, bool]:
    """Markdown as HTML, and whether it was cut."""
    cut = cut_text(text, MAX_MARKDOWN if limit is None else min(limit, MAX_MARKDOWN))
    rendered: str = _parser().render(neutralise(cut.head))
    return (f"{rendered}<p>{_note(cut)}</p>" if cut.left_out else rendered).rstrip("\n"), bool(cut.left_out)


def _note(cut: Cut) -> str:
    return f'<i class="cut">{CUT_NOTE.format(count=cut.left_out)}</i>'


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 25 ms of CPU, which only documents need

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign] # `_link_open` decides; the text is shown anyway
    for name, rule in RULES.items():
        parser.add_render_rule(name, rule)
    return parser


# ---- how tokens of Markdown are written; attributes are our own, or a link's address


def _link_open(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    address = str(tokens[index].attrGet("href") or "")
    return f'<a href="{escape(address)}" rel="noopener noreferrer">' if LINKED.match(address) else "<span>"


def _link_close(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    opening = next(token for token in reversed(tokens[:index]) if token.type == "link_open")  # links do not nest
    return "</a>" if LINKED.match(str(opening.attrGet("href") or "")) else "</span>"


def _image(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    return f"[image: {escape(tokens[index].content, quote=False)}]"


def _heading_open(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    return f"<{_heading(tokens[index])}>"


def _heading_close(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    return f"</{_heading(tokens[index])}>\n"


def _code(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    return f"<pre>{escape(tokens[index].content.rstrip(), quote=False)}</pre>\n"


def _cell(renderer: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    name = ALIGNED.get(str(tokens[index].attrGet("style")))
    return f'<{tokens[index].tag} class="{name}">' if name else f"<{tokens[index].tag}>"


RULES = {
    "link_open": _link_open,
    "link_close": _link_close,
    "image": _image,
    "heading_open": _heading_open,
    "heading_close": _heading_close,
    "fence": _code,
    "code_block": _code,
    "th_open": _cell,
    "td_open": _cell,
    "table_open": lambda *_: '<div class="table"><table>\n',
    "table_close": lambda *_: "</table></div>\n",
}


def _heading(token: "Token") -> str:
    return f"h{min(6, int(token.tag[1:]) + DEEPER)}"


def diff_html(diff: str, limit: int | None) -> tuple[str, bool]:
    """A diff with coloured lines, and whether it was cut. Lines of the same kind are one element."""
    cut = cut_text(diff.rstrip("\n"), limit)
    parts: list[str] = []
    lines = neutralise(cut.head).split("\n")
    start = 0
    for end in range(1, len(lines) + 1):
        if end < len(lines) and _line_tag(lines[end]) == _line_tag(lines[start]):
            continue
        tag = _line_tag(lines[start])
        text = escape("\n".join(lines[start:end]), quote=False)
        parts.append(f"<{tag}>{text}</{tag}>" if tag else text)
        start = end
    if cut.left_out:
        parts.append(_note(cut))
    return "\n".join(parts), bool(cut.left_out)


def _line_tag(line: str) -> str:
    if line.startswith(("--- ", "+++ ", "@@")):
        return "b"
    return {"+": "ins", "-": "del"}.get(line[:1], "")

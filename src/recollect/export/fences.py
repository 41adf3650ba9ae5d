"""Markdown that the text of a transcript cannot break out of."""

import re
from functools import cache
from typing import TYPE_CHECKING

from recollect.display import code_span, neutralise, one_line
from recollect.export.length_limits import cut_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BACKTICKS = re.compile("`+")
FENCE = re.compile(r" {0,3}(?:[-*+>]\s+|\d+[.)]\s+|\s)*(?P<mark>`{3,}|~{3,})(?P<rest>.*)")
HEADING = re.compile(r"(?P<indent> {0,3})(?P<mark>#{1,6})(?=\s|$)")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
TAG = re.compile(r"<(?=[A-Za-z/!?])(?!https?://)")
CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
DEEPER = 2  # levels: the document's own headings are above
DEEPEST = 6
SENTINEL = "the end of the text"
LAST_PARAGRAPH = ["paragraph_open", "inline", "paragraph_close"]


def fenced(text: str, limit: int | None, *, language: str = "", tail: float = 0.0) -> tuple[str, bool]:
    """A code block with a fence that is longer than any in the text, and whether the text was cut."""
    cut = cut_text(neutralise(text).strip("\n"), limit, tail=tail)
    shown = f"{cut.head}\n… {cut.left_out:,} characters left out …\n{cut.tail}".rstrip("\n") if cut.left_out else cut.head
    longest = max((len(run) for run in BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}\n", bool(cut.left_out)


def contained(text: str, limit: int | None) -> tuple[str, bool]:
    """Markdown of an answer that stays below the document's headings, and whether it was cut.

    Open fences are closed, headings get lower, and HTML is shown as text. What would still escape becomes a code block.
    """
    cut = cut_text(neutralise(text).strip("\n"), limit)
    markdown = _closed(cut.head)
    if not _stays_inside(markdown):
        markdown = fenced(cut.head, None)[0].rstrip("\n")
    if cut.left_out:
        markdown += f"\n\n*… {cut.left_out:,} characters left out*"
    return markdown, bool(cut.left_out)


def _closed(text: str) -> str:
    """The text with lower headings, without tags, and with its fences closed."""
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence:
            lines.append(line)
            if match and match["mark"].startswith(fence) and not match["rest"].strip():
                fence = ""
        elif match and not (match["mark"].startswith("`") and "`" in match["rest"]):
            lines.append(line)
            fence = match["mark"]
        else:
            lines.append(_contained_line(line))
    return "\n".join([*lines, fence] if fence else lines)


def _stays_inside(markdown: str) -> bool:
    """Whether what follows this Markdown is not part of it, and it has no tag and no heading of an upper level."""
    tokens = _parser().parse(f"{markdown}\n\n{SENTINEL}\n")
    if [token.type for token in tokens[-3:]] != LAST_PARAGRAPH or tokens[-2].content != SENTINEL or tokens[-3].level:
        return False
    for token in tokens:
        if token.type == "html_block" or (token.type == "heading_open" and int(token.tag[1:]) <= DEEPER):
            return False
        if any(child.type == "html_inline" for child in token.children or ()):
            return False
    return True


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # 25 ms of CPU, which only documents need

    return MarkdownIt("commonmark")


def _contained_line(line: str) -> str:
    """A line outside of code, without headings of the upper levels and without tags."""
    if UNDERLINE.match(line):  # it would make the line above a heading; a rule is drawn by another mark
        return "***" if "---" in line else f"\\{line.lstrip()}" if line.strip() else line
    line = HEADING.sub(lambda match: match["indent"] + "#" * min(DEEPEST, len(match["mark"]) + DEEPER), line)
    parts, start = list[str](), 0
    for span in CODE_SPAN.finditer(line):
        parts += [TAG.sub(r"\\<", line[start : span.start()]), span[0]]
        start = span.end()
    return "".join([*parts, TAG.sub(r"\\<", line[start:])])


def summary_html(text: str) -> str:
    """A line for a `<summary>`: no tag, and no mark that Markdown would format."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_~\[\]|])", r"\\\1", escaped)


def field(name: str, value: str) -> str:
    """A line of facts. Values are code spans, so that nothing in them is formatted."""
    return f"- **{name}:** {code_span(value)}\n"

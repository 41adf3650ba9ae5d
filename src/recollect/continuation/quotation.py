"""Quotes text of a transcript for a model: every line is marked, nothing looks like our own text, long texts are cut."""

import re
from collections.abc import Sequence

from recollect.display import MARK, neutralise, one_line, quote

AGENT_TAG = re.compile(  # tags in which agents get instructions, calls and results; others are code, which stays as it is
    r"<(?=/?[\w.:-]*(?:system|reminder|instruction|hook|context|command|notification|function|tool|invoke|antml|assistant|human"
    r"|user|permission|agent))",
    re.IGNORECASE,
)
LEFT_OUT = "[{count:,} characters left out]"  # our own line, so it has no mark
MIN_CUT = 120  # characters: a shorter rest of a text says nothing
HEAD_PERCENT = 60  # of a cut text that come from its beginning
MAX_ITEM = 360  # characters of an item of a list: a request and its outcome


def quote_text(text: str) -> str:
    """A text as a quotation."""
    return quote(_without_agent_tags(text.strip()))


def quote_within(text: str, length: int) -> str:
    """A text as a quotation of at most so many characters. Its middle is cut; empty if nothing useful fits."""
    text = _without_agent_tags(neutralise(text.strip()))
    quoted = quote(text)
    if len(quoted) <= length:
        return quoted
    room = length - len(LEFT_OUT) - 2 * len(MARK) - 12  # the number, and two line breaks
    if room < MIN_CUT:
        return ""
    head_room = room * HEAD_PERCENT // 100
    head = _cut_end(text, head_room)
    tail = _cut_start(text[len(head) :], room - len(quote(head)))
    left_out = LEFT_OUT.format(count=len(text) - len(head) - len(tail))
    return "\n".join(part for part in (quote(head), left_out, quote(tail) if tail.strip() else "") if part)


def list_lines(items: Sequence[str]) -> list[str]:
    """The quoted lines of a list, one per item."""
    return [f"{MARK}- {_without_agent_tags(one_line(item, MAX_ITEM))}" for item in items]


def _without_agent_tags(text: str) -> str:
    return AGENT_TAG.sub("&lt;", text)


def _cut_end(text: str, room: int) -> str:
    """The beginning of a text that is not longer than this when quoted, cut at a line or at a word."""
    end, used = 0, 0
    for line in text.splitlines(keepends=True):
        if used + len(line) + len(MARK) > room:
            break
        end, used = end + len(line), used + len(line) + len(MARK)
    if used >= room // 2:
        return text[:end]
    cut = text[: max(0, end + room - used - len(MARK))]
    return cut[: cut.rfind(" ")] if " " in cut[len(cut) // 2 :] else cut


def _cut_start(text: str, room: int) -> str:
    """The end of a text that is not longer than this when quoted, cut at a line or at a word."""
    start, used = len(text), 0
    for line in reversed(text.splitlines(keepends=True)):
        if used + len(line) + len(MARK) > room:
            break
        start, used = start - len(line), used + len(line) + len(MARK)
    if used >= room // 2:
        return text[start:]
    cut = text[min(len(text), max(0, start - (room - used - len(MARK)))) :]
    return cut[cut.find(" ") + 1 :] if " " in cut[: len(cut) // 2] else cut

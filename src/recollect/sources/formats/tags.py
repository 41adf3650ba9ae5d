"""Finds blocks between tags, `<name>…</name>`, in one pass over a text.

A regular expression such as `<(think)>(.*?)</\\1>` searches the rest of the text again for every opening tag without a
closing tag. A text with only opening tags then takes hours.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

CLOSING = re.compile(r"</([\w-]+)>")


class Block(NamedTuple):
    start: int
    end: int
    name: str
    text: str  # the text between the tags


def find_blocks(text: str, opening: re.Pattern[str]) -> Iterator[Block]:
    """Every block whose opening tag matches. Group 1 is its name; it ends at the next closing tag of that name."""
    if "</" not in text:
        return
    closings: dict[str, list[int]] = {}
    for closing in CLOSING.finditer(text):
        closings.setdefault(closing[1], []).append(closing.start())
    place = 0
    while tag := opening.search(text, place):
        name, start = tag[1], tag.end()
        ends = closings.get(name, [])
        first = bisect_left(ends, start)
        place = start
        if first < len(ends):
            place = ends[first] + len(name) + 3
            yield Block(tag.start(), place, name, text[start : ends[first]])


def without_blocks(text: str, opening: re.Pattern[str]) -> str:
    """The text without such blocks."""
    return "".join(around_blocks(text, opening))


def break_at_blocks(text: str, opening: re.Pattern[str]) -> str:
    """The text, with each such block and the space around it replaced by a line break."""
    first, *others = around_blocks(text, opening)
    if not others:
        return first
    *middle, last = others
    return "\n".join([first.rstrip(), *(part.strip() for part in middle), last.lstrip()])


def around_blocks(text: str, opening: re.Pattern[str]) -> list[str]:
    """The texts before, between and after such blocks."""
    parts, place = [], 0
    for block in find_blocks(text, opening):
        parts.append(text[place : block.start])
        place = block.end
    return [*parts, text[place:]]

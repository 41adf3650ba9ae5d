"""Separates a person's prompt from the blocks that an agent adds around it: a hook's context, a reminder.

A block is everything from an opening tag to its closing tag. Only blocks at the start or the end of a text count as
injected. At the end, a hook's block must begin a line. A tag in the middle of a text is a quotation and stays in the text.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

import msgspec

from recollect.model import Entry, Kind, Record, TurnStart

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z_-]{3,39})(?:\s[^<>]{0,400})?>")
REMINDERS = ("system-reminder", "system_reminder")
SEPARATOR = re.compile(r"[-_]")

IsTag = Callable[[str], bool]


def is_hook_tag(name: str) -> bool:
    """Whether a hook or a reminder is wrapped in this tag: `hook_context`, `session-start-hook`, `system-reminder`."""
    return name in REMINDERS or ("hook" in (words := SEPARATOR.split(name.lower())) and len(words) > 1)


def split_context(text: str, is_tag: IsTag = is_hook_tag) -> tuple[str, list[str]]:
    """The text without the blocks at its start and end, and those blocks in order."""
    if "</" not in text:
        return text, []
    tags = _Tags(text, is_tag)
    start, end = _skip_space(text, 0), _skip_space_back(text, len(text))
    head: list[str] = []
    tail: list[str] = []
    while start < end and (after := tags.end_of(start)):
        head.append(text[start:after])
        start = _skip_space(text, after)
    while start < end and (before := tags.start_of(end)) is not None and before >= start and _begins_line(text, before):
        tail.append(text[before:end])
        end = _skip_space_back(text, before)
    if not head and not tail:
        return text, []
    return text[start:end], head + tail[::-1]


class _Tags:
    """The offsets at which the blocks of a text begin and end, found in one pass."""

    def __init__(self, text: str, is_tag: IsTag) -> None:
        self._names: dict[int, str] = {}
        self._closings: dict[str, list[int]] = {}
        self._end: dict[int, int] = {}
        self._start: dict[int, int] = {}
        open_tags: dict[str, list[int]] = {}
        for tag in TAG.finditer(text):
            name = tag[2]
            if not is_tag(name):
                continue
            if not tag[1]:
                self._names[tag.start()] = name
                open_tags.setdefault(name, []).append(tag.start())
                continue
            self._closings.setdefault(name, []).append(tag.end())
            if open_tags.get(name):
                start = open_tags[name].pop()
                self._end[start], self._start[tag.end()] = tag.end(), start

    def end_of(self, start: int) -> int | None:
        """The end of the block that begins here: its own closing tag, else the next one of that name."""
        if start in self._end or start not in self._names:
            return self._end.get(start)
        closings = self._closings.get(self._names[start], [])
        place = bisect_left(closings, start)
        return closings[place] if place < len(closings) else None

    def start_of(self, end: int) -> int | None:
        return self._start.get(end)


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _skip_space_back(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _begins_line(text: str, start: int) -> bool:
    """Whether a block at the end begins a line: otherwise a sentence quotes it. A reminder needs no line break."""
    return "\n" in text[_skip_space_back(text, start) : start] or text.startswith(REMINDERS, start + 1)


def separate_context(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries. The blocks around a prompt become system records after the prompt."""
    for entry in entries:
        if isinstance(entry, Record) and entry.kind is Kind.USER_INPUT and "</" in entry.text:
            yield from _split_prompt(entry)
        else:
            yield entry


def _split_prompt(record: Record) -> Iterator[Record]:
    own, blocks = split_context(record.text)
    if blocks and not own:
        record.kind, record.opens = Kind.SYSTEM, TurnStart.NO
        blocks = []
    elif blocks:
        record.text = own
    yield record
    for number, block in enumerate(blocks):
        yield msgspec.structs.replace(
            record,
            key=f"{record.key}/context.{number}",
            kind=Kind.SYSTEM,
            text=block,
            opens=TurnStart.NO,
            stop=None,
            usage=None,
        )

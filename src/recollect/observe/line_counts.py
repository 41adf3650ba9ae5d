"""Counts the lines that an edit adds and removes, as a minimal diff of the old and the new text does."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

MAX_CELLS = 25_000_000  # lines of the old text times lines of the new one: counting these takes 20 ms
NUMBERED = "@@ -"  # begins the header of a hunk that a program wrote


def line_count(text: str) -> int:
    """The lines of a text. A line break at the end does not begin another line."""
    return text.count("\n") + (text[-1:] not in {"", "\n"})


def changed_lines(old: str, new: str) -> tuple[int, int] | None:
    """(added, removed) lines if a text replaces another one; None if the texts are too long to compare.

    Agents replace whole lines far more often than parts, so a text that is removed entirely takes its lines along.
    """
    if old == new:
        return 0, 0
    if not new:
        return 0, line_count(old)
    if not old:
        return line_count(new), 0
    if "\n" not in old and "\n" not in new:
        return 1, 1
    return _compare(old.split("\n"), new.split("\n"))


def patched_lines(lines: Sequence[str]) -> tuple[int, int]:
    """(added, removed) lines of hunks. A hunk without line numbers is a model's: it may remove lines and add them again."""
    added = removed = 0
    for header, hunk in _hunks(lines):
        old = [line[1:] for line in hunk if line[:1] != "+"]
        new = [line[1:] for line in hunk if line[:1] != "-"]
        counts = None if header.startswith(NUMBERED) else _compare(old, new)
        added += sum(line[:1] == "+" for line in hunk) if counts is None else counts[0]
        removed += sum(line[:1] == "-" for line in hunk) if counts is None else counts[1]
    return added, removed


def _hunks(lines: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """(header, lines) of each hunk. Lines before the first header are a hunk too."""
    starts = [place for place, line in enumerate(lines) if line[:1] == "@"]
    if not starts or starts[0] > 0:
        yield "", lines[: starts[0]] if starts else lines
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start], lines[start + 1 : end]


def _compare(old: Sequence[str], new: Sequence[str]) -> tuple[int, int] | None:
    shortest = min(len(old), len(new))
    start = 0
    while start < shortest and old[start] == new[start]:
        start += 1
    end = 0
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if not old or not new:
        return len(new), len(old)
    if len(old) * len(new) > MAX_CELLS:
        return None
    common = _common_lines(old, new)
    return len(new) - common, len(old) - common


def _common_lines(old: Sequence[str], new: Sequence[str]) -> int:
    """The length of the longest common subsequence, by one bit per line of the old text (Hyyrö 2004)."""
    positions: dict[str, int] = {}
    for place, line in enumerate(old):
        positions[line] = positions.get(line, 0) | 1 << place
    every = (1 << len(old)) - 1
    unmatched = every
    for line in new:
        if matches := positions.get(line):
            used = unmatched & matches
            unmatched = (unmatched + used | unmatched - used) & every
    return len(old) - unmatched.bit_count()

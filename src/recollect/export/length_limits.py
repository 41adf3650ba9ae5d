"""How much of each text a document shows, so that 1,000 events take at most 1 MB.

The limits of a session are the largest that fit: short sessions are whole, and in long ones only long outputs are cut.
"""

from collections import Counter
from collections.abc import Sequence
from math import inf

from msgspec import Struct

from recollect.label import label

BYTES_PER_EVENT = 1_000
MIN_EVENTS = 1_000  # a shorter session may use as much as one with so many
FRAME = 24_000  # bytes of the style, the header and the receipt
MARKUP = 260  # bytes around the text of an event, and its part of the outline
EXPANSION = 1.2  # times that a text grows when it is escaped and formatted
PLAN_AGAIN = 64  # events after which the limits are computed again, from what was written so far
HALVINGS = 24  # of the interval in which the best limit is searched
MAX_SHARE = 1_000_000.0  # bytes: no text needs a larger limit
WEIGHTS = {  # the limit of a type, in shares: what was said matters more than what a tool printed
    "user_input": 12.0,
    "assistant_response": 16.0,
    "compaction": 2.0,
    "reasoning": 2.0,
    "tool_call": 3.0,
    "tool_response": 2.0,
    "system": 1.0,
    "runtime": 0.5,
    "unknown": 0.5,
}
LEAST = 80  # bytes of a text that are always shown


class LengthLimits:
    """The limits of one session's texts. They are adjusted while the document is written."""

    def __init__(self, sizes: Sequence[tuple[str, int]], budget: int) -> None:
        """`sizes`: the type and the length in bytes of each event, in order."""
        self._sizes = sizes
        self._rest = Counter((type, _rounded(size)) for type, size in sizes)  # noqa: A001
        self._position = 0
        self._left = budget
        self._expected = self._written = 1.0
        self._plan()

    def limit(self, type: str) -> int | None:  # noqa: A002
        """How many bytes of a text of this type are shown; None: all."""
        return None if self._share == inf else max(LEAST, int(self._share * WEIGHTS.get(type, 1.0)))

    def wrote(self, events: int, size: int) -> None:
        """Note that so many bytes were written: for the next events, or for what is around them."""
        for type, length in self._sizes[self._position : self._position + events]:  # noqa: A001
            self._rest[type, _rounded(length)] -= 1
            self._expected += MARKUP + EXPANSION * min(length, self._share * WEIGHTS.get(type, 1.0))
        before = self._position // PLAN_AGAIN
        self._position += events
        self._left -= size
        self._written += size if events else 0
        if self._position // PLAN_AGAIN != before or not events:
            self._plan()

    def _plan(self) -> None:
        growth = max(1.0, self._written / self._expected)  # what the text of this session needs more than others
        budget = (self._left / growth - MARKUP * (len(self._sizes) - self._position)) / EXPANSION
        low, high = 0.0, inf if self._needed(inf) <= budget else MAX_SHARE
        for _ in range(HALVINGS if high != inf else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if self._needed(middle) <= budget else (low, middle)
        self._share = inf if high == inf else low

    def _needed(self, share: float) -> float:
        """The bytes that all further texts take with this share."""
        return sum(count * min(size, share * WEIGHTS.get(type, 1.0)) for (type, size), count in self._rest.items())  # noqa: A001


def _rounded(size: int) -> int:
    """A length rounded up by at most an eighth, so that equal ones can be counted."""
    shift = max(0, size.bit_length() - 4)
    return -(-size >> shift) << shift


def budget_of(events: int, all_events: int) -> int:
    """The bytes that a session may have in a document with so many events."""
    return BYTES_PER_EVENT * max(events, MIN_EVENTS * events // max(1, all_events)) - FRAME


class Cut(Struct, frozen=True):
    """A text without its middle."""

    head: str
    left_out: int
    tail: str


def cut_text(text: str, limit: int | None, *, tail: float = 0.0) -> Cut:
    """At most `limit` bytes of a text, cut at line ends where possible. `tail` is the part shown of its end."""
    if limit is None or (limit := _characters(text, limit)) >= len(text):
        return Cut(text, 0, "")
    last = int(limit * tail)
    head, end = text[: limit - last], text[len(text) - last :] if last else ""
    line_end, line_start = head.rfind("\n"), end.find("\n") + 1
    head = head[:line_end] if line_end > len(head) // 2 else head
    end = end[line_start:] if 0 < line_start < len(end) // 2 else end
    return Cut(head, len(text) - len(head) - len(end), end)


def short_label(text: str, size: int) -> str:
    """The first line of a text, in about `size` bytes."""
    line = label(text, size)
    return line if line.isascii() else label(line, max(8, _characters(line, size + size // 2)))


def _characters(text: str, size: int) -> int:
    """How many characters of a text take so many bytes."""
    return size if text.isascii() else max(1, size * len(text) // len(text.encode("utf-8", "replace")))

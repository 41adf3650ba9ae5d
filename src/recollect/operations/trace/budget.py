"""Cutting an answer to a size: first its texts, then what stands in the middle. How it began and how it ended stays."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

SCALES = tuple(1 << power for power in range(11))  # texts are cut by a half, and a half again, before anything is left out
Shown = dict[str, Any]
Render = Callable[[int, int], Shown]  # the turn at a place, its texts cut by a scale


class Fitted(Struct):
    """The turns that are shown, as JSON. `left_out` counts those that are not."""

    turns: list[Raw]
    left_out: int = 0
    is_cut: bool = False


def fitted(count: int, render: Render, room: int, cut_room: int) -> Fitted:
    """As much of so many turns as goes into so many bytes; they are fewer where it has to be said that something is cut."""
    whole = _all(count, render, SCALES[0], room)
    if whole is not None:
        return Fitted(whole)
    cut = _cut(count, render, cut_room)
    if cut is not None:
        return Fitted(cut, is_cut=True)

    def shown(place: int, left: int) -> Raw:
        """A turn that is not the only one leaves half of the room to the others."""
        return _encoded(_without_middle(render(place, SCALES[-1]), left if count == 1 else left // 2))

    first, last = _ends(count, shown, cut_room)
    return Fitted([*first, *reversed(last)], count - len(first) - len(last), is_cut=True)


def _cut(count: int, render: Render, room: int) -> list[Raw] | None:
    """Every turn, its texts cut by the smallest scale that will do; None where the largest will not."""
    low, high = 1, len(SCALES) - 1
    shown = _all(count, render, SCALES[high], room)
    while shown is not None and low < high:
        middle = (low + high) // 2
        if (longer := _all(count, render, SCALES[middle], room)) is None:
            low = middle + 1
        else:
            shown, high = longer, middle
    return shown


def _all(count: int, render: Render, scale: int, room: int) -> list[Raw] | None:
    """Every turn, or None as soon as they are too many bytes."""
    shown = []
    room += 1  # there is no comma behind the last
    for place in range(count):
        shown.append(_encoded(render(place, scale)))
        room -= _size(shown[-1])
        if room < 0:
            return None
    return shown


def _ends(count: int, take: Callable[[int, int], Raw], room: int) -> tuple[list[Raw], list[Raw]]:
    """Two from the beginning for one from the end, until the next does not fit. The last are in reversed order."""
    first: list[Raw] = []
    last: list[Raw] = []
    while len(first) + len(last) < count:
        at_end = len(last) * 2 < len(first)
        one = take(count - 1 - len(last) if at_end else len(first), room)
        room -= _size(one)
        if room < 0:
            break
        (last if at_end else first).append(one)
    return first, last


def _without_middle(turn: Shown, room: int) -> Shown:
    """A turn without so many of its steps that it fits, if leaving out steps can make it fit."""
    steps: Sequence[Shown] | None = turn.get("steps")
    if steps is None or _size(_encoded(turn)) <= room:
        return turn
    left = room - _size(_encoded({**turn, "steps": [], "steps_left_out": len(steps)}))
    first, last = _ends(len(steps), lambda place, _: _encoded(steps[place]), left)
    return {**turn, "steps": [*first, *reversed(last)], "steps_left_out": len(steps) - len(first) - len(last)}


def _encoded(value: Shown) -> Raw:
    return Raw(msgspec.json.encode(value))


def _size(encoded: Raw) -> int:
    return len(bytes(encoded)) + 1  # and the comma behind it

"""Cuts an answer to a size: first its texts, then turns and steps in the middle. The beginning and the end stay."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

SCALES = tuple(1 << power for power in range(11))  # divisors of text lengths: texts are halved again and again first
Turn = dict[str, Any]
Render = Callable[[int, int], Turn]  # (index, scale) -> the turn at the index, with its texts cut by the scale


class FittedTurns(Struct):
    """The turns that fit, as JSON. `left_out` counts the others."""

    turns: list[Raw]
    left_out: int = 0
    is_cut: bool = False


def fit_turns(count: int, render: Render, room: int, cut_room: int) -> FittedTurns:
    """As much of `count` turns as fits into `room` bytes; into `cut_room`, if the answer has to say that it is cut."""
    uncut = _render_all(count, render, SCALES[0], room)
    if uncut is not None:
        return FittedTurns(uncut)
    cut = _cut_texts(count, render, cut_room)
    if cut is not None:
        return FittedTurns(cut, is_cut=True)

    def render_smallest(index: int, room: int) -> Raw:
        """A turn takes at most half of the room, unless it is the only one."""
        return _encode(_leave_out_steps(render(index, SCALES[-1]), room if count == 1 else room // 2))

    first, last = _take_ends(count, render_smallest, cut_room)
    return FittedTurns([*first, *reversed(last)], count - len(first) - len(last), is_cut=True)


def _cut_texts(count: int, render: Render, room: int) -> list[Raw] | None:
    """All turns, with their texts cut by the smallest scale that fits; None if the largest does not fit."""
    low, high = 1, len(SCALES) - 1
    turns = _render_all(count, render, SCALES[high], room)
    while turns is not None and low < high:
        middle = (low + high) // 2
        if (longer := _render_all(count, render, SCALES[middle], room)) is None:
            low = middle + 1
        else:
            turns, high = longer, middle
    return turns


def _render_all(count: int, render: Render, scale: int, room: int) -> list[Raw] | None:
    """All turns; None as soon as they need more bytes than there is room."""
    turns = []
    room += 1  # no comma follows the last one
    for index in range(count):
        turns.append(_encode(render(index, scale)))
        room -= _size(turns[-1])
        if room < 0:
            return None
    return turns


def _take_ends(count: int, render: Callable[[int, int], Raw], room: int) -> tuple[list[Raw], list[Raw]]:
    """Two items from the beginning for each one from the end, until the next does not fit; the last in reversed order."""
    first: list[Raw] = []
    last: list[Raw] = []
    while len(first) + len(last) < count:
        is_from_end = len(last) * 2 < len(first)
        item = render(count - 1 - len(last) if is_from_end else len(first), room)
        room -= _size(item)
        if room < 0:
            break
        (last if is_from_end else first).append(item)
    return first, last


def _leave_out_steps(turn: Turn, room: int) -> Turn:
    """A turn without as many of its middle steps as needed to fit. It may still be too large without any step."""
    steps: Sequence[Turn] | None = turn.get("steps")
    if steps is None or _size(_encode(turn)) <= room:
        return turn
    room_for_steps = room - _size(_encode({**turn, "steps": [], "steps_left_out": len(steps)}))
    first, last = _take_ends(len(steps), lambda index, _: _encode(steps[index]), room_for_steps)
    return {**turn, "steps": [*first, *reversed(last)], "steps_left_out": len(steps) - len(first) - len(last)}


def _encode(value: dict[str, Any]) -> Raw:
    return Raw(msgspec.json.encode(value))


def _size(encoded: Raw) -> int:
    return len(bytes(encoded)) + 1  # with the comma after it

"""Rows that the writer inserts into the archive."""

from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from recollect.model import Turn, Usage

FAILED, OWN, ESTIMATED, DUPLICATE = 1, 2, 4, 8  # flags of an event
EARLIER_NUMBERS = 5  # of usage: the four kinds of tokens, and reasoning


class EventCells(NamedTuple):
    """A row of the event table, without its key."""

    id: bytes
    session: int
    turn: int
    seq: int
    kind: int
    at: int
    line: int
    flags: int
    tool: int | None
    model: int | None
    answers: int | None
    exit_code: int | None
    usage: str | None
    body: str | bytes


CELLS = ", ".join(EventCells._fields)


def turn_row(session: int, turn: Turn) -> tuple[Any, ...]:
    """A row of the turn table."""
    return (
        session,
        turn.ordinal,
        turn.started_at,
        turn.updated_at,
        turn.event_count,
        int(turn.opened),
        turn.prompt,
        turn.answer,
        turn.terminal,
        turn.stop and str(turn.stop),
        turn.last,
        as_json(turn.tools),
        as_json(turn.kinds),
        usage_json(turn.usage),
        int(turn.estimated),
    )


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def usage_json(usage: Usage) -> str:
    """Usage as it is stored: at least five numbers, as in archives of earlier versions, and no zeros after them."""
    numbers = astuple(usage)
    known = max((place for place, number in enumerate(numbers, 1) if number), default=0)
    return as_json(numbers[: max(EARLIER_NUMBERS, known)])

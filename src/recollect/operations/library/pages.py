"""Positions of pages: encoded in cursors that are valid for one operation with the same filters."""

from typing import Any

from recollect.errors import BadCursor
from recollect.operations import cursors

DAMAGED = "cursor does not belong to this request. Send `page.next` of the page before, with the same filters and sort."


def read_position(operation: str, fingerprint: dict[str, Any], cursor: str | None) -> list[Any] | None:
    """The position that a cursor names; None for the first page."""
    if cursor is None:
        return None
    position = cursors.decode(cursor, operation, fingerprint)
    if position is None:
        raise BadCursor(DAMAGED, field="cursor")
    return position


def write_position(operation: str, fingerprint: dict[str, Any], position: list[Any] | None) -> str | None:
    """The cursor of a position; None after the last page."""
    return None if position is None else cursors.encode(operation, fingerprint, position)

"""Times as people type them in options."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import click

from recollect.dates import parse_window, since_of, until_of
from recollect.errors import BadDate
from recollect.surfaces.cli.render import say


def since_option(text: str | None, option: str = "--since") -> int | None:
    """The first millisecond of what is kept: the beginning of a time such as `yesterday` or `last week of March`."""
    return _read(since_of, text, option)


def until_option(text: str | None, option: str = "--until") -> int | None:
    """The first millisecond of what is left out: the beginning of a time, or the end of a range such as `3-7 April`."""
    return _read(until_of, text, option)


def _read(bound_of: Callable[[str, int], int], text: str | None, option: str) -> int | None:
    if text is None:
        return None
    now = round(time.time() * 1000)
    try:
        bound = bound_of(text, now)
    except BadDate as error:
        raise click.BadParameter(str(error), param_hint=option) from None
    if (window := parse_window(text, now)) and window.note:
        say(f"! {window.note}", err=True)
    return bound


def iso(at: int) -> str:
    """Milliseconds since 1970 as an ISO 8601 time."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")

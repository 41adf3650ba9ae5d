"""Times as people type them."""

import re
from datetime import UTC, datetime, timedelta

import click

AGO = re.compile(r"(\d+)\s*(m|min|h|d|w)")
SECONDS = {"m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def milliseconds_of(text: str | None, option: str) -> int | None:
    """`7d` is seven days ago, `2026-04-30` that day's beginning here; a full ISO 8601 time is itself."""
    if text is None:
        return None
    try:
        if ago := AGO.fullmatch(text.strip()):
            moment = datetime.now(UTC) - timedelta(seconds=int(ago[1]) * SECONDS[ago[2]])
        else:
            moment = datetime.fromisoformat(text.strip())
        at = moment.timestamp()  # one without a zone is local
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{text!r} is no time; try 2026-04-30, 2026-04-30T09:00Z, 12h or 7d.", param_hint=option
        ) from None
    return round(at * 1000)


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")

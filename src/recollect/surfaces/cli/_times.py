"""Times as people type them."""

import re
import time
from datetime import UTC, datetime

import click

AGO = re.compile(r"(\d+)\s*(m|min|h|d|w)")
SECONDS = {"m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def milliseconds_of(text: str | None, option: str) -> int | None:
    """`7d` is seven days ago, `2026-04-30` that day's beginning here; a full ISO 8601 time is itself."""
    if text is None:
        return None
    if ago := AGO.fullmatch(text.strip()):
        return int((time.time() - int(ago[1]) * SECONDS[ago[2]]) * 1000)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no time; try 2026-04-30, 2026-04-30T09:00Z, 12h or 7d.", param_hint=option
        ) from None
    return int(moment.timestamp() * 1000)  # one without a zone is local


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")

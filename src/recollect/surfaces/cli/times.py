"""Times as people type them."""

import re
from datetime import UTC, datetime, timedelta

import click

AGO = re.compile(r"(\d+)\s*(m|min|h|d|w)")
SECONDS = {"m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
DAYS_AGO = {"today": 0, "yesterday": 1}


def milliseconds_of(text: str | None, option: str) -> int | None:
    """A time in milliseconds since 1970: `today`, `yesterday`, `7d` (seven days ago), a date, or an ISO 8601 time.

    A day means its beginning in the local time zone.
    """
    if text is None:
        return None
    try:
        at = _moment(text.strip().lower()).timestamp()  # a time without a zone is local
        datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        message = f"Cannot read {text!r} as a date. Use today, yesterday, 2026-04-30, 2026-04-30T09:00Z, 12h or 7d."
        raise click.BadParameter(message, param_hint=option) from None
    return round(at * 1000)


def _moment(text: str) -> datetime:
    if text in DAYS_AGO:
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight - timedelta(days=DAYS_AGO[text])
    if ago := AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(seconds=int(ago[1]) * SECONDS[ago[2]])
    return datetime.fromisoformat(text.upper())


def iso(at: int) -> str:
    """Milliseconds since 1970 as an ISO 8601 time."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")

"""recollect list"""

import time
from typing import Any

import click

from recollect.model import SessionMode
from recollect.operations.history.requests import ListSessions
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import json_option, realm_options
from recollect.surfaces.cli.render import draw_list
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.times import iso, since_option, until_option

AHEAD_MS = 86_400_000  # a day: clocks of other machines may be ahead of ours


@click.command("list")
@click.option("--since", metavar="WHEN", help="Sessions active since: yesterday, 7d, 2026-04-30, last week …")
@click.option("--until", metavar="WHEN", help="Sessions started before this time (default: now).")
@request_options(
    ListSessions,
    {"limit": "-n --limit", "mode": "--mode", "sort": "--sort", "cursor": "--cursor"},
    help={
        "limit": "Number of sessions, {ge} to {le} (default: {default}).",
        "mode": f"Only sessions of this kind: {', '.join(SessionMode)}.",
        "sort": "desc: newest first (default); asc: oldest first.",
        "cursor": "Continue after an earlier page.",
    },
)
@json_option
@realm_options
def command(
    since: str | None,
    until: str | None,
    arguments: dict[str, Any],
    as_json: bool,
    **realm: Any,
) -> None:
    """List sessions by time, newest first.

    \b
    recollect list --since 24h
    recollect list --since 2026-04-01 --until 2026-05-01 --mode web_search
    """
    start = since_option(since) or 0
    end = until_option(until)
    # Without --until the end is the next full day, so that a cursor is still valid on the next page.
    end = end if end is not None else (int(time.time() * 1000) // AHEAD_MS + 2) * AHEAD_MS
    arguments |= {"start_datetime": iso(start), "end_datetime": iso(end)}
    ask("list_sessions", arguments, draw_list, as_json=as_json, realm=realm)

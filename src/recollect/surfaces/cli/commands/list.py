"""recollect list"""

import time

import click

from recollect.model import SessionMode
from recollect.operations import RequestContext
from recollect.operations.history import list_sessions
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import draw_list
from recollect.surfaces.cli.times import iso, milliseconds_of

AHEAD_MS = 86_400_000  # clocks of other machines may run ahead of ours: a day covers them


@click.command("list")
@click.option("--since", metavar="WHEN", help="Sessions active from then on: 2026-04-30, 12h, 7d. Default: the beginning.")
@click.option("--until", metavar="WHEN", help="Sessions begun before then. Default: now.")
@click.option("-n", "--limit", type=int, help="How many, 1 to 50. Default 20.")
@click.option("--mode", type=TEXT, metavar="MODE", help=f"Only this kind of work: {', '.join(SessionMode)}.")
@click.option("--sort", type=TEXT, metavar="ORDER", help="desc: newest first (default); asc: oldest first.")
@click.option("--cursor", type=TEXT, help="Go on from an earlier page.")
@json_option
@realm_options
def command(
    since: str | None,
    until: str | None,
    limit: int | None,
    mode: str | None,
    sort: str | None,
    cursor: str | None,
    as_json: bool,
    **realm: object,
) -> None:
    """List sessions by time, newest first.

    \b
    recollect list --since 24h
    recollect list --since 2026-04-01 --until 2026-05-01 --mode web_search
    """
    start = milliseconds_of(since, "--since") or 0
    end = milliseconds_of(until, "--until")
    # Without --until the end is the next full day, so that a cursor fits the page after it.
    end = end if end is not None else (int(time.time() * 1000) // AHEAD_MS + 2) * AHEAD_MS
    arguments = {"start_datetime": iso(start), "end_datetime": iso(end)}
    given = {"limit": limit, "mode": mode, "sort": sort, "cursor": cursor}
    arguments |= {name: value for name, value in given.items() if value is not None}  # type: ignore[misc]
    context = RequestContext.now(has_deadline=as_json)
    reply = list_sessions(realm_to_read(**realm), arguments, context)  # type: ignore[arg-type]
    deliver(reply, as_json=as_json, show=draw_list)

"""recollect search"""

import click

from recollect.index.filters import Filters
from recollect.model import SEARCHABLE
from recollect.operations import RequestContext
from recollect.operations.history import search_sessions
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import draw_search
from recollect.surfaces.cli.times import milliseconds_of


@click.command("search")
@click.argument("query", type=TEXT, nargs=-1, required=True)
@click.option("-n", "--hits", "n_hits", type=int, help="How many hits, 1 to 50. Default 10.")
@click.option(
    "-t",
    "--type",
    "event_types",
    type=TEXT,
    multiple=True,
    metavar="TYPE",
    help=f"Search these kinds of events: {', '.join(SEARCHABLE)}.",
)
@click.option("--within", "within_id", type=TEXT, metavar="ID", help="Search inside one session or turn.")
@click.option("--source", type=TEXT, help="Only this agent's sessions, as `recollect sources` names it.")
@click.option("--project", type=TEXT, help="Only sessions of this project.")
@click.option("--since", metavar="WHEN", help="Only events from then on: 2026-04-30, 12h, 7d.")
@click.option("--until", metavar="WHEN", help="Only events before then.")
@click.option("--why", is_flag=True, help="Show what each score is made of.")
@json_option
@realm_options
def command(
    query: tuple[str, ...],
    n_hits: int | None,
    event_types: tuple[str, ...],
    within_id: str | None,
    source: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    why: bool,
    as_json: bool,
    **realm: object,
) -> None:
    """Find where something was said or done, in any past session.

    \b
    recollect search "cargo clippy failure"
    recollect search getUserName -t tool_call -t tool_response
    recollect search '"connection refused"' --since 7d --project webapp
    recollect search "why is start-up slow" --why
    """
    arguments: dict[str, object] = {"query": " ".join(query)}
    arguments |= {"n_hits": n_hits} if n_hits is not None else {}
    arguments |= {"event_types": list(event_types)} if event_types else {}
    arguments |= {"within_id": within_id} if within_id is not None else {}
    filters = Filters(
        source=source,
        project=project,
        since=milliseconds_of(since, "--since"),
        until=milliseconds_of(until, "--until"),
    )
    opened = realm_to_read(**realm)  # type: ignore[arg-type]
    opened.repair_now()
    reply = search_sessions(opened, arguments, RequestContext.now(has_deadline=as_json), filters, why=why)
    deliver(reply, as_json=as_json, show=draw_search)

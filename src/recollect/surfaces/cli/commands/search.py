"""recollect search"""

from typing import Any

import click

from recollect.index.filters import Filters
from recollect.model import SEARCHABLE
from recollect.operations.history.requests import SearchSessions
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import draw_search
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.times import since_option, until_option


@click.command("search")
@click.argument("query", type=TEXT, nargs=-1, required=True)
@request_options(
    SearchSessions,
    {"n_hits": "-n --hits", "event_types": "-t --type", "within_id": "--within"},
    help={
        "n_hits": "Number of hits, {ge} to {le} (default: {default}).",
        "event_types": f"Only events of this type: {', '.join(SEARCHABLE)}.",
        "within_id": "Only this session or turn.",
    },
)
@click.option("--source", type=TEXT, help="Only this agent, as listed by `recollect sources`.")
@click.option("--project", type=TEXT, help="Only sessions of this project.")
@click.option("--since", metavar="WHEN", help="Only events since: yesterday, 7d, 2026-04-30, last week …")
@click.option("--until", metavar="WHEN", help="Only events before this time.")
@click.option("--why", is_flag=True, help="Explain each score.")
@json_option
@realm_options
def command(
    query: tuple[str, ...],
    arguments: dict[str, Any],
    source: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    why: bool,
    as_json: bool,
    **realm: Any,
) -> None:
    """Find where something was said or done.

    Searches every session of every agent on this machine.

    \b
    recollect search "cargo clippy failure"
    recollect search getUserName -t tool_call -t tool_response
    recollect search '"connection refused"' --since 7d --project webapp
    recollect search "why is start-up slow" --why
    """
    filters = Filters(
        source=source,
        project=project,
        since=since_option(since),
        until=until_option(until),
    )
    opened = realm_to_read(**realm)
    opened.repair_now()
    arguments["query"] = " ".join(query)
    ask(
        "search_sessions",
        arguments,
        draw_search,
        as_json=as_json,
        realm=opened,
        typed_id=arguments.get("within_id"),
        filters=filters,
        explain=why,
    )

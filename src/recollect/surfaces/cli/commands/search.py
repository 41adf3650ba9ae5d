"""recollect search"""

import sys
import time
from typing import Any

import click

from recollect.errors import BadRequest
from recollect.live import LiveRealm
from recollect.model import SEARCHABLE
from recollect.operations.library.requests import SearchLibrary
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.output import answer_of, ask, library_answer, print_warnings
from recollect.surfaces.cli.pager import paged, pager_option
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.render_search import Hits, draw_hits, print_hits
from recollect.surfaces.cli.short_forms import place_of, short_forms

COUNT = 10  # sessions: one to three screens
MATCHES = 50  # of a session, the most: the best ones are shown, the others are counted
TOOL_LIMIT = 50  # hits that the MCP tool gives at most
TURN, EVENT = "turn:", "event:"
ANY = "*"  # for a query that is not read


@click.command("search", cls=FilteredCommand)
@filter_options(
    SearchLibrary,
    flags={"type": "-t --type", "limit": "-n --limit --hits", "agent": "--agent --source"},
    help={
        "type": f"Only events of this type: {', '.join(SEARCHABLE)}.",
        "limit": f"How many sessions (default: {COUNT}); with --json: hits.",
        "mode": "How to find: text, vector or both. Or only chat, tool_calling, …",
        "why": "Explain each score.",
    },
    leave_out=("matches", "cursor"),
)
@click.option("--within", metavar="ID", type=TEXT, help="Only in this session or turn.")
@pager_option
@json_option
@realm_options
def command(arguments: dict[str, Any], within: str | None, has_pager: bool, as_json: bool, **realm: Any) -> None:
    """Find where something was said or done.

    Searches every session of every agent on this machine. Filters may stand between the words.

    \b
    recollect search "cargo clippy failure"
    recollect search getUserName -t tool_call -t tool_response
    recollect search '"connection refused"' --since 7d --project webapp
    recollect search upload retry agent:codex -branch:main
    """
    opened = realm_to_read(**realm)
    opened.repair_now()
    place = None if within is None else place_of(opened, within, as_json=as_json)
    if not as_json:
        _print_hits(opened, arguments, place, has_pager=has_pager)
    else:
        request, options = _tool_request(arguments, place)
        ask("search_sessions", request, _ignore, as_json=True, realm=opened, typed_id=within, **options)


def _tool_request(arguments: dict[str, Any], place: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same request for the MCP tool `search_sessions`, and what only the command line has."""
    types = arguments.get("type", [])
    left_out = [name for name in types if name.startswith("-")]
    others = {name: value for name, value in arguments.items() if name not in ("query", "limit", "type")}
    search = SearchLibrary.parse({**others, "query": ANY, "type": left_out})
    given = {
        "query": arguments["query"],
        "n_hits": arguments.get("limit"),
        "event_types": [name for name in types if name not in left_out] or None,
        "within_id": place,
    }
    request = {name: value for name, value in given.items() if value is not None}
    return request, {"explain": search.why, "mode": search.search_mode(), "terms": search.parameter_terms()}


def _library_arguments(arguments: dict[str, Any], place: str | None) -> dict[str, Any]:
    if place is None:
        return arguments
    if place.startswith(EVENT):
        raise BadRequest("--within takes a session or a turn, not an event.")
    return {**arguments, "query": f"{arguments['query']} in:{place}"}


def _ignore(answer: Any) -> None:
    """Nothing is drawn with --json."""


# ---- for people


def _print_hits(realm: LiveRealm, arguments: dict[str, Any], place: str | None, *, has_pager: bool) -> None:
    started = time.perf_counter()
    if place is not None and place.startswith(TURN):
        hits, warned = _hits_in_turn(realm, arguments, place)
    else:
        limits = {"limit": COUNT, "matches": MATCHES}
        answer = library_answer(realm, "search", limits | _library_arguments(arguments, place))
        hits, warned = answer["data"]["hits"], answer
    elapsed_ms = (time.perf_counter() - started) * 1_000
    print_warnings(warned)
    found = Hits(hits, arguments.get("query", ""), elapsed_ms)
    if not hits:
        say(found.nothing())
        return
    with short_forms(realm) as shorten:
        if sys.stdout.isatty():
            with paged(has_pager=has_pager) as out:
                draw_hits(out, found, shorten)
        else:
            print_hits(found, shorten)


def _hits_in_turn(realm: LiveRealm, arguments: dict[str, Any], place: str) -> tuple[list[Any], Any]:
    """The hits in one turn, which only the MCP tool can search, in the form of the library."""
    request, options = _tool_request(arguments, place)
    limited = {"n_hits": TOOL_LIMIT, "event_types": list(SEARCHABLE)} | request
    answer = answer_of(realm, "search_sessions", limited, **options)
    results = answer["data"]["results"]
    matches = [
        {"event": hit["event"]["id"], "type": hit["event"]["type"], "text": hit["snippet"]["text"], "why": hit.get("why")}
        | {"score": hit["score"]}
        for hit in results
    ]
    if not matches:
        return [], answer
    session = library_answer(realm, "session", {"id": results[0]["session"]["id"]})["data"]["session"]
    return [{"session": session, "matches": matches}], answer

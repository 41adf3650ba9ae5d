"""recollect list"""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from recollect.label import plural
from recollect.live import LiveRealm
from recollect.operations.library.requests import ListLibrarySessions
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.library_pages import library_pages
from recollect.surfaces.cli.local_times import clock, day_heading, local_day
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.pager import paged, pager_command, pager_option
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.session_rows import Session, SessionRows, tab_row
from recollect.surfaces.cli.short_forms import Shorten, short_forms
from recollect.surfaces.cli.times import iso, since_option, until_option

COUNT = 50  # sessions without a pager: about a screen
AHEAD_MS = 86_400_000  # a day: clocks of other machines may be ahead of ours
TOOL_LIMIT = 50  # sessions that the MCP tool lists at most
TOOL_FILTERS = ("since", "until", "mode")  # filters that the MCP tool has, each with one value
TOOL_ARGUMENTS = {*TOOL_FILTERS, "limit", "cursor", "sort"}
SORTS = {"desc": "-updated", "asc": "updated"}  # the MCP tool's words for the orders that it has


@click.command("list", cls=FilteredCommand)
@filter_options(
    ListLibrarySessions,
    help={
        "limit": f"How many (default: all with a pager, else {COUNT}).",
        "sort": "updated, started, duration, tokens, events or cost; -tokens: the largest first (default: -updated).",
        "facets": "Also count by agent, project, branch, mode, model, tool, type, state or label.",
    },
)
@pager_option
@json_option
@realm_options
def command(arguments: dict[str, Any], has_pager: bool, as_json: bool, **realm: Any) -> None:
    """List sessions, newest first.

    \b
    recollect list --since 24h
    recollect list --project webapp --failed --sort -cost
    recollect list agent:codex since:"last week" retry

    In a pipe, each line has cells with tabs between them: ID, time, agent, project, title, models, tokens, dollars, state.
    """
    arguments |= {"sort": SORTS.get(arguments["sort"], arguments["sort"])} if "sort" in arguments else {}
    if not as_json:
        _print_sessions(realm_to_read(**realm), arguments, has_pager=has_pager)
    elif _is_known_to_tool(arguments):
        ask("list_sessions", _tool_arguments(arguments), lambda answer: None, as_json=True, realm=realm)
    else:
        ask("library_sessions", arguments, lambda answer: None, as_json=True, realm=realm)


# ---- as JSON


def _is_known_to_tool(arguments: dict[str, Any]) -> bool:
    """Whether the MCP tool `list_sessions` has these filters. Then its envelope is printed."""
    values = [arguments.get(name, []) for name in TOOL_FILTERS]
    return (
        arguments.keys() <= TOOL_ARGUMENTS
        and all(len(given) <= 1 and not any(value.startswith("-") for value in given) for given in values)
        and arguments.get("limit", 0) <= TOOL_LIMIT
        and arguments.get("sort", "updated") in SORTS.values()
    )


def _tool_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The same request for the MCP tool."""
    since, until, mode = (next(iter(arguments.get(name, [])), None) for name in TOOL_FILTERS)
    end = until_option(until)
    # Without --until the end is the next full day, so that a cursor is still valid on the next page.
    end = end if end is not None else (int(time.time() * 1000) // AHEAD_MS + 2) * AHEAD_MS
    orders = {order: word for word, order in SORTS.items()}
    given: dict[str, Any] = {name: arguments[name] for name in ("limit", "cursor") if name in arguments}
    if "sort" in arguments:
        given["sort"] = orders[arguments["sort"]]
    if mode is not None:
        given["mode"] = mode
    return given | {"start_datetime": iso(since_option(since) or 0), "end_datetime": iso(end)}


# ---- for people


def _print_sessions(realm: LiveRealm, arguments: dict[str, Any], *, has_pager: bool) -> None:
    is_terminal = sys.stdout.isatty()
    has_pager = has_pager and pager_command() is not None
    count = arguments.get("limit", None if has_pager else COUNT)
    answers = library_pages(realm, "sessions", arguments, "sessions", count)
    first = next(answers)
    total = first["page"]["total"]
    if not total:
        say(_nothing(arguments))
        return
    with short_forms(realm) as shorten:
        if is_terminal:
            with paged(has_pager=has_pager) as out:
                _draw(out, first, answers, arguments.get("sort", SORTS["desc"]), shorten)
        else:
            for session in _sessions(first, answers):
                say(tab_row(session, shorten))
    if count is not None and count < total and "cursor" not in arguments:
        say(f"{count:,} of {plural(total, 'session')}. All of them: -n {total}", err=True)


def _draw(out: Console, first: Any, answers: Iterator[Any], sort: str, shorten: Shorten) -> None:
    """Print sessions by day, or with their days if they are not sorted by time."""
    field = f"{sort.removeprefix('-')}_at"
    is_by_time = field in ("updated_at", "started_at")
    when: Callable[[Session], str] = _clock_of(field) if is_by_time else _day_of
    rows = SessionRows(first["data"]["sessions"], out.width, shorten, when)
    heading = ""
    for session in _sessions(first, answers):
        if is_by_time and (day := day_heading(session[field])) != heading:
            out.print(Text(f"\n{day}" if heading else day, "bold underline" if out.is_terminal else ""))
            heading = day
        out.print(rows.row(session), soft_wrap=True)
    for name, values in first["data"].get("facets", {}).items():
        counted = ", ".join(f"{value['value'] or 'none'} {value['count']:,}" for value in values)
        out.print(Text.assemble(f"\n{name}: ", (counted, "dim")))


def _clock_of(field: str) -> Callable[[Session], str]:
    return lambda session: f"{'~' if session['estimated_time'] else ''}{clock(session[field])}"


def _day_of(session: Session) -> str:
    return local_day(session["updated_at"], estimated=session["estimated_time"])


def _sessions(first: Any, answers: Iterator[Any]) -> Iterator[Session]:
    yield from first["data"]["sessions"]
    for answer in answers:
        yield from answer["data"]["sessions"]


def _nothing(arguments: dict[str, Any]) -> str:
    filters = arguments.keys() - {"limit", "cursor", "sort", "facets"}
    if not filters:
        return "No sessions yet. `recollect sync` reads your agents' logs."
    return "No sessions in this period." if filters <= {"since", "until"} else "No sessions fit these filters."

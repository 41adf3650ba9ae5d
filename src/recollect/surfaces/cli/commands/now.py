"""recollect now"""

import sys
from typing import Any

import click
from rich.text import Text

from recollect.display import one_line
from recollect.label import plural
from recollect.operations.library.requests import GetNow
from recollect.session_state import RUNNING, SessionState
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.freshen import no_sync_option, read_new_lines
from recollect.surfaces.cli.local_times import short_age
from recollect.surfaces.cli.output import ask, library_answer, print_warnings
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, say
from recollect.surfaces.cli.session_rows import STATE_STYLES, Session, SessionRows, cut, tab_row
from recollect.surfaces.cli.short_forms import Shorten, short_forms

MEANINGS = {  # of the states, as headings
    "working": "Working",
    "waiting": "Waiting for you",
    "idle": "Idle",
    "died": "Died in the last 24 hours",
    "ended": "Ended in the last 24 hours",
}
INDENT = "  "


@click.command("now", cls=FilteredCommand)
@filter_options(GetNow)
@no_sync_option
@json_option
@realm_options
def command(arguments: dict[str, Any], has_sync: bool, as_json: bool, **realm: Any) -> None:
    """Show which agents work, wait for you, or are idle.

    Each session has the time since its newest line, and what that line says.

    \b
    recollect now
    recollect now --all --project webapp
    """
    opened = realm_to_read(**realm)
    read_new_lines(opened, has_sync=has_sync)
    if as_json:
        ask("library_now", arguments, lambda answer: None, as_json=True, realm=opened)
        return
    answer = library_answer(opened, "now", arguments)
    print_warnings(answer)
    sessions = sorted(answer["data"]["sessions"], key=lambda session: list(MEANINGS).index(session["state"]))
    with short_forms(opened) as shorten:
        if not sessions:
            say(_nothing(arguments))
        elif sys.stdout.isatty():
            _draw(sessions, shorten)
        else:
            for session in sessions:
                say(f"{tab_row(session, shorten)}\t{one_line(session['doing'])}")


def _draw(sessions: list[Session], shorten: Shorten) -> None:
    """Print sessions by state, each with its newest line."""
    out = console()
    rows = SessionRows(sessions, out.width, shorten, lambda session: short_age(session["updated_at"]))
    state = ""
    for session in sessions:
        if session["state"] != state:
            out.print(Text(f"{chr(10) if state else ''}{MEANINGS[session['state']]}", STATE_STYLES[session["state"]]))
            state = session["state"]
        out.print(rows.row(session), soft_wrap=True)
        if session["doing"]:
            out.print(Text(f"{INDENT}{cut(one_line(session['doing']), out.width - len(INDENT))}", "dim"), soft_wrap=True)
    running = sum(SessionState(session["state"]) in RUNNING for session in sessions)
    if running:
        out.print(Text(f"\n{plural(running, 'session')} running. Follow them: recollect tail", "dim"))


def _nothing(arguments: dict[str, Any]) -> str:
    if arguments.get("all"):
        return "No session of the last 24 hours fits."
    return "No agent is running. `recollect now --all` shows the sessions of the last 24 hours."

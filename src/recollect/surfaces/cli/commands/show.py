"""recollect show"""

from collections.abc import Iterator
from typing import Any

import click
import msgspec

from recollect.library_answers import LibraryEvent, LibrarySession, LibraryTurn
from recollect.live import LiveRealm
from recollect.surfaces.cli.output import ask, library_answer
from recollect.surfaces.cli.pager import paged, pager_option
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.short_forms import short_forms

PAGE = 200  # events that are read at once: the first screen appears after one page


@click.command("show")
@click.argument("session_id", type=TEXT, metavar="ID")
@click.option("--full", is_flag=True, help="Unfold arguments, outputs and reasoning.")
@pager_option
@json_option
@realm_options
def command(session_id: str, full: bool, has_pager: bool, as_json: bool, **realm: Any) -> None:
    """Read a session like a document.

    Prompts, answers and edits are shown; every other step is folded into one line.

    \b
    recollect show last
    recollect show 9ab2 --full
    recollect show 9ab2 | less
    """
    opened = realm_to_read(**realm)
    if as_json:
        ask("library_session", {"id": session_id}, lambda answer: None, as_json=True, realm=opened)
        return
    data = library_answer(opened, "session", {"id": session_id})["data"]
    session = msgspec.convert(data["session"], LibrarySession)
    turns = msgspec.convert(data["turns"], list[LibraryTurn])
    from recollect.surfaces.cli.session_page import SessionPrinter  # Markdown in a terminal takes 60 ms to load

    with short_forms(opened) as shorten, paged(has_pager=has_pager) as out:
        SessionPrinter(out, session, turns, shorten, is_full=full).print_all(session_events(opened, session.id))


def session_events(realm: LiveRealm, session: str, first: int = 0) -> Iterator[LibraryEvent]:
    """The events of a session from a sequence number on, read page by page."""
    while True:
        answer = library_answer(realm, "events", {"id": session, "from": first, "limit": PAGE})
        events = msgspec.convert(answer["data"]["events"], list[LibraryEvent])
        yield from events
        if len(events) < PAGE:
            return
        first = events[-1].sequence + 1

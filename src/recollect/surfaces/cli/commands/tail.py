"""recollect tail"""

import sys
import time
from typing import Any

import click
import msgspec
from rich.text import Text

from recollect.display import one_line
from recollect.export.call_summary import call_outcome, call_summary
from recollect.export.steps import CALL, RESPONSE, TranscriptStep
from recollect.label import label
from recollect.library_answers import LibraryEvent, LibrarySession
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.library.new_events import SessionEvents, new_events
from recollect.surfaces.cli.local_times import clock_with_seconds
from recollect.surfaces.cli.output import library_answer
from recollect.surfaces.cli.realm_options import TEXT, chosen_realm, json_option, realm_options
from recollect.surfaces.cli.render import console, print_json, say
from recollect.surfaces.cli.short_forms import short_forms
from recollect.surfaces.cli.signals import until_signal
from recollect.surfaces.cli.watcher import watching

POLL_S = 0.2  # seconds between two looks at the archive: each is one query
LAST = 10  # events that are shown first, as `tail` shows lines
MAX_LAST = 200  # the most that one request gives
RUNNING = ("working", "waiting", "idle")
STYLES = {"user_input": ("> ", "bold green"), "assistant_response": ("", ""), "reasoning": ("○ ", "dim italic")}


@click.command("tail")
@click.argument("session_id", type=TEXT, metavar="[ID]", required=False)
@click.option("-n", "last", type=click.IntRange(0, MAX_LAST), default=LAST, help=f"Events to show first (default: {LAST}).")
@click.option("--no-sync", is_flag=True, help="Do not read new logs in the background.")
@json_option
@realm_options
def command(session_id: str | None, last: int, no_sync: bool, as_json: bool, **realm: Any) -> None:
    """Follow sessions live: each new prompt, answer and call.

    Without ID, follows all sessions. Stop with Ctrl-C. With --json, each line is an event with its session.

    \b
    recollect tail
    recollect tail 9ab2 -n 50
    recollect tail --json | jq -r 'select(.type == "tool_call") | .tool'
    """
    opened = chosen_realm(**realm)
    printer = _JsonPrinter() if as_json else _LinePrinter(opened, has_heads=session_id is None)
    with until_signal(), watching(opened, is_enabled=not no_sync and not realm["isolated"]):
        position = new_events(opened, None, None).position
        session = _print_last(opened, session_id, last, printer, as_json=as_json)
        while True:
            found = new_events(opened, position, session.id if session_id is not None and session is not None else None)
            position = found.position
            for new in found.sessions:
                printer.print(new)
            if found.is_gone:
                say("The session was removed from the archive.", err=True)
                return
            time.sleep(POLL_S)


def _print_last(
    realm: LiveRealm, session_id: str | None, last: int, printer: "_Printer", *, as_json: bool
) -> LibrarySession | None:
    """Print the last events of a session, or of the newest one. Returns the session, or None if there is none yet."""
    context = RequestContext.now(has_deadline=False)
    if session_id is None and OPERATIONS["library_session"].run(realm, {"id": "last"}, context).is_error:
        return None
    data = library_answer(realm, "session", {"id": session_id or "last"}, as_json=as_json)["data"]
    session = msgspec.convert(data["session"], LibrarySession)
    if last:
        first = {"id": session.id, "from": max(0, session.events - last), "limit": last}
        events = library_answer(realm, "events", first, as_json=as_json)["data"]["events"]
        shown = msgspec.convert(events, list[LibraryEvent])
        printer.print(SessionEvents(session.id, session.title, session.agent, session.project, session.folder, shown))
    if session_id is not None and session.state not in RUNNING and not as_json:
        say(f"This session is not running ({session.state}). Waiting for it to go on; Ctrl-C stops.", err=True)
    return session


class _Printer:
    """Prints each event once: an event that was stored again is not new."""

    def __init__(self) -> None:
        self._printed: dict[str, int] = {}  # the sequence number of the last event, by session

    def print(self, new: SessionEvents) -> None:
        printed = self._printed.get(new.session, -1)
        events = [event for event in new.events if event.sequence > printed]
        if events:
            self._printed[new.session] = events[-1].sequence
            self.print_events(new, events)
            sys.stdout.flush()

    def print_events(self, new: SessionEvents, events: list[LibraryEvent]) -> None:
        raise NotImplementedError


class _JsonPrinter(_Printer):
    def print_events(self, new: SessionEvents, events: list[LibraryEvent]) -> None:
        for event in events:
            print_json(msgspec.json.encode({"session": new.session, **msgspec.structs.asdict(event)}).decode())


class _LinePrinter(_Printer):
    """Prints a line for each event. A terminal's line is cut to its width."""

    def __init__(self, realm: LiveRealm, *, has_heads: bool) -> None:
        super().__init__()
        self._realm = realm
        self._out = console()
        self._has_heads = has_heads
        self._session = ""

    def print_events(self, new: SessionEvents, events: list[LibraryEvent]) -> None:
        if self._has_heads and new.session != self._session:
            self._session = new.session
            with short_forms(self._realm) as shorten:
                details = ", ".join(filter(None, (shorten(new.session), new.agent, new.project)))
            self._line(Text(f"── {one_line(new.title)}", "bold"), Text(f" ({one_line(details)})", "dim"))
        for event in events:
            line = _line_of(event, new.folder)
            if line is not None:
                self._line(Text.assemble((f"{clock_with_seconds(event.at)} ", "dim"), line))

    def _line(self, line: Text, end: Text | None = None) -> None:
        """Print a line, cut so that its end can be seen."""
        end = end or Text()
        if self._out.is_terminal:
            line.truncate(max(1, self._out.width - end.cell_len), overflow="ellipsis")
        self._out.print(Text.assemble(line, end), soft_wrap=True)


def _line_of(event: LibraryEvent, folder: str | None) -> Text | None:
    """An event in one line; None for the agent's own bookkeeping."""
    if event.type == CALL:
        style = "red" if event.failed else "yellow"
        return Text.assemble(
            ("● ", style), (one_line(event.tool or "tool"), style), " ", call_summary(TranscriptStep(event), folder)
        )
    if event.type == RESPONSE:
        outcome = " · ".join([*call_outcome(TranscriptStep(event)), label(event.text, 200)])
        return Text(f"  ↳ {one_line(outcome)}", "red" if event.failed else "dim")
    if not event.text.strip() or event.type == "unknown" or (event.type == "runtime" and event.usage is not None):
        return None
    mark, style = STYLES.get(event.type, ("○ ", "dim"))
    return Text(f"{mark}{one_line(event.text)}", style)

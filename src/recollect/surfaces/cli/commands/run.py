"""recollect run"""

import shlex
import sys
from typing import Any

import click
import msgspec

from recollect.errors import ErrorKind
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.surfaces.cli.commands.sync import AT_ONCE_S, remember
from recollect.surfaces.cli.output import deliver, located
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, labels_of, realm_options, realm_to_read
from recollect.surfaces.cli.render import plain
from recollect.surfaces.cli.signals import heed_signals
from recollect.surfaces.transport.write_queue import WriteQueue, write_all

LAST_S = 1.0  # seconds that whoever reads has for what is left of an answer that was interrupted


@click.command("run")
@click.argument("prompt")
@click.option("--resume", metavar="SESSION", help="Continue this session: its id, the beginning of it, or `last`.")
@click.option("--runner", metavar="NAME", help="Who answers: recall (default), command, acp, or a name from the config.")
@click.option("--command", metavar="WORDS", help="The program to run, with its arguments, for command and acp.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label the session; may be repeated.")
@click.option("--user", "user_id", metavar="UUID", help="Put the new session into this person's journey.")
@click.option("--journey", "journey_id", metavar="UUID", help="Put the new session into this journey.")
@json_option
@realm_options
def command(
    prompt: str,
    resume: str | None,
    runner: str | None,
    command: str | None,
    labels: tuple[str, ...],
    user_id: str | None,
    journey_id: str | None,
    as_json: bool,
    **realm: Any,
) -> None:
    """Run a turn, in a new session or in one that goes on, and print the answer as it comes. Ctrl-C interrupts it.

    \b
    recollect run "how did we fix the login?"
    recollect run "and the tests?" --resume last
    recollect run "review this" --runner command --command "claude -p"
    git diff | recollect run - --command "llm"
    """
    arguments: dict[str, Any] = {
        "prompt": _piped() if prompt == "-" else prompt,
        "runner": runner,
        "command": _words(command) if command is not None else None,
    }
    opened = chosen_realm(**realm) if resume is None else realm_to_read(**realm)
    if resume is None:
        arguments |= {"labels": labels_of(labels) or None, "user_id": user_id, "journey_id": journey_id}
    elif labels or user_id or journey_id:
        raise click.UsageError("--label, --user and --journey are for new sessions, not with --resume.")
    else:
        arguments["session_id"] = located(opened, resume, as_json=as_json)
    name = "meerkat_create_session" if resume is None else "meerkat_start_turn"
    opened.live.surface = "cli"
    shown = _Shown(is_quiet=as_json)
    heed_signals()
    try:
        given = {key: value for key, value in arguments.items() if value is not None}
        received = RequestContext.now().received
        context = RequestContext(received, cancelled=shown.is_unread, on_event=shown.tell, has_deadline=as_json)
        reply = OPERATIONS[name].run(opened, given, context)
    finally:
        opened.close()
    shown.end(None if reply.kind is not ErrorKind.CANCELLED else LAST_S)
    remember(opened, AT_ONCE_S)
    if reply.is_error and not as_json and (session := _left_behind(reply)):
        click.echo(f"session {session}", err=True)  # it can be gone on with
    deliver(reply, as_json=as_json, show=lambda answer: click.echo(f"session {answer['session_id']}", err=True))


def _left_behind(reply: Reply) -> str | None:
    """The session of a turn that failed."""
    details = msgspec.json.decode(reply.text).get("details", {})
    session: str | None = details.get("session_id")
    return session


class _Shown:
    """The answer as it comes, on standard output; nothing where a program waits for all of it.

    What waits for a slow reader is never dropped, and no more than what a turn may say.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet or sys.stdout is None
        self._last = "\n"
        self._outbox = WriteQueue(lambda text: write_all(sys.stdout.fileno(), text))

    def tell(self, event: dict[str, Any]) -> None:
        if event["type"] == "text_delta" and event["delta"] and not self._is_quiet:
            self._last = event["delta"][-1]
            self._print(plain(event["delta"]))

    def is_unread(self) -> bool:
        """Whether it cannot be printed any more: whoever read it has seen enough, or a disk is full."""
        return self._outbox.fault is not None

    def end(self, seconds: float | None) -> None:
        """Print what is left, for as long as that takes or so many seconds."""
        if self._last != "\n":
            self._print("\n")
        self._outbox.close(seconds)
        if self._outbox.fault is not None and not isinstance(self._outbox.fault, BrokenPipeError):
            raise self._outbox.fault

    def _print(self, text: str) -> None:
        self._outbox.answer(text.encode(sys.stdout.encoding, "replace"))


def _piped() -> str:
    """Standard input, all of it; what is no UTF-8 there is marked."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as reason:
        raise click.UsageError(f"--command cannot be understood: {reason}.") from reason

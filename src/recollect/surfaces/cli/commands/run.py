"""recollect run"""

import shlex
import sys
from typing import Any

import click
import msgspec

from recollect.errors import ErrorKind
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.operations.sessions.requests import CreateSession
from recollect.surfaces.cli.commands.sync import distil_or_warn
from recollect.surfaces.cli.output import deliver, locate_session
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, labels_of, realm_options, realm_to_read
from recollect.surfaces.cli.render import plain
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.signals import interrupt_on_signals
from recollect.surfaces.transport.write_queue import WriteQueue, write_all

DRAIN_S = 1.0  # seconds to print the rest of an interrupted answer


@click.command("run")
@click.argument("prompt")
@click.option("--resume", metavar="SESSION", help="Continue this session: its ID, the first characters, or `last`.")
@click.option("--command", metavar="WORDS", help="Program with arguments, for the runners command and acp.")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Label the new session; can be repeated.")
@request_options(
    CreateSession,
    {"runner": "--runner", "user_id": "--user", "journey_id": "--journey"},
    help={
        "runner": "recall (default), command, acp, or a name from the config.",
        "user_id": "Add the new session to this person's journey.",
        "journey_id": "Add the new session to this journey.",
    },
)
@json_option
@realm_options
def command(
    prompt: str,
    resume: str | None,
    command: str | None,
    labels: tuple[str, ...],
    arguments: dict[str, Any],
    as_json: bool,
    **realm: Any,
) -> None:
    """Run a turn, in a new session or an existing one.

    Prints the answer as it arrives. --resume continues a session. Ctrl-C interrupts the turn.

    \b
    recollect run "how did we fix the login?"
    recollect run "and the tests?" --resume last
    recollect run "review this" --runner command --command "claude -p"
    git diff | recollect run - --command "llm"
    """
    arguments["prompt"] = _read_stdin() if prompt == "-" else prompt
    if command is not None:
        arguments["command"] = _split_command(command)
    opened = chosen_realm(**realm) if resume is None else realm_to_read(**realm)
    if resume is None:
        arguments["labels"] = labels_of(labels)
    elif labels or arguments.keys() & {"user_id", "journey_id"}:
        raise click.UsageError("--label, --user and --journey are for new sessions. Leave them out with --resume.")
    else:
        arguments["session_id"] = locate_session(opened, resume, as_json=as_json)
    name = "meerkat_create_session" if resume is None else "meerkat_start_turn"
    opened.live.surface = "cli"
    printer = _AnswerPrinter(is_quiet=as_json)
    interrupt_on_signals()
    try:
        received = RequestContext.now().received
        context = RequestContext(received, cancelled=printer.is_unread, on_event=printer.on_event, has_deadline=as_json)
        reply = OPERATIONS[name].run(opened, arguments, context)
    finally:
        opened.close()
    printer.close(None if reply.kind is not ErrorKind.CANCELLED else DRAIN_S)
    distil_or_warn(opened)
    if reply.is_error and not as_json and (session := _failed_session(reply)):
        click.echo(f"session {session}", err=True)  # it can be continued
    deliver(reply, as_json=as_json, show=lambda answer: click.echo(f"session {answer['session_id']}", err=True))


def _failed_session(reply: Reply) -> str | None:
    """The session of a turn that failed."""
    details = msgspec.json.decode(reply.text).get("details", {})
    session: str | None = details.get("session_id")
    return session


class _AnswerPrinter:
    """Prints the answer on standard output as it arrives. Prints nothing with --json.

    Text for a slow reader is never dropped. A turn's limit on its output bounds the queue.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet or sys.stdout is None
        self._last = "\n"
        self._write_queue = WriteQueue(lambda text: write_all(sys.stdout.fileno(), text))

    def on_event(self, event: dict[str, Any]) -> None:
        if event["type"] == "text_delta" and event["delta"] and not self._is_quiet:
            self._last = event["delta"][-1]
            self._print(plain(event["delta"]))

    def is_unread(self) -> bool:
        """Whether printing failed: the reader closed the pipe, or the disk is full."""
        return self._write_queue.fault is not None

    def close(self, seconds: float | None) -> None:
        """Print the rest of the queue within these seconds; None sets no limit."""
        if self._last != "\n":
            self._print("\n")
        self._write_queue.close(seconds)
        if self._write_queue.fault is not None and not isinstance(self._write_queue.fault, BrokenPipeError):
            raise self._write_queue.fault

    def _print(self, text: str) -> None:
        self._write_queue.put_response(text.encode(sys.stdout.encoding, "replace"))


def _read_stdin() -> str:
    """All of standard input. Bytes that are not UTF-8 are replaced."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""


def _split_command(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as reason:
        raise click.UsageError(f"Cannot parse --command {command!r}: {reason}.") from reason

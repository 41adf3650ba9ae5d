"""recollect run"""

from typing import Any

import click

from recollect.errors import ErrorKind
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.sessions.requests import CreateSession
from recollect.surfaces.cli.commands.sync import distil_or_warn
from recollect.surfaces.cli.output import deliver, locate_session
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, labels_of, realm_options, realm_to_read
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.signals import interrupt_on_signals
from recollect.surfaces.cli.turn_output import DRAIN_S, AnswerPrinter, failed_session, read_stdin, split_command


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
    arguments["prompt"] = read_stdin() if prompt == "-" else prompt
    if command is not None:
        arguments["command"] = split_command(command)
    opened = chosen_realm(**realm) if resume is None else realm_to_read(**realm)
    if resume is None:
        arguments["labels"] = labels_of(labels)
    elif labels or arguments.keys() & {"user_id", "journey_id"}:
        raise click.UsageError("--label, --user and --journey are for new sessions. Leave them out with --resume.")
    else:
        arguments["session_id"] = locate_session(opened, resume, as_json=as_json)
    name = "meerkat_create_session" if resume is None else "meerkat_start_turn"
    opened.live.surface = "cli"
    printer = AnswerPrinter(is_quiet=as_json)
    interrupt_on_signals()
    try:
        received = RequestContext.now().received
        context = RequestContext(received, cancelled=printer.is_unread, on_event=printer.on_event, has_deadline=as_json)
        reply = OPERATIONS[name].run(opened, arguments, context)
    finally:
        opened.close()
    printer.close(None if reply.kind is not ErrorKind.CANCELLED else DRAIN_S)
    distil_or_warn(opened)
    if reply.is_error and not as_json and (session := failed_session(reply)):
        click.echo(f"session {session}", err=True)  # it can be continued
    deliver(reply, as_json=as_json, show=lambda answer: click.echo(f"session {answer['session_id']}", err=True))

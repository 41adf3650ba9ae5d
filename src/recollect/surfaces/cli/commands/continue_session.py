"""recollect continue"""

from typing import Any

import click
import msgspec

from recollect.errors import ErrorKind
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, Reply, RequestContext
from recollect.operations.library.continuation_requests import ContinueSession
from recollect.surfaces.cli.commands.sync import distil_or_warn
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read, typed
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.request_options import request_options
from recollect.surfaces.cli.signals import interrupt_on_signals
from recollect.surfaces.cli.turn_output import DRAIN_S, AnswerPrinter, failed_session, read_stdin, split_command

OPERATION = "library_continue"


@click.command("continue")
@click.argument("session", metavar="ID")
@click.argument("prompt", required=False, type=TEXT)
@click.option("--command", metavar="WORDS", help="Program with arguments, for the runners command and acp.")
@click.option("--brief", is_flag=True, help="Send a brief even if the agent can load the session itself.")
@click.option("--yes", is_flag=True, help="Do not show the brief, and do not ask.")
@request_options(
    ContinueSession,
    {"runner": "--in", "budget_tokens": "--budget", "preview": "--preview"},
    help={
        "runner": "A runner of the config, or an installed agent: codex, gemini, …",
        "budget_tokens": "Tokens of the brief at most, {ge} to {le}. Default {default}.",
        "preview": "Only show which way it would go, and the brief.",
    },
)
@json_option
@realm_options
def command(
    session: str,
    prompt: str | None,
    command: str | None,
    brief: bool,
    yes: bool,
    arguments: dict[str, Any],
    as_json: bool,
    **realm: Any,
) -> None:
    """Go on with a session in any agent.

    The session's own agent loads it. Any other agent gets a brief: goal, state, decisions, open ends, files and the last
    exchange. The brief is shown with its cost in tokens before it is sent. `recollect run --resume` runs more turns.

    \b
    recollect continue last
    recollect continue 9ab2 --in codex "now write the tests"
    recollect continue 9ab2 --in gemini --budget 2000 --yes
    recollect continue 9ab2 --in codex --preview
    """
    is_preview = arguments.get("preview", False)
    if not yes and not is_preview and (as_json or prompt == "-"):
        raise click.UsageError("With --json, or a prompt from standard input, nobody can be asked: add --yes.")
    arguments |= {"id": typed(session), "prompt": read_stdin() if prompt == "-" else prompt or ""}
    arguments |= {"command": split_command(command)} if command is not None else {}
    arguments |= {"way": "brief"} if brief else {}
    opened = realm_to_read(**realm)
    opened.live.surface = "cli"
    if is_preview:
        deliver(
            _call(opened, arguments, as_json=as_json), as_json=as_json, show=lambda answer: _show(answer["data"], err=False)
        )
        return
    try:
        reply = _go_on(opened, arguments, as_json=as_json, asks=not yes)
    finally:
        opened.close()
    distil_or_warn(opened)
    if reply.is_error and not as_json and (failed := failed_session(reply)):
        click.echo(f"session {failed}", err=True)
    deliver(
        reply,
        as_json=as_json,
        show=lambda answer: click.echo(f"session {answer['data']['uuid']}", err=True),
        typed_id=session,
    )


def _go_on(realm: LiveRealm, arguments: dict[str, Any], *, as_json: bool, asks: bool) -> Reply:
    """Run the turn, after asking the person. If the agent lost the session, ask again with the brief."""
    if not asks:
        return _run(realm, arguments, as_json=as_json)
    way = _ask_person(realm, arguments)
    reply = _run(realm, {**arguments, "way": way}, as_json=as_json)
    if way == "native" and _could_not_load(reply):
        say("The agent cannot load its session any more, so it needs a brief.", err=True)
        by_brief = {**arguments, "way": "brief"}
        _ask_person(realm, by_brief)
        reply = _run(realm, by_brief, as_json=as_json)
    return reply


def _call(realm: LiveRealm, arguments: dict[str, Any], *, as_json: bool) -> Reply:
    return OPERATIONS[OPERATION].run(realm, arguments, RequestContext.now(has_deadline=as_json))


def _ask_person(realm: LiveRealm, arguments: dict[str, Any]) -> str:
    """Show how the session would go on, and ask. Returns the way; exits if the answer is no, or if it cannot go on."""
    reply = _call(realm, {**arguments, "preview": True}, as_json=False)
    if reply.is_error:
        deliver(reply, as_json=False, show=lambda answer: None)
    answer = msgspec.json.decode(reply.text)
    for warning in answer["warnings"]:
        say(f"! {warning}", err=True)
    _show(answer["data"], err=True)
    click.confirm("Go on?", abort=True, err=True)
    way: str = answer["data"]["way"]
    return way


def _show(plan: dict[str, Any], *, err: bool) -> None:
    """Which way the session goes on, and the brief with its cost."""
    agent = plan["agent"] or plan["runner"]
    say(f"{agent} goes on in {plan['folder']}. Your prompt: {plan['prompt']}", err=err)
    brief = plan["brief"]
    if plan["way"] == "native":
        say("It has the session, or loads it itself. No brief is needed.", err=err)
    else:
        say(f"It gets this brief, about {brief['tokens']:,} tokens (at most {brief['budget_tokens']:,}):\n", err=err)
        say(f"{brief['text']}\n", err=err)


def _run(realm: LiveRealm, arguments: dict[str, Any], *, as_json: bool) -> Reply:
    """Run the turn, and print the answer as it arrives."""
    printer = AnswerPrinter(is_quiet=as_json)
    interrupt_on_signals()
    received = RequestContext.now().received
    context = RequestContext(received, cancelled=printer.is_unread, on_event=printer.on_event, has_deadline=as_json)
    reply = OPERATIONS[OPERATION].run(realm, arguments, context)
    printer.close(None if reply.kind is not ErrorKind.CANCELLED else DRAIN_S)
    return reply


def _could_not_load(reply: Reply) -> bool:
    """Whether the agent does not have its session any more. Nothing was started then."""
    error = msgspec.json.decode(reply.text).get("error") or {}
    return bool(error.get("details", {}).get("is_not_loaded"))

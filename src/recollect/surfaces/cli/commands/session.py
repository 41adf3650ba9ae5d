"""recollect session"""

import json
from typing import Any

import click
from rich.markup import escape

from recollect.display import one_line
from recollect.operations.sessions.requests import ListLiveSessions, ReadHistory
from recollect.surfaces.cli.output import ask, locate_session
from recollect.surfaces.cli.realm_options import json_option, labels_of, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, say, time_of
from recollect.surfaces.cli.request_options import request_options

MAX_LINE = 160  # characters of a tool call, a result or reasoning
LOCATOR = click.argument("session_id", metavar="SESSION")


@click.group("session")
def command() -> None:
    """List, read, interrupt and archive live sessions.

    SESSION is an ID, realm:ID, the first characters of an ID, or `last`.

    \b
    recollect session list
    recollect session history last
    recollect session archive 01a1eb05
    """


@command.command("list")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Only sessions with this label.")
@request_options(
    ListLiveSessions,
    {"imported": "--imported", "offset": "--offset", "limit": "--limit"},
    help={
        "imported": "Also list sessions from agents' logs.",
        "offset": "Skip this many sessions.",
        "limit": "Number of sessions (default: {default}).",
    },
)
@json_option
@realm_options
def listed(labels: tuple[str, ...], arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """List the realm's sessions, last used first.

    \b
    recollect session list --label task=review
    """
    arguments["labels"] = labels_of(labels) or None
    ask("meerkat_list", arguments, _draw_list, as_json=as_json, realm=realm)


@command.command("show")
@LOCATOR
@json_option
@realm_options
def show(session_id: str, as_json: bool, **realm: Any) -> None:
    """Show a session's state, labels and usage.

    \b
    recollect session show last
    """
    _ask("meerkat_read", session_id, {}, _draw_one, as_json=as_json, **realm)


@command.command("history")
@LOCATOR
@request_options(
    ReadHistory,
    {"offset": "--offset", "limit": "--limit"},
    help={"offset": "Skip this many messages.", "limit": "Number of messages (default: {default})."},
)
@json_option
@realm_options
def history(session_id: str, arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Show a session's messages, oldest first.

    \b
    recollect session history last --limit 20
    """
    _ask("meerkat_history", session_id, arguments, _draw_history, as_json=as_json, **realm)


@command.command("interrupt")
@LOCATOR
@json_option
@realm_options
def interrupt(session_id: str, as_json: bool, **realm: Any) -> None:
    """Interrupt the running turn, in any process.

    \b
    recollect session interrupt last
    """
    _ask("meerkat_interrupt", session_id, {}, _draw_interrupted, as_json=as_json, **realm)


@command.command("archive")
@LOCATOR
@json_option
@realm_options
def archive(session_id: str, as_json: bool, **realm: Any) -> None:
    """Archive a session. Its history is kept.

    An archived session cannot be continued and is not listed.

    \b
    recollect session archive last
    """
    _ask("meerkat_archive", session_id, {}, _draw_archived, as_json=as_json, **realm)


def _ask(operation: str, session: str, arguments: dict[str, Any], show: Any, *, as_json: bool, **realm: Any) -> None:
    opened = realm_to_read(**realm)  # a session that exists is in a realm that exists
    try:
        key = locate_session(opened, session, as_json=as_json)
        ask(operation, {"session_id": key, **arguments}, show, as_json=as_json, realm=opened)
    finally:
        opened.close()


def _draw_list(answer: dict[str, Any]) -> None:
    out = console()
    for row in answer["sessions"]:
        labels = escape(" ".join(f"{key}={value}" for key, value in row["labels"].items()))
        details = f"{time_of(row, 'updated_at')}, {row['turns']} turn{'s' if row['turns'] != 1 else ''}, {row['runner']}"
        active = "  [green]running[/]" if row["is_active"] else ""
        out.print(f"[bold]{row['session_id']}[/]  [dim]{details}[/]{active}  {labels}", highlight=False)
    if not answer["sessions"]:
        out.print('No session yet. `recollect run "…"` starts one.')


def _draw_one(row: dict[str, Any]) -> None:
    out = console()
    for name, value in row.items():
        text = " ".join(f"{key}={inner}" for key, inner in value.items()) if isinstance(value, dict) else value
        out.print(f"[dim]{name:>17}[/]  {escape(str(text))}", highlight=False, soft_wrap=True)


def _draw_history(answer: dict[str, Any]) -> None:
    out = console()
    for message in answer["messages"]:
        out.print(f"[bold]{message['role']}[/]  [dim]{message['created_at']}[/]", highlight=False)
        say("\n".join(_parts(message)) + "\n")
    if answer["has_more"]:
        next_offset = answer["offset"] + len(answer["messages"])
        out.print(f"[dim]{answer['message_count'] - next_offset} more: --offset {next_offset}[/]")


def _parts(message: dict[str, Any]) -> list[str]:
    """The full text of a message, with one line per tool call or result."""
    if blocks := message.get("blocks"):
        return [_block(block) for block in blocks]
    if results := message.get("results"):
        return [_result(result) for result in results]
    return [message["content"].rstrip()]


def _block(block: dict[str, Any]) -> str:
    if block.get("type") == "tool_use":
        arguments = json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""
        return "-> " + one_line(f"{block.get('name', 'tool')} {arguments}", MAX_LINE)
    text: str = block.get("text", "")
    return text.rstrip() if block.get("type") == "text" else one_line(f"(thinks) {text}", MAX_LINE)


def _result(result: dict[str, Any]) -> str:
    code = result.get("exit_code")
    outcome = f"(exit code {code}) " if code is not None else "(failed) " if result.get("is_error") else ""
    return "<- " + one_line(outcome + (result.get("content", "").strip() or "(nothing)"), MAX_LINE)


def _draw_interrupted(answer: dict[str, Any]) -> None:
    click.echo("Interrupted." if answer["interrupted"] else "No turn was running.")


def _draw_archived(answer: dict[str, Any]) -> None:
    click.echo(f"Archived. `recollect session history {answer['session_id']}` still shows it.")

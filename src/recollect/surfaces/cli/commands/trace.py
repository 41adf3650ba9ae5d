"""recollect trace"""

from typing import Any

import click

from recollect.operations.trace.requests import GetSessionDetails, SearchEventPreviews
from recollect.operations.trace.session_details import Level
from recollect.operations.trace.views import EVENT_TYPES
from recollect.surfaces.cli import render_trace as draw
from recollect.surfaces.cli.output import ask, session_uuid
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options
from recollect.surfaces.cli.request_options import request_options


@click.group("trace")
def command() -> None:
    """Find exact strings; read a session step by step.

    \b
    recollect trace search serName            also inside words
    recollect trace session 9ab2              its prompts and statistics
    recollect trace session 9ab2 --level steps
    recollect trace analyze 9ab2              failures, loops and slow steps
    """


@command.command("search")
@click.argument("query", type=TEXT, nargs=-1, required=True)
@request_options(
    SearchEventPreviews,
    {
        "limit": "-n --limit",
        "cursor": "--cursor",
        "provider": "--provider",
        "event_type": "-t --type --event-type",
        "session_id": "--session --session-id",
    },
    help={
        "limit": "Number of matches, {ge} to {le} (default: {default}).",
        "cursor": "Continue after an earlier page.",
        "provider": "Only this agent, as listed by `recollect sources`.",
        "event_type": f"Only events of this type: {', '.join(EVENT_TYPES)}.",
        "session_id": "Only this session: its ID or the first characters.",
    },
)
@json_option
@realm_options
def search(query: tuple[str, ...], arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Find every event that contains a string.

    Ignores case. Newest session first.

    \b
    recollect trace search _FAIL
    recollect trace search "connection refused" -t tool_result --provider codex
    """
    text = " ".join(query)
    arguments |= {"query": text, "session_id": session_uuid(arguments.get("session_id"))}
    ask("search_event_previews", arguments, lambda answer: draw.matches(answer, text), as_json=as_json, realm=realm)


@command.command("event")
@click.argument("session_id", metavar="SESSION")
@click.argument("event_index", metavar="INDEX", type=int)
@json_option
@realm_options
def event(session_id: str, event_index: int, as_json: bool, **realm: Any) -> None:
    """Show one event in full.

    \b
    recollect trace event 9ab2 17
    """
    arguments = {"session_id": session_uuid(session_id), "event_index": event_index}
    ask("get_event_details", arguments, draw.event, as_json=as_json, realm=realm)


@command.command("session")
@click.argument("session_id", metavar="SESSION")
@request_options(
    GetSessionDetails,
    {"detail_level": "--level --detail-level", "include_reasoning": "--reasoning --include-reasoning"},
    help={
        "detail_level": f"How much to show: {', '.join(Level)} (default: {{default}}).",
        "include_reasoning": "With --level turns: also show reasoning.",
    },
)
@json_option
@realm_options
def session(session_id: str, arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Show a session at one of four levels of detail.

    \b
    recollect trace session 9ab2
    recollect trace session 9ab2 --level turns --reasoning
    recollect trace session 9ab2 --level full --json > session.json
    """
    arguments["session_id"] = session_uuid(session_id)
    ask("get_session_details", arguments, draw.session, as_json=as_json, realm=realm)


@command.command("analyze")
@click.argument("session_id", metavar="SESSION")
@json_option
@realm_options
def analyze(session_id: str, as_json: bool, **realm: Any) -> None:
    """Find failures, loops and slow steps in a session.

    \b
    recollect trace analyze 9ab2
    """
    ask("analyze_session", {"session_id": session_uuid(session_id)}, draw.analysis, as_json=as_json, realm=realm)

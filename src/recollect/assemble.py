"""Step 2, FOLD: records become Session > Turn > Event. Pure functions; one set of rules for all agents.

The fold has a small state per session. So the result is the same if a log is read in one batch or in many. Events are
final, with one exception. A slash command opens a turn only if the agent answers it. Until then, the records after it are
tentative. Without an answer, the command stays a `system` event, because the program ran it.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from recollect.label import label
from recollect.model import (
    AGENT_KINDS,
    Event,
    Kind,
    Record,
    Session,
    SessionMetadata,
    SessionMode,
    Stop,
    TitleRank,
    Turn,
    TurnStart,
    Usage,
    session_id,
)
from recollect.shown_time import day
from recollect.title import MAX_TITLE, is_placeholder, title_of

MAX_NAME = 256  # characters of a tool's or a model's name that are stored: agents and models allow 64 or 128
MAX_TOOLS = 1_000  # different tools of one turn that are counted: no agent has this many
MAX_OPEN_CALLS = 512  # tool calls without a result that are stored; real sessions have a few
MAX_EXIT_CODE = 1 << 32  # Windows writes unsigned 32 bits
MAX_TENTATIVE = 32  # tentative records after a slash command; with more, it counts as a local command
WEB_TOOLS = {
    "websearch", "webfetch", "web_search", "web_fetch", "web_search_call", "google_web_search", "web.run", "search_web",
    "read_url_content", "fetch_webpage", "fetch_url", "searchweb", "fetchurl",
}  # fmt: skip
OWN_TOOL = re.compile(  # matches the server's name, which agents put before the tool's: recollect__open, recollect_open
    r"@?(?:mcp[-_./:]+)?(?:claude_ai_)?"  # a connector of claude.ai
    r"(?:(?:recollect|moraine)[-_./:]"
    r"|plugin[-_:](?:(?!__)[^./])+[-_:](?:recollect|moraine)(?:__|[./:]|[-_](?!.*__)))",  # the server of a plugin comes last
    re.IGNORECASE,
)
OWN_NAMES = {  # our tools that no other server has, unlike `search`, `open`, `read`, `get_observations`
    "search_sessions", "list_sessions", "search_event_previews", "get_or_create_journey", "query_journey_history",
    "add_document_to_journey", "link_session_to_journey", "meerkat_create_session", "meerkat_start_turn",
    "meerkat_interrupt", "meerkat_read", "meerkat_history", "meerkat_list", "meerkat_archive", "meerkat_config",
}  # fmt: skip
OWN_COMMAND = re.compile(  # our command line, after the usual prefixes of a command
    r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:\w+=\S*\s+)*"
    r"(?:(?:env|time|command|sudo|uvx|uv\s+run|pipx\s+run|\S*python[\d.]*\s+-m)\s+(?:\w+=\S*\s+)*)*"
    r"(?:\S*/)?recollect\s+(?:search|open|list|ask|observations|trace|journey|session|show|export)\b"
)


class OpenCall(Struct, array_like=True):
    """A tool call that waits for its response."""

    tool: str | None
    seq: int
    own: bool


class State(Struct, kw_only=True):
    """The state of a fold: the data of earlier records that the next record of a session needs."""

    native_id: str
    seq: int = 0
    turn: Turn | None = None
    event_count: int = 0
    clocked: bool = False  # a record had a time; if none had, records get the time of the log
    started_at: int | None = None
    updated_at: int = 0
    title: str = ""
    title_rank: int = TitleRank.NONE
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    parent: str | None = None
    parent_call: str | None = None
    is_fork: bool = False  # of its parent, not a sub-agent
    calls: dict[str, OpenCall] = {}
    web: bool = False
    own: bool = False
    tool: bool = False
    usage: Usage = Usage()
    command: list[Record] = []  # an unanswered slash command and the records after it
    before: Turn | None = None  # the turn before that command
    redactions: dict[str, int] = {}
    estimated: bool = False  # an event has the date of the log file


class Folded(Struct):
    """The result of a batch. Ended turns come first, the running turn comes last."""

    events: list[Event]
    turns: list[Turn]
    withdrawn: list[bytes]  # ids of stored events that this batch replaces


def fold(state: State, records: list[Record | SessionMetadata], fallback_at: int) -> Folded:
    """Fold a batch of records into a session. Records get the time `fallback_at` if the session has no times."""
    folded = Folded([], [], [])
    for record in records:
        if isinstance(record, SessionMetadata):
            merge_metadata(state, record)
        else:
            _fold_record(state, record, folded, fallback_at)
    if state.turn is not None:
        folded.turns.append(msgspec.structs.replace(state.turn))  # a copy, because the running turn still changes
    return folded


def merge_metadata(state: State, metadata: SessionMetadata) -> None:
    """Merge metadata into the state. Later values win, except titles of a lower rank and a second working folder."""
    title = label(metadata.title or "", MAX_TITLE)
    if title and not is_placeholder(title) and metadata.title_rank >= state.title_rank:
        state.title, state.title_rank = title, metadata.title_rank
    if metadata.parent:
        state.is_fork = metadata.is_fork and (state.is_fork or state.parent is None)
        state.parent = metadata.parent
    state.parent_call = metadata.parent_call or state.parent_call
    state.cwd = state.cwd or metadata.cwd
    state.branch = metadata.branch or state.branch
    state.model = _name(metadata.model) or state.model


def current_metadata(state: State) -> SessionMetadata:
    """The session's metadata so far."""
    return SessionMetadata(
        session=state.native_id,
        title=state.title,
        title_rank=state.title_rank,
        parent=state.parent,
        parent_call=state.parent_call,
        is_fork=state.is_fork,
        cwd=state.cwd,
        branch=state.branch,
        model=state.model,
    )


def _fold_record(state: State, record: Record, folded: Folded, fallback_at: int) -> None:
    record.tool, record.model = _name(record.tool), _name(record.model)
    if record.at is None:
        record.at = state.updated_at if state.clocked else max(state.updated_at, fallback_at)
        record.estimated = state.estimated or not state.clocked
    else:
        state.clocked = True
    if record.opens is TurnStart.PROMPT:
        state.command = []
        _open_turn(state, record, folded)
    elif record.opens is TurnStart.COMMAND:
        state.command, state.before = [record], _copy(state.turn)
    elif record.opens is TurnStart.ECHO:
        state.command = []
    elif state.command:
        _resolve_command(state, record, folded)
    _append(state, record, folded)


def _name(name: str | None) -> str | None:
    return name if name is None or len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def _resolve_command(state: State, record: Record, folded: Folded) -> None:
    """If the agent answers a slash command, move the command and the records after it to a new turn."""
    if record.kind not in AGENT_KINDS:
        state.command.append(record)
        if len(state.command) > MAX_TENTATIVE:
            state.command = []
        return
    tentative, state.command = state.command, []
    _withdraw(state, tentative, folded)
    tentative[0].opens = TurnStart.PROMPT
    _open_turn(state, tentative[0], folded)
    for earlier in tentative:
        _append(state, earlier, folded)


def _withdraw(state: State, tentative: list[Record], folded: Folded) -> None:
    """Remove the tentative events from the turn. They are created again with the same ids."""
    state.turn, state.before = state.before, None
    state.seq -= len(tentative)
    state.event_count -= len(tentative)
    state.usage = state.usage - sum((record.usage for record in tentative if record.usage), Usage())
    remaining = [event for event in folded.events if event.seq < state.seq]
    stored = len(tentative) - (len(folded.events) - len(remaining))
    folded.events[:] = remaining
    folded.withdrawn += [record.id for record in tentative[:stored]]


def _copy(turn: Turn | None) -> Turn | None:
    return turn and msgspec.structs.replace(turn, tools=turn.tools[:], kinds=turn.kinds[:])


def _open_turn(state: State, record: Record, folded: Folded) -> None:
    turn = state.turn
    if turn is not None and not turn.opened:  # records before the first prompt belong to turn 1 (rule 37)
        turn.opened, turn.prompt, turn.answer, turn.terminal, turn.stop = True, None, None, None, None
        return
    ordinal = 1
    if turn is not None:
        _end_turn(turn)
        folded.turns.append(turn)
        ordinal = turn.ordinal + 1
    at = record.at or 0
    state.turn = Turn(ordinal=ordinal, started_at=at, updated_at=at, opened=True, tools=[], kinds=[])


def _end_turn(turn: Turn) -> None:
    """End a turn because the next one begins, even if the log does not state its end (rule 35)."""
    if turn.terminal is None:
        turn.terminal = turn.answer if turn.answer is not None else turn.last
        turn.stop = Stop.ANSWER if turn.answer is not None else Stop.OTHER


def _append(state: State, record: Record, folded: Folded) -> None:
    at = record.at or 0
    if state.turn is None:
        state.turn = Turn(ordinal=1, started_at=at, updated_at=at, tools=[], kinds=[])
    event = _event(state, record)
    _count(state, state.turn, event, record)
    _note_end(state.turn, event, record)
    folded.events.append(event)


def _event(state: State, record: Record) -> Event:
    turn = state.turn
    assert turn is not None and record.at is not None
    tool, own, answers = record.tool, record.own, None
    is_local_command = record.opens is TurnStart.COMMAND and record.text.startswith("/")  # not a shell line
    if record.kind is Kind.TOOL_CALL:
        own = is_own(record.tool, record.arguments)
        if record.call:
            state.calls[record.call] = OpenCall(record.tool, state.seq, own)
            if len(state.calls) > MAX_OPEN_CALLS:
                del state.calls[next(iter(state.calls))]
    elif record.kind is Kind.TOOL_RESPONSE and (call := state.calls.get(record.call or "")):
        tool, own, answers = tool or call.tool, call.own, call.seq
        if not state.command:  # otherwise the response may be folded again
            del state.calls[record.call or ""]
    if record.model:
        state.model = record.model
    return Event(
        id=record.id,
        turn=turn.ordinal,
        seq=state.seq,
        kind=Kind.SYSTEM if is_local_command else record.kind,
        at=record.at,
        line=record.line,
        text=record.text,
        arguments=record.arguments,
        tool=tool,
        model=record.model or (state.model if record.kind in {Kind.TOOL_CALL, Kind.TOOL_RESPONSE} else None),
        answers=answers,
        exit_code=_exit_code(record.exit_code),
        failed=record.failed,
        own=own,
        estimated=record.estimated,
        usage=record.usage,
    )


def _exit_code(code: int | None) -> int | None:
    """The exit code, or None if no program can have it."""
    return code if code is not None and abs(code) <= MAX_EXIT_CODE else None


def _count(state: State, turn: Turn, event: Event, record: Record) -> None:
    state.seq += 1
    state.event_count += 1
    turn.event_count += 1
    turn.last = event.seq
    turn.started_at = min(turn.started_at, event.at)
    turn.updated_at = max(turn.updated_at, event.at)
    state.started_at = event.at if state.started_at is None else min(state.started_at, event.at)
    state.updated_at = max(state.updated_at, event.at)
    turn.estimated = turn.estimated or event.estimated
    state.estimated = state.estimated or event.estimated
    if event.kind not in turn.kinds:
        turn.kinds.append(event.kind)
    if event.kind is Kind.TOOL_CALL and event.tool:
        _count_tool(state, turn, event.tool, own=event.own)
    if record.usage:
        turn.usage, state.usage = turn.usage + record.usage, state.usage + record.usage
    state.cwd = state.cwd or record.cwd
    state.branch = record.branch or state.branch
    if event.kind is Kind.USER_INPUT:
        _note_prompt(state, turn, event, record)


def _count_tool(state: State, turn: Turn, tool: str, *, own: bool) -> None:
    if tool not in turn.tools and len(turn.tools) < MAX_TOOLS:
        turn.tools.append(tool)
    state.tool = True
    state.own = state.own or own
    state.web = state.web or tool.rsplit("__", 1)[-1].lower().replace("-", "_") in WEB_TOOLS


def _note_prompt(state: State, turn: Turn, event: Event, record: Record) -> None:
    if turn.prompt is None:
        turn.prompt = event.seq
    if record.opens is not TurnStart.PROMPT:
        return
    if state.title_rank >= TitleRank.PROMPT:
        return
    title, names_subject = title_of(event.text)
    if names_subject:
        state.title, state.title_rank = title, TitleRank.PROMPT
    else:  # used until a later prompt names the subject
        state.title = state.title or title


def _note_end(turn: Turn, event: Event, record: Record) -> None:
    """Note the end of a turn if the log states it. A later act of the agent in the turn removes the end."""
    if event.kind is Kind.ASSISTANT_RESPONSE:
        turn.answer = event.seq
    if record.stop is None:
        if event.kind in AGENT_KINDS:
            turn.terminal = turn.stop = None
        return
    if record.stop in {Stop.ANSWER, Stop.EXIT}:
        if event.kind is not Kind.ASSISTANT_RESPONSE and turn.terminal is not None:
            return  # bookkeeping after a known end
        turn.terminal = turn.answer if turn.answer is not None else event.seq
        turn.stop = Stop.ANSWER if turn.answer is not None else record.stop
    else:
        turn.terminal, turn.stop = event.seq, record.stop


def session_of(state: State, source: str, path: str, source_title: str) -> Session:
    """The session in the form that the archive stores."""
    turn = state.turn
    assert turn is not None and state.started_at is not None
    return Session(
        id=session_id(source, state.native_id),
        source=source,
        native_id=state.native_id,
        path=path,
        title=state.title or f"{source_title}, {day(state.started_at, estimated=state.estimated)}",
        title_rank=state.title_rank,
        started_at=state.started_at,
        updated_at=state.updated_at,
        completed=turn.terminal is not None,
        turn_count=turn.ordinal,
        event_count=state.event_count,
        mode=_mode(state),
        parent=session_id(source, state.parent) if state.parent else None,
        parent_call=state.parent_call,
        cwd=state.cwd,
        branch=state.branch,
        model=state.model,
        usage=state.usage,
        redactions=state.redactions,
        estimated=state.estimated or not state.clocked,
    )


def _mode(state: State) -> SessionMode:
    if state.web:
        return SessionMode.WEB_SEARCH
    if state.own:
        return SessionMode.MCP_INTERNAL
    return SessionMode.TOOL_CALLING if state.tool else SessionMode.CHAT


def is_own(tool: str | None, arguments: dict[str, Any] | None) -> bool:
    """Whether a call is one of Recollect's own tools, or runs its command line in a shell."""
    if tool is None:
        return False
    if tool in OWN_NAMES or OWN_TOOL.match(tool):
        return True
    command = (arguments or {}).get("command") or (arguments or {}).get("cmd")
    if isinstance(command, list):  # a shell with its script as the last item, or a program with its arguments
        words = [word for word in command if isinstance(word, str)]
        return any(OWN_COMMAND.match(line) is not None for line in (" ".join(words), *words[-1:]))
    return isinstance(command, str) and OWN_COMMAND.match(command) is not None

"""`library/continue`: a live session goes on with any session, in any runner.

The agent loads its own session if it can. Otherwise the first turn begins with a brief, which a preview shows with its cost.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from recollect.continuation.agents import AGENTS
from recollect.continuation.resume import is_folder
from recollect.errors import BadRequest, SessionBusy, SessionNotFound, SessionNotLoaded
from recollect.live import LiveRealm
from recollect.live.runners import ACP_SESSION
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest, TurnResult
from recollect.model import LIVE_SOURCE
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref, uuid_text
from recollect.operations.library.answers import BriefView, Continuation
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.continuation_requests import ContinueSession
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.resume import agent_name, agent_names
from recollect.operations.library.runner_choice import ContinuingRunner, runner_of
from recollect.operations.sessions.turns import runner_folder, turn_request
from recollect.realms import config as configs
from recollect.realms.runner_config import ACP, COMMAND
from recollect.session_state import SessionState
from recollect.store import SessionRow
from recollect.store.live import LiveRow

if TYPE_CHECKING:
    from recollect.continuation.brief import Brief

GO_ON = "Go on with this work from where it stopped."  # the prompt of a person who gives none
NATIVE, BRIEF = "native", "brief"


class ContinuationPlan(Struct, frozen=True, kw_only=True):
    """How a session will be continued."""

    session: SessionRow
    live: LiveRow | None  # the live session that takes the turn, if there is one already
    runner: ContinuingRunner
    way: str
    brief: "Brief"
    folder: str
    warnings: Sequence[str]


def continue_session(realm: LiveRealm, request: ContinueSession, context: RequestContext) -> LibraryAnswer:
    config = configs.read(realm.home)
    with open_library(realm, context) as library:
        plan = _plan(library, request, config.config, context)
    if request.preview:
        return LibraryAnswer(_preview(plan, request), warnings=[*plan.warnings])
    turn = turn_request(realm, plan.runner.chosen, plan.runner.command, request.prompt or GO_ON, config, context)
    may_fail_to_load = plan.runner.kind == ACP and request.way != NATIVE
    turn = replace(
        turn,
        context=plan.brief.text if plan.way == BRIEF or may_fail_to_load else "",
        must_load=request.way == NATIVE and plan.live is None,
        is_fresh=plan.way == BRIEF,
    )
    result = _run(realm, plan, turn)
    return LibraryAnswer(_finished(plan, request, result), warnings=[*plan.warnings])


# ---- planning


def _plan(library: Library, request: ContinueSession, config: dict[str, Any], context: RequestContext) -> ContinuationPlan:
    session = _find(library, request.id)
    live = _open_live_session(library.realm, session)
    _refuse_running(library, session)
    runner = runner_of(library.realm, config, request, session.source, live, context)
    folder, warnings = _folder(session, live, runner)
    way = _way(library, request, session, live, runner, folder)
    if way == NATIVE and live is None:
        warnings += _still_open(library, session)
    return ContinuationPlan(
        session=session,
        live=live,
        runner=runner,
        way=way,
        brief=_brief(library, session, request.budget_tokens),
        folder=folder,
        warnings=[*library.warnings(), *warnings],
    )


def _find(library: Library, text: str) -> SessionRow:
    """The session; for the log that an agent wrote of our own live session, the live session."""
    session = library.find(text)
    parent_id = library.reader.parent(session.id) if session.source != LIVE_SOURCE else None
    parent = library.reader.session(parent_id) if parent_id is not None else None
    return parent if parent is not None and parent.source == LIVE_SOURCE else session


def _open_live_session(realm: LiveRealm, session: SessionRow) -> LiveRow | None:
    """The live session that can take another turn; None if the session was imported, or is archived."""
    if session.source != LIVE_SOURCE:
        return None
    try:
        row, is_active = realm.live.read(session.id)
    except SessionNotFound:
        return None
    if is_active:
        raise _busy(session)
    return row


def _refuse_running(library: Library, session: SessionRow) -> None:
    if library.states.of([session])[session.key] is SessionState.WORKING:
        raise _busy(session)


def _busy(session: SessionRow) -> SessionBusy:
    return SessionBusy(
        f"This session is running: {session.title!r}. Wait until its turn ends, or interrupt it.",
        session_id=uuid_text(session.id),
        state=SessionState.WORKING,
    )


def _folder(session: SessionRow, live: LiveRow | None, runner: ContinuingRunner) -> tuple[str, list[str]]:
    """Where the agent works: as the runner is configured, else where the session worked."""
    if live is not None:
        return live.folder, []
    if runner.chosen.options.get("folder"):
        return runner_folder(runner.chosen.options), []
    if session.cwd is not None and is_folder(session.cwd):
        return session.cwd, []
    here = runner_folder({})
    known = (
        f"The session's folder {session.cwd} is not on this machine" if session.cwd else "The session's folder is unknown"
    )
    return here, [f"{known}: the agent works in {here}."]


def _way(
    library: Library,
    request: ContinueSession,
    session: SessionRow,
    live: LiveRow | None,
    runner: ContinuingRunner,
    folder: str,
) -> str:
    """Whether the agent has the session, or can load it. Raises `BadRequest` if it must and cannot."""
    reason = _why_brief(library, session, live, runner, folder)
    if request.way == NATIVE and reason:
        raise BadRequest(f"way cannot be native: {reason}", field="way")
    return BRIEF if reason or request.way == BRIEF else NATIVE


def _why_brief(library: Library, session: SessionRow, live: LiveRow | None, runner: ContinuingRunner, folder: str) -> str:
    """Why the runner's agent needs a brief; empty if it has the session."""
    if runner.kind == COMMAND:
        return "a program that answers one prompt loads no sessions."
    if live is not None:
        is_same = (live.runner, live.command) == (runner.chosen.name, runner.command)
        return "" if is_same else "the earlier turns ran in another agent."
    if runner.kind != ACP or runner.agent is None:
        return f"it is not known which agent the runner {runner.chosen.name!r} starts; its option `agent` can name it."
    if runner.agent != session.source:
        return f"{agent_name(runner.agent)} cannot load a session of {agent_name(session.source)}."
    program = AGENTS.get(session.source)
    if (program is not None and program.ids.fullmatch(session.native_id) is None) or library.reader.is_spawned(session.id):
        return "it is the session of a sub-agent, or of another form of the agent."
    if session.cwd is not None and folder != session.cwd:
        return f"the agent loads it in its own folder only, {session.cwd}."
    return ""


def _still_open(library: Library, session: SessionRow) -> list[str]:
    state = library.states.of([session])[session.key]
    if state not in (SessionState.WAITING, SessionState.IDLE):
        return []
    agent = agent_name(session.source)
    return [f"The session was active a short time ago. If {agent} still has it open, close it there before you go on."]


def _brief(library: Library, session: SessionRow, budget: int) -> "Brief":
    from recollect.continuation.brief import Brief, make_brief  # 60 ms of CPU for phrases, only needed for a brief
    from recollect.continuation.session_record import read_record
    from recollect.continuation.token_budget import count_tokens

    record = read_record(library.reader, library.memory, session, agent_names())
    text = library.realm.redact(make_brief(record, budget).text)
    return Brief(text, count_tokens(text), budget)


# ---- running


def _run(realm: LiveRealm, plan: ContinuationPlan, turn: TurnRequest) -> TurnResult:
    """Run the turn, in the live session or in a new one. A new one whose agent could not load the session is removed."""
    if plan.live is not None:
        return realm.live.run(plan.live.id, turn)
    new = NewSession(
        labels={},
        runner=plan.runner.chosen.name,
        command=realm.redact(plan.runner.command),
        folder=plan.folder,
        generation=turn.generation,
        continues=plan.session.id,
        runner_state={ACP_SESSION: plan.session.native_id} if plan.way == NATIVE else {},
    )
    session = realm.live.create(new).id
    try:
        return realm.live.run(session, turn)
    except SessionNotLoaded as reason:
        realm.live.discard(session)
        reason.details.pop("session_id", None)
        raise


# ---- answers


def _preview(plan: ContinuationPlan, request: ContinueSession) -> Continuation:
    live = plan.live
    return _answer(plan, request, live.id if live is not None else None, plan.way, plan.brief)


def _finished(plan: ContinuationPlan, request: ContinueSession, result: TurnResult) -> Continuation:
    way = BRIEF if result.has_context or plan.way == BRIEF else NATIVE
    answer = _answer(plan, request, result.session, way, plan.brief if way == BRIEF else None)
    return replace(
        answer,
        started=True,
        text=result.text,
        usage=result.usage,
        turns=result.turns,
        tool_calls=result.tool_calls,
        stop_reason=result.stop_reason,
    )


def _answer(
    plan: ContinuationPlan, request: ContinueSession, session: bytes | None, way: str, brief: "Brief | None"
) -> Continuation:
    return Continuation(
        session=session_ref(session) if session is not None else None,
        uuid=uuid_text(session) if session is not None else None,
        continues=session_ref(plan.session.id),
        way=way,
        runner=plan.runner.chosen.name,
        agent=plan.runner.agent,
        folder=plan.folder,
        prompt=request.prompt or GO_ON,
        brief=BriefView(text=brief.text, tokens=brief.tokens, budget_tokens=brief.budget) if brief is not None else None,
    )

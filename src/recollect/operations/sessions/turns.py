"""Creates and archives live sessions, and runs and interrupts their turns."""

from functools import partial
from pathlib import Path
from typing import Any

from recollect.errors import BadRequest, ProviderFault, SessionNotFound
from recollect.live import LiveRealm
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest, TurnResult
from recollect.model import path_text
from recollect.operations.context import RequestContext
from recollect.operations.ids import uuid_text
from recollect.operations.journeys.journeys import join, journey_for
from recollect.operations.sessions import imported
from recollect.operations.sessions.envelope import Answer
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.operations.sessions.requests import Archive, CreateSession, Interrupt, StartTurn
from recollect.operations.sessions.runners import ChosenRunner, choose_runner
from recollect.operations.sessions.session_lookup import open_imported, refuse_imported, session_key
from recollect.realms import config as configs
from recollect.realms.runner_config import COMMAND, RECALL
from recollect.redact import count_marks
from recollect.store.live import LiveRow


def create_session(realm: LiveRealm, request: CreateSession, context: RequestContext) -> Answer:
    prompt = request.first_prompt()
    config = configs.read(realm.home)
    name = _runner_name(request, _default_runner(config.config))
    command = _command(realm, request, context)
    chosen = choose_runner(realm, config.config, name, command, context)
    folder = runner_folder(chosen.options)
    journey = journey_for(realm, request.user_id, request.journey_id)
    row = realm.live.create(
        NewSession(
            labels=realm.redact(request.labels),
            runner=name,
            command=realm.redact(command),
            folder=folder,
            generation=config.generation,
        )
    )
    if journey is not None:
        join(realm, journey, row.id, row.created_at)
    if request.is_deferred:
        return {"session_id": uuid_text(row.id)}
    return _result(realm.live.run(row.id, turn_request(realm, chosen, command, prompt, config, context)))


def start_turn(realm: LiveRealm, request: StartTurn, context: RequestContext) -> Answer:
    key = session_key(realm, request.session_id)
    config = configs.read(realm.home)
    try:
        row, _ = realm.live.read(key)
    except SessionNotFound as absent:
        refuse_imported(realm, key, context, absent)
    command = _command(realm, request, context)
    name = _runner_name(request, row.runner)
    if command is None and name == row.runner:
        command = stored_command(row)
    chosen = choose_runner(realm, config.config, name, command, context)
    return _result(realm.live.run(key, turn_request(realm, chosen, command, request.prompt, config, context)))


def _command(realm: LiveRealm, request: CreateSession | StartTurn, context: RequestContext) -> list[str] | None:
    if request.command is not None:
        check_may_name_programs(realm, context, "command")
    return request.command


def _runner_name(request: CreateSession | StartTurn, default: str) -> str:
    if request.runner:
        return request.runner
    return COMMAND if request.command is not None and default == RECALL else default


def stored_command(row: LiveRow) -> list[str] | None:
    """The command that the session was created with. Raises `BadRequest` if a secret was removed from it."""
    if any(count_marks(word) for word in row.command or ()):
        raise BadRequest("This session's command has a secret, which is not stored. Pass command again.", field="command")
    return row.command


def _default_runner(config: dict[str, Any]) -> str:
    name = config.get("runner")
    return name if isinstance(name, str) else RECALL


def runner_folder(options: dict[str, Any]) -> str:
    """The working folder of a runner's agents: the configured folder, else the current one."""
    try:
        return str(options.get("folder") or path_text(Path.cwd()))
    except FileNotFoundError as reason:
        raise ProviderFault("The folder that Recollect was started in is no longer there.") from reason


def turn_request(
    realm: LiveRealm,
    chosen: ChosenRunner,
    command: list[str] | None,
    prompt: str,
    config: configs.Config,
    context: RequestContext,
) -> TurnRequest:
    timeout = config.config.get("turn_timeout_ms")
    return TurnRequest(
        prompt=prompt,
        runner=chosen.run,
        runner_name=chosen.name,
        command=chosen.command,
        stored_command=realm.redact(command),
        options=chosen.options,
        generation=config.generation,
        on_event=context.on_event,
        is_cancelled=context.cancelled,
        earlier=partial(imported.newest_messages, realm),
        timeout_s=timeout / 1000 if isinstance(timeout, int) and timeout > 0 else None,
    )


def _result(result: TurnResult) -> Answer:
    return {
        "session_id": uuid_text(result.session),
        "text": result.text,
        "usage": result.usage,
        "turns": result.turns,
        "tool_calls": result.tool_calls,
        "stop_reason": result.stop_reason,
    }


def interrupt(realm: LiveRealm, request: Interrupt, context: RequestContext) -> Answer:
    key = session_key(realm, request.session_id)
    try:
        interrupted = realm.live.interrupt(key)
    except SessionNotFound as absent:
        with open_imported(realm, key, context, absent):
            interrupted = False  # no turn of it runs here
    return {"session_id": uuid_text(key), "interrupted": interrupted}


def archive(realm: LiveRealm, request: Archive, context: RequestContext) -> Answer:
    key = session_key(realm, request.session_id)
    try:
        realm.live.archive(key)
    except SessionNotFound as absent:
        refuse_imported(realm, key, context, absent)
    return {"session_id": uuid_text(key), "archived": True}

"""The sessions family: live sessions in a realm, on every surface. Answers are bare objects."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from recollect.errors import AmbiguousId, BadRequest, Cancelled, ProviderFault, RecollectError, SessionNotFound
from recollect.live import LiveRealm
from recollect.live.event_streams import Subscriber
from recollect.live.sessions import NewSession
from recollect.live.turn_runner import TurnRequest, TurnResult
from recollect.model import LIVE_SOURCE, path_text, replace_surrogates, timestamp
from recollect.operations.arguments import Arguments, check_names, flag, integer, one_of
from recollect.operations.ids import uuid_key, uuid_text
from recollect.operations.journeys import join, journey_for
from recollect.operations.operation import Family, Operation, Reply, RequestContext, open_reader
from recollect.operations.sessions import definitions as said
from recollect.operations.sessions import imported, realms, runners
from recollect.operations.sessions.envelope import Answer, refused, replied
from recollect.operations.sessions.programs import check_may_name_programs
from recollect.realms import config as configs
from recollect.realms.runner_config import COMMAND, RECALL
from recollect.redact import marks
from recollect.store import Reader, SessionRow
from recollect.store.live import LiveRow

WITHIN_MS = 5_000  # the deadline of what only reads
LONGEST_LABEL = 256  # characters
MOST_LABELS = 64
LAST = "last"
PREFIX = re.compile(r"[0-9a-f]{4,31}")  # of an id without its dashes
SHOWN = 10  # ids that a beginning may mean
FARTHEST = 1 << 53  # past the end of anything, and a number that every program can read


# ---- checking what came


def session_key(realm: LiveRealm, value: Any) -> bytes:
    """The session that `<uuid>` or `<realm>:<uuid>` names. In another realm than this one there is none."""
    where, name = _parted(value)
    key = uuid_key(name, "session_id")
    if where and where != realm.name:
        raise SessionNotFound(f"{value} is not a session of this realm, {realm.name}.")
    return key


def _parted(value: Any) -> tuple[str, str]:
    """The realm and the rest of a locator; the realm is empty where none is named."""
    if not isinstance(value, str):
        raise BadRequest("session_id must be a string", field="session_id")
    where, colon, name = value.rpartition(":")
    if colon and not where:
        raise BadRequest("session_id must name a realm before its colon, or have none", field="session_id")
    return where, name


def _prompt(given: Arguments) -> str:
    value = given.get("prompt")
    if not isinstance(value, str) or not value.strip():
        raise BadRequest("prompt must be a text that says something", field="prompt")
    if len(value) > said.LONGEST_PROMPT:
        raise BadRequest(f"prompt must be at most {said.LONGEST_PROMPT:,} characters", field="prompt")
    return replace_surrogates(value)


def _labels(realm: LiveRealm, value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(label, str) for label in value.values()):
        raise BadRequest("labels must be an object of strings", field="labels")
    if not all(name.strip() for name in value) or any("\0" in part for label in value.items() for part in label):
        raise BadRequest("labels must have names that say something, and no zero bytes", field="labels")
    if len(value) > MOST_LABELS or any(len(part) > LONGEST_LABEL for label in value.items() for part in label):
        raise BadRequest(f"labels must be at most {MOST_LABELS}, of {LONGEST_LABEL} characters each", field="labels")
    labels: dict[str, str] = realm.redact(
        {replace_surrogates(name): replace_surrogates(label) for name, label in value.items()}
    )
    return labels


def _command(realm: LiveRealm, given: Arguments, context: RequestContext) -> list[str] | None:
    value = given.get("command")
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value) or not value[0]:
        raise BadRequest("command must be an array of strings: a program and its arguments", field="command")
    if any(word != replace_surrogates(word) or "\0" in word for word in value):
        raise BadRequest("command cannot be run: all its words must be UTF-8, without zero bytes", field="command")
    check_may_name_programs(realm, context, "command")
    return value


def _runner_name(given: Arguments, default: str) -> str:
    value = given.get("runner")
    if value is None:
        return COMMAND if given.get("command") is not None and default == RECALL else default
    if not isinstance(value, str) or not value:
        raise BadRequest("runner must be a name", field="runner")
    return value


def _offset(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int or value < 0:
        raise BadRequest("offset must be an integer, 0 or more", field="offset")
    return min(value, FARTHEST)


def _check_time(realm: LiveRealm, context: RequestContext) -> None:
    if context.past_deadline(realm.deadline_ms(WITHIN_MS))():
        raise Cancelled("the request took longer than its deadline")


# ---- finding


def locate(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    """The session that a person means: also `last`, or the beginning of an id."""
    check_names(given, said.LOCATE["input_schema"]["properties"])
    value = given.get("session_id")
    where, name = _parted(value)
    digits = name.lower().replace("-", "")
    if where and where != realm.name:
        return {"session_id": uuid_text(session_key(realm, value))}
    if name == LAST:
        newest = realm.live.list_sessions({}, 0, 1)
        if not newest:
            raise SessionNotFound(f"There is no session in realm {realm.name} yet.")
        return {"session_id": uuid_text(newest[0][0].id)}
    if PREFIX.fullmatch(digits) is None:
        return {"session_id": uuid_text(session_key(realm, value))}
    return {"session_id": _begins(realm, name, digits)}


def _begins(realm: LiveRealm, name: str, digits: str) -> str:
    found = [uuid_text(key) for key in realm.live.find_by_prefix(digits, SHOWN)]
    if len(found) > 1:
        raise AmbiguousId(f"{name} is the beginning of more than one session's id.", matches=found)
    if not found:
        raise SessionNotFound(f"No session's id begins with {name} in this realm.")
    return found[0]


@contextmanager
def _imported(
    realm: LiveRealm, key: bytes, context: RequestContext, absent: SessionNotFound
) -> Iterator[tuple[Reader, SessionRow]]:
    """An imported session with a reader of its archive; raises `absent` where there is none of this id."""
    with open_reader(realm, context, WITHIN_MS) as reader:
        session = imported.imported_session(reader, key)
        if session is None:
            raise absent
        yield reader, session


def _refuse_imported(realm: LiveRealm, key: bytes, context: RequestContext, absent: SessionNotFound) -> NoReturn:
    """Say of an imported session that it cannot be changed here."""
    with _imported(realm, key, context, absent) as (_, session):
        raise SessionNotFound(
            f"This session was imported from {session.source}: it can be read here, not continued or archived.",
            session_id=uuid_text(key),
        ) from absent


# ---- creating and running


def create_session(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.CREATE["input_schema"]["properties"])
    initial = one_of(given.get("initial_turn"), "initial_turn", (said.IMMEDIATE, said.DEFERRED), said.IMMEDIATE)
    is_deferred = initial == said.DEFERRED
    prompt = "" if is_deferred and given.get("prompt") is None else _prompt(given)
    labels = _labels(realm, given.get("labels"))
    config = configs.read(realm.home)
    name = _runner_name(given, _default_runner(config.config))
    command = _command(realm, given, context)
    chosen = runners.choose(realm, config.config, name, command, context)
    folder = _folder(chosen.options)
    journey = journey_for(realm, given.get("user_id"), given.get("journey_id"))
    row = realm.live.create(
        NewSession(
            labels=labels,
            runner=name,
            command=realm.redact(command),
            folder=folder,
            generation=config.generation,
        )
    )
    if journey is not None:
        join(realm, journey, row.id, row.created_at)
    if is_deferred:
        return {"session_id": uuid_text(row.id)}
    return _ran(realm.live.run(row.id, _order(realm, chosen, command, prompt, config, context)))


def start_turn(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.TURN["input_schema"]["properties"])
    key = session_key(realm, given.get("session_id"))
    prompt = _prompt(given)
    config = configs.read(realm.home)
    try:
        row, _ = realm.live.read(key)
    except SessionNotFound as absent:
        _refuse_imported(realm, key, context, absent)
    command = _command(realm, given, context)
    name = _runner_name(given, row.runner)
    if command is None and name == row.runner:
        command = _stored_command(row)
    chosen = runners.choose(realm, config.config, name, command, context)
    return _ran(realm.live.run(key, _order(realm, chosen, command, prompt, config, context)))


def _stored_command(row: LiveRow) -> list[str] | None:
    """The command that the session was created with, where it is stored whole."""
    if any(marks(word) for word in row.command or ()):
        raise BadRequest("This session's command has a secret, which is not stored. Pass command again.", field="command")
    return row.command


def _default_runner(config: dict[str, Any]) -> str:
    name = config.get("runner")
    return name if isinstance(name, str) else RECALL


def _folder(options: dict[str, Any]) -> str:
    """Where a session's agents work: as the realm's config says, else where we are."""
    try:
        return str(options.get("folder") or path_text(Path.cwd()))
    except FileNotFoundError as reason:
        raise ProviderFault("The folder that Recollect was started in is no longer there.") from reason


def _order(
    realm: LiveRealm,
    chosen: runners.Chosen,
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
        timeout_s=timeout / 1000 if isinstance(timeout, int) and timeout > 0 else None,
    )


def _ran(ran: TurnResult) -> Answer:
    return {
        "session_id": uuid_text(ran.session),
        "text": ran.text,
        "usage": ran.usage,
        "turns": ran.turns,
        "tool_calls": ran.tool_calls,
        "stop_reason": ran.stop_reason,
    }


def interrupt(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.INTERRUPT["input_schema"]["properties"])
    key = session_key(realm, given.get("session_id"))
    try:
        interrupted = realm.live.interrupt(key)
    except SessionNotFound as absent:
        with _imported(realm, key, context, absent):
            interrupted = False  # no turn of it runs here
    return {"session_id": uuid_text(key), "interrupted": interrupted}


def archive(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.ARCHIVE["input_schema"]["properties"])
    key = session_key(realm, given.get("session_id"))
    try:
        realm.live.archive(key)
    except SessionNotFound as absent:
        _refuse_imported(realm, key, context, absent)
    return {"session_id": uuid_text(key), "archived": True}


# ---- reading


def read(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.READ["input_schema"]["properties"])
    key = session_key(realm, given.get("session_id"))
    _check_time(realm, context)
    try:
        return _view(realm, *realm.live.read(key))
    except SessionNotFound as absent:
        with _imported(realm, key, context, absent) as (reader, session):
            return imported.session_view(realm, reader, session)


def _view(realm: LiveRealm, row: LiveRow, is_active: bool) -> Answer:
    return {
        "session_id": uuid_text(row.id),
        "realm_id": realm.name,
        "instance_id": row.instance,
        "backend": realm.backend,
        "config_generation": row.generation,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
        "message_count": row.messages,
        "is_active": is_active,
        "labels": row.labels,
        "usage": row.usage,
        "turns": row.turns,
        "runner": row.runner,
        **({"archived_at": timestamp(row.archived_at)} if row.archived_at is not None else {}),
    }


def history(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.HISTORY["input_schema"]["properties"])
    key = session_key(realm, given.get("session_id"))
    offset = _offset(given.get("offset"))
    limit = integer(given.get("limit"), "limit", said.DEFAULT_PAGE, said.MOST_PAGE)
    _check_time(realm, context)
    try:
        row, messages = realm.live.history(key, offset, limit)
    except SessionNotFound as absent:
        with _imported(realm, key, context, absent) as (reader, session):
            return imported.history_view(reader, session, offset, limit)
    return {
        "session_id": uuid_text(key),
        "message_count": row.messages,
        "offset": offset,
        "limit": limit,
        "has_more": offset + len(messages) < row.messages and bool(messages),
        "messages": [msgspec.Raw(body) for body in messages],
    }


def list_sessions(realm: LiveRealm, given: Any, context: RequestContext) -> Answer:
    check_names(given, said.LIST["input_schema"]["properties"])
    labels = _labels(realm, given.get("labels"))
    offset = _offset(given.get("offset"))
    limit = integer(given.get("limit"), "limit", said.DEFAULT_PAGE, said.MOST_PAGE)
    _check_time(realm, context)
    if not flag(given.get("imported"), "imported") or labels:  # an imported session has no labels
        return {"sessions": [_view(realm, *found) for found in realm.live.list_sessions(labels, offset, limit)]}
    most = offset + limit
    with open_reader(realm, context, WITHIN_MS) as reader:
        live, others = realm.live.list_sessions({}, 0, most), reader.last_updated(LIVE_SOURCE, most)
        rows: list[tuple[int, bytes, Callable[[], Answer]]] = [
            *((row.updated_at, row.id, partial(_view, realm, row, is_active)) for row, is_active in live),
            *((row.updated_at, row.id, partial(imported.session_view, realm, reader, row)) for row in others),
        ]
        rows.sort(key=lambda row: row[:2], reverse=True)
        return {"sessions": [view() for _, _, view in rows[offset:most]]}


def listen(realm: LiveRealm, session: str, heard: int | None, on_change: Callable[[], None]) -> Subscriber | Reply:
    """The events of a session's turns, to be read one by one; or why there are none."""
    try:
        return realm.live.subscribe(session_key(realm, session), heard, on_change)
    except RecollectError as reason:
        return refused(reason)


def is_present(realm: LiveRealm, session: str) -> bool:
    """Whether there may be turns of a session in the future."""
    try:
        return realm.live.is_open(session_key(realm, session))
    except RecollectError:  # whoever reads its events is not told of that, but of the next turn
        return True


FAMILY = Family(
    operations=(
        Operation(run=replied(create_session), **said.CREATE),
        Operation(run=replied(start_turn), **said.TURN),
        Operation(run=replied(interrupt), **said.INTERRUPT),
        Operation(run=replied(read), **said.READ),
        Operation(run=replied(history), **said.HISTORY),
        Operation(run=replied(list_sessions), **said.LIST),
        Operation(run=replied(archive), **said.ARCHIVE),
        Operation(run=replied(locate), **said.LOCATE),
        Operation(run=replied(realms.config), **said.CONFIG),
        Operation(run=replied(realms.realm_list), **said.REALM_LIST),
        Operation(run=replied(realms.realm_get), **said.REALM_GET),
        Operation(run=replied(realms.realm_delete), **said.REALM_DELETE),
        Operation(run=replied(realms.realm_prune), **said.REALM_PRUNE),
    ),
    guide="To run an agent and keep what it does: meerkat_create_session, then meerkat_start_turn and meerkat_history.",
)

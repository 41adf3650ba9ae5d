"""`library/forget`: forgets sessions for good: a few, those of a project, or those that are older than a date."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.dates import until_of
from recollect.errors import BadRequest, GenerationConflict, StoreFault
from recollect.filters import FilterTerm
from recollect.library_answers import ForgetCounts, ForgetReceipt, ForgottenSession
from recollect.live import LiveRealm
from recollect.model import timestamp
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.envelope import LibraryAnswer
from recollect.operations.library.requests import ForgetSessions
from recollect.store import SessionRow
from recollect.store.erase import count_in_memory

if TYPE_CHECKING:
    from recollect.realms.forget import OnStep

NOTHING_CHOSEN = "Name what to forget: ids, a project, or before a date."
TWO_CHOICES = "Name either ids, or a project and a date."


def forget(
    realm: LiveRealm, request: ForgetSessions, context: RequestContext, on_step: "OnStep | None" = None
) -> LibraryAnswer:
    if not realm.is_writable():
        raise StoreFault(f"The state folder {realm.folder} is read-only, so nothing can be forgotten.")
    with open_library(realm, context) as library:
        chosen = _chosen(library, request)
        family = library.reader.with_sub_agents(chosen)
        receipt = _receipt(library, chosen, family)
    if request.confirm is not None and request.confirm != receipt.counts.sessions:
        raise GenerationConflict(
            f"{receipt.counts.sessions} sessions would be forgotten now, not {request.confirm}. Nothing was forgotten.",
            sessions=receipt.counts.sessions,
        )
    if request.dry_run or not receipt.sessions:
        return LibraryAnswer(receipt, warnings=library.warnings())
    from recollect.realms.forget import forget_sessions, no_steps  # 70 ms of CPU with the reading of logs, only needed here

    freed = forget_sessions(realm, family, on_step or no_steps)
    for session in family:
        realm.live.streams.end_session(str(uuid.UUID(bytes=session)))
    done = ForgetReceipt(
        dry_run=False, sessions=receipt.sessions, counts=receipt.counts, logs=receipt.logs, bytes_freed=freed
    )
    return LibraryAnswer(done, warnings=library.warnings())


def _chosen(library: Library, request: ForgetSessions) -> list[bytes]:
    """The sessions that the request names, without their sub-agents."""
    if request.ids:
        if request.project or request.before is not None:
            raise BadRequest(TWO_CHOICES, field="ids")
        return list(dict.fromkeys(library.find(text).id for text in request.ids))
    if not request.project and request.before is None:
        raise BadRequest(NOTHING_CHOSEN, field="ids")
    chosen = _of_projects(library, request.project) if request.project else None
    if request.before is None:
        return chosen or []
    old = library.reader.families_older_than(until_of(request.before, library.now))
    return old if chosen is None else [session for session in old if session in set(chosen)]


def _of_projects(library: Library, projects: Sequence[str]) -> list[bytes]:
    terms = [FilterTerm("project", project.removeprefix("-"), project.startswith("-")) for project in projects]
    keys = library.reader.filtered_keys(library.resolve_terms(terms).sessions)
    return list(library.reader.session_ids(keys).values())


def _receipt(library: Library, chosen: Sequence[bytes], family: Sequence[bytes]) -> ForgetReceipt:
    """What goes, if it goes now."""
    rows = [row for session in family if (row := library.reader.session(session)) is not None]
    named = set(chosen)
    views = [_view(row, is_sub_agent=row.id not in named) for row in rows]
    memory = count_in_memory(library.memory, family)
    counts = ForgetCounts(
        sessions=len(rows),
        sub_agents=sum(view.is_sub_agent for view in views),
        turns=sum(row.turn_count for row in rows),
        events=sum(row.event_count for row in rows),
        observations=memory.observations,
        recorded=memory.recorded,
        labels=memory.labels,
        notes=memory.notes,
    )
    own = library.realm.folder  # where a jsonl realm has its transcripts
    logs = [log for log in map(Path, library.reader.logs_with(family)) if log.exists() and own not in log.parents]
    return ForgetReceipt(dry_run=True, sessions=views, counts=counts, logs=sorted(map(str, logs)), bytes_freed=None)


def _view(session: SessionRow, *, is_sub_agent: bool) -> ForgottenSession:
    return ForgottenSession(
        id=session_ref(session.id),
        uuid=str(uuid.UUID(bytes=session.id)),
        title=session.title,
        agent=session.source,
        project=session.project,
        updated_at=timestamp(session.updated_at),
        turns=session.turn_count,
        events=session.event_count,
        is_sub_agent=is_sub_agent,
    )

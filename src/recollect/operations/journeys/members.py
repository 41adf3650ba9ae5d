"""Keeps the session summaries of a journey up to date: sessions grow and are distilled after they are summarised."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from recollect.distil.texts import index_words
from recollect.errors import ReadOnlyFolder
from recollect.observe import states_cause
from recollect.operations.journeys.session_summary import summary_of
from recollect.realms import Realm
from recollect.store import Reader, SessionRow
from recollect.store.journeys import Journeys, Member, SessionSummaryRow, session_mark
from recollect.store.memory import Memory, ObservationRow

BATCH = 32  # sessions per transaction, which takes some tens of milliseconds
DIAGNOSIS, BUG_FIX = "diagnosis", "bug-fix"  # types of observations; a bug fix is a diagnosis only if it states a cause


def summarise(reader: Reader, memory: Memory, session: SessionRow, supplied: str = "") -> SessionSummaryRow:
    """The summary of a session: the one that the caller supplied, else one that is built from the session.

    Call inside a transaction of the memory, so that no observation is added meanwhile.
    """
    summary = supplied or summary_of(reader, memory, session)
    return SessionSummaryRow(
        session=session.id,
        started_at=session.started_at,
        mark=session_mark(session),
        summary=summary,
        words=index_words(summary),
        is_supplied=bool(supplied),
        estimated=bool(session.estimated),
    )


def refresh_summaries(realm: Realm, journey: bytes, is_late: Callable[[], bool], should_stop: Callable[[], bool]) -> None:
    """Update outdated summaries of a journey's sessions, newest first, until `should_stop`.

    Deleted sessions are hidden first, because they must not be shown.
    """
    with realm.open_archive() as reader:
        reader.interrupt_when(is_late)
        with realm.open_memory() as memory:
            memory.interrupt_when(is_late)
            outdated, deleted = Journeys(memory).outdated_members(journey, reader.path)
        if deleted:
            _hide(realm, deleted)
        for start in range(0, len(outdated), BATCH):
            if should_stop():
                return
            with suppress(ReadOnlyFolder):  # the old summaries are shown
                _update(realm, reader, outdated[start : start + BATCH])


def _hide(realm: Realm, sessions: Sequence[bytes]) -> None:
    with realm.open_memory(writable=True) as memory, memory.transaction():
        for session in sessions:
            Journeys(memory).hide_session(session)


def _update(realm: Realm, reader: Reader, sessions: Sequence[bytes]) -> None:
    with realm.open_memory(writable=True) as memory, memory.transaction():
        for identity in sessions:
            if (session := reader.session(identity)) is not None:
                Journeys(memory).update_summary(summarise(reader, memory, session))


def sessions_with_diagnosis(memory: Memory, members: Sequence[Member]) -> set[bytes]:
    """The sessions that have a diagnosis: as a caller said, else by their observations."""
    stated = {member.session for member in members if member.diagnosed}
    unstated = [member.session for member in members if member.diagnosed is None]
    observations = memory.observations_of_types(unstated, (DIAGNOSIS, BUG_FIX))
    return stated | {row.session for row in observations if _is_diagnosis(row)}


def _is_diagnosis(row: ObservationRow) -> bool:
    return row.type == DIAGNOSIS or states_cause("\n".join((row.title, row.subtitle, row.narrative, *row.facts)))

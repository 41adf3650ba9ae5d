"""The sessions of a journey as they are now. A session grows, and is distilled later, so what is told of it gets old."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from recollect.distil import index_words
from recollect.errors import ReadOnlyFolder
from recollect.observe import states_cause
from recollect.operations.journeys.session_summary import summary_of
from recollect.realms import Realm
from recollect.store import Reader, SessionRow
from recollect.store.journeys import Journeys, Member, SessionSummaryRow, session_mark
from recollect.store.memory import Memory, ObservationRow

AT_ONCE = 32  # sessions per transaction: some tens of milliseconds
DIAGNOSIS, MENDED = "diagnosis", "bug-fix"  # types of observations; one of the second kind must say why it was so


def told_of(reader: Reader, memory: Memory, session: SessionRow, given: str = "") -> SessionSummaryRow:
    """What is told of a session, in the words that were given for it or in ours.

    To be called inside a transaction of the memory, so that no observation comes in between.
    """
    summary = given or summary_of(reader, memory, session)
    return SessionSummaryRow(
        session=session.id,
        started_at=session.started_at,
        mark=session_mark(session),
        summary=summary,
        words=index_words(summary),
        is_supplied=bool(given),
        estimated=bool(session.estimated),
    )


def settle(realm: Realm, journey: bytes, late: Callable[[], bool], soon: Callable[[], bool]) -> None:
    """Bring what is told of a journey's sessions level with them, newest first, until it is time to answer.

    What is gone comes before all else: nothing of it may be shown.
    """
    with realm.open_archive() as reader:
        reader.interrupt_when(late)
        with realm.open_memory() as memory:
            memory.interrupt_when(late)
            outdated, gone = Journeys(memory).outdated_members(journey, reader.path)
        if gone:
            _hide(realm, gone)
        for start in range(0, len(outdated), AT_ONCE):
            if soon():
                return
            with suppress(ReadOnlyFolder):  # their last summaries are all that can be shown
                _retell(realm, reader, outdated[start : start + AT_ONCE])


def _hide(realm: Realm, sessions: Sequence[bytes]) -> None:
    with realm.open_memory(writable=True) as memory, memory.transaction():
        for session in sessions:
            Journeys(memory).hide_session(session)


def _retell(realm: Realm, reader: Reader, sessions: Sequence[bytes]) -> None:
    with realm.open_memory(writable=True) as memory, memory.transaction():
        for identity in sessions:
            if (session := reader.session(identity)) is not None:
                Journeys(memory).update_summary(told_of(reader, memory, session))


def diagnosed_among(memory: Memory, members: Sequence[Member]) -> set[bytes]:
    """Those that hold a diagnosis: because somebody said so, else because one was observed."""
    said = {one.session for one in members if one.diagnosed}
    unsaid = [one.session for one in members if one.diagnosed is None]
    observed = {row.session for row in memory.observations_of_types(unsaid, (DIAGNOSIS, MENDED)) if _is_diagnosis(row)}
    return said | observed


def _is_diagnosis(row: ObservationRow) -> bool:
    return row.type == DIAGNOSIS or states_cause("\n".join((row.title, row.subtitle, row.narrative, *row.facts)))

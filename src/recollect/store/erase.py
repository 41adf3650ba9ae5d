"""Erases sessions from the memory and from the live sessions."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from recollect.errors import StoreFault
from recollect.store.journaled import RULES
from recollect.store.memory import Memory
from recollect.store.transcripts import transcript_path

TEXT_TABLES = ("observation_text", "summary_text")


class MemoryCounts(Struct, frozen=True):
    """What the memory has about sessions. `recorded`: observations that no rule can make again."""

    observations: int
    recorded: int
    labels: int
    notes: int


def count_in_memory(memory: Memory, sessions: Sequence[bytes]) -> MemoryCounts:
    """What the memory has about these sessions."""
    authors = memory._rows_in("SELECT made_by FROM observation WHERE session IN", sessions)
    return MemoryCounts(
        observations=len(authors),
        recorded=sum(made_by != RULES for (made_by,) in authors),
        labels=len(memory._rows_in("SELECT 1 FROM label WHERE session IN", sessions)),
        notes=len(memory._rows_in("SELECT 1 FROM note WHERE session IN", sessions)),
    )


def erase_from_memory(memory: Memory, sessions: Sequence[bytes]) -> None:
    """Erase everything about these sessions, also what people and agents wrote about them, and their words."""
    with memory.transaction():
        for session in sessions:
            memory.forget_session(session, for_good=True)
            memory.db.execute("DELETE FROM member WHERE session = ?", (session,))
        memory.rewrite_journal()
        for table in TEXT_TABLES:  # deleted words stay in the index of a table until it is merged
            memory.db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def erase_transcripts(realm: Path, sessions: Sequence[bytes]) -> None:
    """Erase the transcript files of live sessions. Only a jsonl realm has them."""
    for session in sessions:
        path = transcript_path(realm, session)
        try:
            path.unlink(missing_ok=True)
        except OSError as reason:
            raise StoreFault(f"The file {path} cannot be deleted: {reason.strerror}.") from reason

"""Leaves forgotten sessions out of logs that are read again."""

from collections.abc import Iterable
from pathlib import Path

from recollect.model import Entry, Problem, Record, SessionMetadata, event_id, path_text, session_id
from recollect.store import Writer


def names_in(path: Path) -> set[str]:
    """The names of the folders and of the file in a path, also without endings: some may be native ids."""
    return {name for part in path.parts for name in (part, part.partition(".")[0]) if name}


class ForgottenRecords:
    """Leaves out what belongs to forgotten sessions, from the entries of one log."""

    def __init__(self, archive: Writer, source: str, path: Path) -> None:
        self.archive = archive
        self.source = source
        self.path = path
        self.has_removed = False  # the log has something that was forgotten
        self._sessions: dict[str, bool] = {}  # whether a session was forgotten, by native id

    def remove(self, entries: list[Entry]) -> list[Entry]:
        """These entries without forgotten sessions, their sub-agents, and copies of their records."""
        if not self.archive.has_tombstones:
            return entries
        self._forget_sub_agents(entry for entry in entries if isinstance(entry, SessionMetadata))
        kept, is_left_out = [], False
        for entry in entries:
            if isinstance(entry, Record | SessionMetadata):
                is_left_out = self.is_forgotten(entry.session)
            if not is_left_out or not isinstance(entry, Record | SessionMetadata | Problem):
                kept.append(entry)
        kept = self._without_copies(kept)
        self.has_removed = self.has_removed or len(kept) < len(entries)
        return kept

    def is_all(self) -> bool:
        """Whether the log has nothing but what was forgotten, so that its path must not be stored."""
        if not self.archive.has_tombstones or self.archive.has_content_of(path_text(self.path)):
            return False
        return self.has_removed or any(map(self.is_forgotten, names_in(self.path)))

    def is_forgotten(self, native_id: str) -> bool:
        known = self._sessions.get(native_id)
        if known is None:
            known = self._sessions[native_id] = self.archive.is_forgotten(session_id(self.source, native_id))
        return known

    def _forget_sub_agents(self, entries: Iterable[SessionMetadata]) -> None:
        """Forget sub-agents of forgotten sessions that become known only now."""
        for entry in entries:
            if (
                entry.parent
                and not entry.is_fork
                and self.is_forgotten(entry.parent)
                and not self.is_forgotten(entry.session)
            ):
                self.archive.erase_sessions([session_id(self.source, entry.session)])
                self.archive.load_caches()
                self._sessions[entry.session] = True

    def _without_copies(self, entries: list[Entry]) -> list[Entry]:
        """The entries without records of forgotten sessions that a resumed or forked session repeats."""
        records = [entry for entry in entries if isinstance(entry, Record)]
        titles = [entry for entry in entries if isinstance(entry, SessionMetadata) and entry.leaf is not None]
        ids = {event_id(self.source, key) for key in (*(one.key for one in records), *(one.leaf or "" for one in titles))}
        forgotten = self.archive.forgotten(ids)
        return [entry for entry in entries if not self._is_copy(entry, forgotten)] if forgotten else entries

    def _is_copy(self, entry: Entry, forgotten: set[bytes]) -> bool:
        if isinstance(entry, SessionMetadata):
            return entry.leaf is not None and event_id(self.source, entry.leaf) in forgotten
        if not isinstance(entry, Record) or event_id(self.source, entry.key) not in forgotten:
            return False
        own_key = f"{entry.session}/{entry.key}"  # the key that it has if another event once had its id
        if self.archive.locate_events([event_id(self.source, own_key)]):
            entry.key = own_key
            return False
        return True

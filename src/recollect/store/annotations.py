"""Labels of sessions, and notes on sessions and events: what people wrote beside their history."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from recollect.store.journaled import JournaledDatabase
from recollect.store.sqlite.database import placeholders

MAX_NOTE = 10_000  # characters: a page of text
MAX_LABEL = 64  # characters: a few words


class Annotations(JournaledDatabase):
    """The part of the memory that has labels and notes. Sessions and events are named by their ids."""

    def put_label(self, session: bytes, name: str, at: int) -> bool:
        """Label a session. Returns whether the label is new."""
        added = self.db.execute("INSERT OR IGNORE INTO label VALUES (?, ?, ?)", (session, name, at)).rowcount > 0
        if added:
            self.journal("label", session, name)
        return added

    def remove_label(self, session: bytes, name: str) -> bool:
        """Remove a label. Returns whether the session had it."""
        removed = self.db.execute("DELETE FROM label WHERE session = ? AND name = ?", (session, name)).rowcount > 0
        if removed:
            self.rewrite_journal()
        return removed

    def put_note(self, session: bytes, target: bytes, text: str, at: int) -> None:
        """Set the note on a session or an event; an empty text removes it."""
        if text:
            self.db.execute("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)", (target, session, text, at))
            self.journal("note", target)
        elif self.db.execute("DELETE FROM note WHERE target = ?", (target,)).rowcount:
            self.rewrite_journal()

    def forget_annotations(self, session: bytes) -> None:
        """Remove the labels and notes of a session and of its events."""
        for table in ("label", "note"):
            self.db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))

    # ---- queries

    def labels_of(self, sessions: Sequence[bytes]) -> dict[bytes, list[str]]:
        """The labels of each of these sessions, by name."""
        labels: dict[bytes, list[str]] = {}
        rows = self._rows(
            f"SELECT session, name FROM label WHERE session IN ({placeholders(sessions)}) ORDER BY name", tuple(sessions)
        )
        for session, name in rows:
            labels.setdefault(session, []).append(name)
        return labels

    def notes_of(self, targets: Sequence[bytes]) -> dict[bytes, str]:
        """The notes on these sessions or events."""
        rows = self._rows(f"SELECT target, text FROM note WHERE target IN ({placeholders(targets)})", tuple(targets))
        return dict(rows)

    def event_notes(self, session: bytes) -> dict[bytes, str]:
        """The notes on a session and on its events."""
        return dict(self._rows("SELECT target, text FROM note WHERE session = ?", (session,)))

    def label_counts(self) -> dict[str, int]:
        """All labels with the number of sessions that have each."""
        return dict(self._rows("SELECT name, count(*) FROM label GROUP BY name ORDER BY name"))

    def labelled_sessions(self, keys_of: Callable[[Iterable[bytes]], Mapping[bytes, int]]) -> dict[str, list[int]]:
        """The keys of the sessions with each label. `keys_of` finds the keys of ids."""
        rows = self._rows("SELECT name, session FROM label ORDER BY name")
        keys = keys_of({session for _, session in rows})
        labelled: dict[str, list[int]] = {}
        for name, session in rows:
            labelled.setdefault(name, [])
            if session in keys:
                labelled[name].append(keys[session])
        return labelled

"""Queries about sessions that are to be forgotten."""

from collections.abc import Iterable, Sequence

from recollect.model import LIVE_SOURCE
from recollect.store.sqlite.database import SqliteDatabase

CONTINUATIONS = f"""
    SELECT link.child, link.parent FROM link JOIN session ON session.id = link.child
     WHERE link.is_fork AND session.source = '{LIVE_SOURCE}'"""
"""(live session, the session that it continues)"""


class ForgetQueries(SqliteDatabase):
    """The part of the reader that finds what is forgotten together."""

    def with_sub_agents(self, sessions: Iterable[bytes]) -> list[bytes]:
        """These sessions, their sub-agents, and the logs that agents wrote of their turns.

        A fork is another session. But a live session that continues one of them belongs to it: its first turn quotes it.
        """
        family = dict.fromkeys(sessions)
        pending = list(family)
        while pending:
            found = self._rows_in("SELECT child FROM link WHERE NOT is_fork AND parent IN", pending)
            found += self._rows_in("SELECT id FROM session WHERE duplicate_of IN", pending)
            found += [row[:1] for row in self._rows_in(f"{CONTINUATIONS} AND link.parent IN", pending)]
            pending = [session for (session,) in found if session not in family]
            family |= dict.fromkeys(pending)
        return list(family)

    def families_older_than(self, at: int) -> list[bytes]:
        """The sessions that were last updated before a time, if that is true of their sub-agents and parents too."""
        parents: dict[bytes, bytes] = dict(self._rows("SELECT child, parent FROM link WHERE NOT is_fork"))
        parents.update(self._rows("SELECT id, duplicate_of FROM session WHERE duplicate_of IS NOT NULL"))
        parents.update(self._rows(CONTINUATIONS))
        updates: dict[bytes, int] = dict(self._rows("SELECT id, updated_at FROM session WHERE event_count > 0"))
        roots = {session: _root_of(session, parents) for session in updates}
        newest: dict[bytes, int] = {}
        for session, root in roots.items():
            newest[root] = max(newest.get(root, 0), updates[session])
        return [session for session, root in roots.items() if newest[root] < at]

    def logs_with(self, sessions: Sequence[bytes]) -> list[str]:
        """The logs that these sessions were read from, and the logs that overlap with these."""
        logs = dict.fromkeys(path for (path,) in self._rows_in("SELECT path FROM session WHERE id IN", sessions))
        logs |= dict.fromkeys(other for (other,) in self._rows_in("SELECT other FROM log_overlap WHERE path IN", list(logs)))
        return list(logs)

    def keys_with_ids(self, sessions: Sequence[bytes]) -> list[int]:
        """The keys of these sessions, also of empty ones."""
        return [key for (key,) in self._rows_in("SELECT key FROM session WHERE id IN", sessions)]


def _root_of(session: bytes, parents: dict[bytes, bytes]) -> bytes:
    seen = {session}
    while (parent := parents.get(session)) is not None and parent not in seen:
        seen.add(parent)
        session = parent
    return session

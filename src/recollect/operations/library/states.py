"""The states of sessions, by the evidence in the archive, in the log's file, and among this machine's processes."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from recollect.live import LiveRealm
from recollect.model import LIVE_SOURCE
from recollect.programs import ProcessState, Program, ProgramScan, can_see
from recollect.session_state import QUIET_MS, RECENT_MS, Evidence, SessionState, state_of
from recollect.store import Reader, SessionRow
from recollect.store.sqlite.session_filter import Names

SCAN = ProgramScan()
CLOCK_MS = 2_000  # a process may seem to start this much later than the first line that it wrote
ONE_SESSION = (".jsonl", ".zst")  # endings of logs that hold one session, so their date is the session's


class SessionStates:
    """Finds the states of sessions at one moment."""

    def __init__(self, realm: LiveRealm, reader: Reader, now: int) -> None:
        self._realm, self._reader, self._now = realm, reader, now

    def of(self, sessions: Sequence[SessionRow]) -> dict[int, SessionState]:
        """The state of each session, by key. The processes of this machine are only looked at for recent sessions."""
        if any(self._now - session.updated_at <= RECENT_MS for session in sessions):
            return self.by_key([session.key for session in sessions])
        return self._older_states([session.key for session in sessions])

    def in_states(self, wanted: Iterable[SessionState]) -> Names:
        """The sessions in one of these states."""
        states = set(wanted)
        older = (
            self._reader.keys_updated_before(self._now - RECENT_MS)
            if states & {SessionState.ENDED, SessionState.DIED}
            else []
        )
        known = {**self._recent_states(), **self._older_states(older)}
        return Names(tuple(key for key, state in known.items() if state in states))

    def by_key(self, keys: Sequence[int]) -> dict[int, SessionState]:
        """The state of each of these sessions."""
        recent = self._recent_states()
        older = self._older_states([key for key in keys if key not in recent])
        return {key: recent[key] if key in recent else older[key] for key in keys}

    def _older_states(self, keys: Sequence[int]) -> dict[int, SessionState]:
        """The states of sessions that are too old to run."""
        complete = self._reader.complete_sessions(keys)
        return {key: SessionState.ENDED if key in complete else SessionState.DIED for key in keys}

    def recent(self) -> list[tuple[SessionRow, SessionState]]:
        """All sessions that may be running, newest first."""
        rows = self._reader.recent_sessions(self._now - RECENT_MS)
        states = self._recent_states(rows)
        return [(row, states[row.key]) for row in rows]

    def _recent_states(self, rows: Sequence[SessionRow] | None = None) -> dict[int, SessionState]:
        """The states of all recent sessions. They are found together, because a process belongs to one of them."""
        rows = self._reader.recent_sessions(self._now - RECENT_MS) if rows is None else rows
        keys = [row.key for row in rows]
        complete, parents = self._reader.complete_sessions(keys), self._reader.parents(keys)
        processes = self._processes([row for row in rows if row.key not in parents])
        live = self._live_states() if any(row.source == LIVE_SOURCE for row in rows) else {}
        states = {}
        for row in rows:
            parent = parents.get(row.key)
            evidence = Evidence(row.key in complete, self._age(row), processes.get(parent or row.id, ProcessState.UNKNOWN))
            state = live.get(row.id) or state_of(evidence)
            is_sub_agent = parent is not None and row.id not in live
            states[row.key] = SessionState.ENDED if is_sub_agent and evidence.is_complete else state
        return states

    def _age(self, session: SessionRow) -> int:
        """The time since the newest event, or since the log was written, if it holds nothing else."""
        newest = session.updated_at
        if session.path.endswith(ONE_SESSION):
            with suppress(OSError, ValueError):  # the log is gone, or the text was never a path
                newest = max(newest, Path(session.path).stat().st_mtime_ns // 1_000_000)
        return max(0, self._now - newest)

    def _processes(self, sessions: Sequence[SessionRow]) -> dict[bytes, ProcessState]:
        """The state of the process of each session, by id. The newest sessions of a folder get its processes."""
        states: dict[bytes, ProcessState] = {}
        taken: set[int] = set()
        for session in sessions:
            if not can_see(session.source):
                continue
            running = SCAN.resuming(session.source, session.native_id) or [
                program for program in SCAN.working_in(session.source, session.cwd) if _may_have_written(program, session)
            ]
            free = next((program for program in running if program.pid not in taken), None)
            states[session.id] = free.state() if free is not None else ProcessState.GONE
            if free is not None:
                taken.add(free.pid)
        return states

    def _live_states(self) -> dict[bytes, SessionState]:
        """The states of the sessions that Recollect runs."""
        states = {}
        for row, is_running in self._realm.live.list_sessions({}, 0, 1_000):
            age = self._now - row.updated_at
            if is_running:
                states[row.id] = SessionState.WORKING
            elif row.archived_at is not None or age > RECENT_MS:
                states[row.id] = SessionState.ENDED
            else:
                states[row.id] = SessionState.WAITING if age <= QUIET_MS else SessionState.IDLE
        return states


def _may_have_written(program: Program, session: SessionRow) -> bool:
    """Whether a program already ran when the session was last written."""
    return program.started_at <= session.updated_at + CLOCK_MS

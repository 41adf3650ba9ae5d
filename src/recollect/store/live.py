"""The live sessions of a realm: their committed messages, running turns, and the leases of processes.

They have their own database, because any process can begin and commit a turn while another one reads logs into the archive
for minutes. Each change of state is one transaction.
"""

import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import ReadOnlyFolder, SessionBusy, SessionNotFound
from recollect.model import now_ms, timestamp
from recollect.store.sqlite.database import OutOfDate, SqliteDatabase, file_identity, roll_back, transaction
from recollect.store.sqlite.event_cells import as_json

Message = dict[str, Any]


def live_path(realm: Path) -> Path:
    """The path of the database. Its folder has no other files, so a watcher of the folder sees these changes only."""
    return realm / "live" / "live.db"


class LiveRow(Struct, kw_only=True, rename={"runner_state": "kept"}):
    """The committed state of a session. Transcript files name `runner_state` `kept`, for older versions."""

    id: bytes
    created_at: int
    updated_at: int
    labels: dict[str, str]
    runner: str
    command: list[str] | None
    folder: str
    runner_state: dict[str, Any]
    instance: str
    generation: int
    turns: int = 0
    messages: int = 0
    events: int = 0
    usage: dict[str, Any] = {}
    archived_at: int | None = None
    changed: int = 0
    bytes: int = 0
    native_ids: list[str] = []
    continues: str | None = None  # the id of the session that it goes on with, in hexadecimal digits


class RunningRow(Struct, frozen=True):
    """A running turn."""

    session: bytes
    token: bytes
    holder: str
    turn: int
    began_at: int
    prompt: str
    child: str = ""
    cancelled: int = 0


class LeaseRow(Struct, frozen=True):
    """A process that uses the realm. The lease is valid while its heartbeat continues."""

    holder: str
    instance: str
    surface: str
    pid: int
    began_at: int
    boot: str
    beat: int


CACHE_KB = 1_024  # of pages in memory: every running turn has its own connection
_WRITE_LOCK = threading.Lock()  # of this process: in SQLite, waiting threads sleep longer and longer, and may starve
FIELDS = LiveRow.__struct_fields__
JSON_FIELDS = ("labels", "command", "runner_state", "usage", "native_ids")
COLUMNS = ", ".join(FIELDS)
RUNNING = ", ".join(RunningRow.__struct_fields__)
LEASE = ", ".join(LeaseRow.__struct_fields__)


class Live(SqliteDatabase):
    """One connection for one thread."""

    def __init__(self, realm: Path, *, writable: bool = True) -> None:
        """Open the database for writing and migrate it. In a read-only folder, or if not `writable`, open it for reading."""
        path = live_path(realm)
        self.is_read_only = not writable
        try:
            self._open(path, writable=writable)
        except OutOfDate:
            if file_identity(path) is None:
                raise
            self._open(path, writable=True)  # an older version wrote it: opening it for writing migrates it
            self.is_read_only = False
        except ReadOnlyFolder:
            self.is_read_only = True
            self._open(path, is_absent=file_identity(path) is None)
        self.file = file_identity(self.path)

    def _open(self, path: Path, *, writable: bool = False, is_absent: bool = False) -> None:
        super().__init__(path, writable=writable, schema="live_schema", cache_kb=CACHE_KB, is_absent=is_absent)

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """A transaction. A `durable` one survives a power failure right after its commit."""
        with _WRITE_LOCK:
            self._rows(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            with transaction(self.db, self.path):
                yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All queries in the block see the same state, even if another connection commits meanwhile."""
        self._rows("BEGIN")
        try:
            yield
        finally:
            roll_back(self.db)

    # ---- sessions

    def session(self, session: bytes) -> LiveRow | None:
        row = self._one(f"SELECT {COLUMNS} FROM session WHERE id = ?", (session,))
        return _row(row) if row else None

    def active_session(self, session: bytes) -> LiveRow:
        """A session that exists and is not archived. Raises `SessionNotFound`."""
        row = self.session(session)
        if row is None:
            raise SessionNotFound("There is no such session in this realm.")
        if row.archived_at is not None:
            raise SessionNotFound(
                f"This session was archived on {timestamp(row.archived_at)}: it takes no more turns. "
                "Its history stays readable; start a new session to go on.",
                archived_at=timestamp(row.archived_at),
            )
        return row

    def put(self, row: LiveRow) -> None:
        """Store the state of a session. Call it inside a transaction."""
        row.changed = self._count_change()
        self._put(row)

    def _put(self, row: LiveRow) -> None:
        values = {
            **msgspec.structs.asdict(row),
            **{name: as_json(value) for name in JSON_FIELDS if (value := getattr(row, name)) is not None},
        }
        self._rows(f"INSERT OR REPLACE INTO session ({COLUMNS}) VALUES ({', '.join(f':{name}' for name in FIELDS)})", values)

    def _count_change(self) -> int:
        """The number of a new change: at least the current time, so that a new database continues after the old one."""
        rows = self._rows("UPDATE meta SET value = max(value + 1, ?) WHERE name = 'changes' RETURNING value", (now_ms(),))
        return int(rows[0][0])

    def change_count(self) -> int:
        """A number that grows with every commit, from 0. It shows whether the archive is up to date."""
        return int(self.meta("changes") or 0)

    def changed_after(self, change: int) -> list[LiveRow]:
        """The sessions with a later change, in the order of their changes."""
        rows = self._rows(f"SELECT {COLUMNS} FROM session WHERE changed > ? ORDER BY changed", (change,))
        return [_row(row) for row in rows]

    def list_sessions(self, labels: dict[str, str], offset: int, limit: int) -> list[LiveRow]:
        """Sessions that are not archived and have all of these labels, the last updated first."""
        tests = " AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ? AND value = ?)" * len(labels)
        rows = self._rows(
            f"""
            SELECT {COLUMNS}
              FROM session
             WHERE archived_at IS NULL{tests}
             ORDER BY updated_at DESC, id DESC
             LIMIT ? OFFSET ?""",
            [*(part for label in labels.items() for part in label), limit, offset],
        )
        return [_row(row) for row in rows]

    def ids_with_prefix(self, prefix: str, limit: int) -> list[bytes]:
        """Ids that start with these hexadecimal digits."""
        rows = self._rows(
            "SELECT id FROM session WHERE lower(hex(id)) LIKE ? ORDER BY id LIMIT ?",
            (f"{prefix}%", limit),
        )
        return [session for (session,) in rows]

    # ---- messages

    def messages(self, session: bytes, offset: int, limit: int) -> list[bytes]:
        """Committed messages as JSON, oldest first."""
        rows = self._rows(
            "SELECT body FROM message WHERE session = ? AND seq >= ? ORDER BY seq LIMIT ?", (session, offset, limit)
        )
        return [body for (body,) in rows]

    def append(self, row: LiveRow, messages: Sequence[bytes]) -> None:
        """Add messages. Call it inside a transaction, before the session is `put`."""
        values = [(row.id, row.messages + index, body) for index, body in enumerate(messages)]
        self.db.executemany("INSERT INTO message VALUES (?, ?, ?)", values)
        row.messages += len(messages)

    def replace(self, row: LiveRow, messages: Sequence[bytes]) -> None:
        """Replace a session and its messages by those of its file. Call it inside a transaction."""
        self._rows("DELETE FROM message WHERE session = ?", (row.id,))
        row.messages = 0
        self.append(row, messages)
        self.put(row)

    def remove(self, session: bytes) -> None:
        """Remove a session. Call it inside a transaction."""
        for table in ("message WHERE session", "running WHERE session", "session WHERE id"):
            self._rows(f"DELETE FROM {table} = ?", (session,))

    def sizes(self) -> dict[bytes, int]:
        """How many bytes of each session's file the database has."""
        return dict(self._rows("SELECT id, bytes FROM session"))

    # ---- running turns

    def running(self, session: bytes) -> RunningRow | None:
        row = self._one(f"SELECT {RUNNING} FROM running WHERE session = ?", (session,))
        return RunningRow(*row) if row else None

    def all_running(self) -> list[RunningRow]:
        return [RunningRow(*row) for row in self._rows(f"SELECT {RUNNING} FROM running")]

    def begin_turn(self, turn: RunningRow) -> None:
        """Begin a turn. Raises `SessionBusy` if one is running. Call it inside a transaction."""
        if self.running(turn.session) is not None:
            name = str(uuid.UUID(bytes=turn.session))
            raise SessionBusy("A turn of this session is running; interrupt it, or wait for its end.", session_id=name)
        marks = ", ".join("?" * len(RunningRow.__struct_fields__))
        self._rows(f"INSERT INTO running ({RUNNING}) VALUES ({marks})", msgspec.structs.astuple(turn))

    def is_current(self, turn: RunningRow) -> bool:
        """Whether a turn is still running: no process has marked it as crashed."""
        running = self.running(turn.session)
        return running is not None and running.token == turn.token

    def end_turn(self, turn: RunningRow) -> None:
        self._rows("DELETE FROM running WHERE session = ? AND token = ?", (turn.session, turn.token))

    def put_child(self, turn: RunningRow, child: str) -> None:
        self._rows("UPDATE running SET child = ? WHERE session = ? AND token = ?", (child, turn.session, turn.token))

    def cancel(self, session: bytes) -> bool:
        """Request the end of a running turn from its process. Returns False if no turn runs."""
        return bool(self._rows("UPDATE running SET cancelled = 1 WHERE session = ? RETURNING 1", (session,)))

    def uncancelled_turns(self, holder: str) -> set[bytes]:
        """The tokens of a process's running turns that are not cancelled."""
        rows = self._rows("SELECT token FROM running WHERE holder = ? AND NOT cancelled", (holder,))
        return {token for (token,) in rows}

    # ---- leases

    def put_lease(self, lease: LeaseRow) -> None:
        marks = ", ".join("?" * len(LeaseRow.__struct_fields__))
        self._rows(f"INSERT OR REPLACE INTO lease ({LEASE}) VALUES ({marks})", msgspec.structs.astuple(lease))

    def lease(self, holder: str) -> LeaseRow | None:
        row = self._one(f"SELECT {LEASE} FROM lease WHERE holder = ?", (holder,))
        return LeaseRow(*row) if row else None

    def leases(self) -> list[LeaseRow]:
        return [LeaseRow(*row) for row in self._rows(f"SELECT {LEASE} FROM lease ORDER BY began_at")]

    def release(self, holder: str) -> None:
        self._rows("DELETE FROM lease WHERE holder = ?", (holder,))


def _row(row: Any) -> LiveRow:
    values = dict(zip(FIELDS, row, strict=True))
    for name in JSON_FIELDS:
        values[name] = msgspec.json.decode(values[name]) if values[name] is not None else None
    return LiveRow(**values)

"""Reads logs that share records together, in one order (docs/decisions/2026-11-18-reading-order.md)."""

from pathlib import Path

import msgspec

from recollect.ingest.discover import Log
from recollect.ingest.log_identity import CursorState, is_same_log
from recollect.model import path_text
from recollect.sources import Lines
from recollect.store import Cursor, Writer


def can_reread(archive: Writer, logs: list[Log]) -> bool:
    """Whether these logs still hold all events that the archive read from them."""
    return all(_is_complete(archive, log) for log in logs)


def _is_complete(archive: Writer, log: Log) -> bool:
    path = path_text(log.path)
    cursor = archive.cursor(path)
    if not isinstance(log.format, Lines) or any(archive.session_prefix(session) for session in archive.sessions_at(path)):
        return False
    if cursor is None or cursor.state is None:
        return not any(archive.all_stored_events(session) for session in archive.sessions_at(path))
    return _only_grew(log, cursor)


def _only_grew(log: Log, cursor: Cursor) -> bool:
    try:
        state = msgspec.msgpack.decode(cursor.state or b"", type=CursorState)
        return not state.previous and not state.was_rotated and is_same_log(log.path, log.stamp, cursor, state)
    except (msgspec.DecodeError, OSError):
        return False


def may_have_shrunk(log: Log | None, cursor: Cursor) -> bool:
    """Whether a log, even a deleted one, may have held more than now. Only its cursor knows what that was."""
    if cursor.state is None or (log is not None and not isinstance(log.format, Lines)):
        return False
    try:
        state = msgspec.msgpack.decode(cursor.state, type=CursorState)
        return bool(state.previous) or log is None or not is_same_log(log.path, log.stamp, cursor, state)
    except msgspec.DecodeError:
        return False
    except OSError:
        return True


def only_last_grew(archive: Writer, changed: list[Log], others: list[Log]) -> bool:
    """Whether only the last log in reading order changed. Then continuing it has the same result as reading all again."""
    if len(changed) != 1:
        return False
    logs = [*changed, *others]
    before = [_reading_order(archive, log, as_read=True) for log in logs]
    now = [_reading_order(archive, log, as_read=False) for log in logs]
    return all(_has_state(archive, log) for log in logs) and max(before) == before[0] and max(now) == now[0]


def _has_state(archive: Writer, log: Log) -> bool:
    cursor = archive.cursor(path_text(log.path))
    return cursor is not None and cursor.state is not None


def _reading_order(archive: Writer, log: Log, *, as_read: bool) -> tuple[bool, int, str]:
    """The sort key of the reading order: originals before copies, the oldest first.

    With `as_read`, the date is that of the last read, else the present date of the file.
    """
    path = path_text(log.path)
    cursor = archive.cursor(path)
    if cursor is None or cursor.state is None or not isinstance(log.format, Lines):
        return False, 0, path
    state = msgspec.msgpack.decode(cursor.state, type=CursorState)
    source_state = msgspec.msgpack.decode(state.source_state, type=log.format.state)
    return source_state.copies_from is not None, cursor.mtime_ns if as_read else log.stamp.mtime_ns, path


def forget_logs(archive: Writer, logs: list[Log]) -> None:
    """Remove the events of these logs and their cursors, so that they are read from their start."""
    with archive.transaction():
        for log in logs:
            path = path_text(log.path)
            for session in archive.sessions_at(path):
                archive.empty_session(session, path)
            archive.drop_cursor(path)


def missing_paths(group: frozenset[str], logs: list[Log]) -> list[Path]:
    """The members of a group that are not among these logs."""
    return sorted(Path(path) for path in group - {path_text(log.path) for log in logs})

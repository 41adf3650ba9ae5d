"""Logs that tell the same are read together, in one order (docs/decisions/2026-11-18-reading-order.md)."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from recollect.ingest.discover import Log
from recollect.ingest.log_identity import Progress, is_same_log
from recollect.model import path_text
from recollect.sources import Lines
from recollect.store import Cursor, Writer


def can_start_over(archive: Writer, logs: list[Log]) -> bool:
    """Whether these logs still hold all that the archive has of them, so that it can be made of them again."""
    return all(_is_whole(archive, log) for log in logs)


def _is_whole(archive: Writer, log: Log) -> bool:
    path = path_text(log.path)
    cursor = archive.cursor(path)
    if not isinstance(log.format, Lines) or any(archive.earlier(session) for session in archive.sessions_at(path)):
        return False
    if cursor is None or cursor.state is None:
        return not any(archive.stored(session) for session in archive.sessions_at(path))
    return _only_grew(log, cursor)


def _only_grew(log: Log, cursor: Cursor) -> bool:
    try:
        progress = msgspec.msgpack.decode(cursor.state or b"", type=Progress)
        return not progress.before and not progress.moved_on and is_same_log(log.path, log.stamp, cursor, progress)
    except (msgspec.DecodeError, OSError):
        return False


def tells_less(log: Log | None, cursor: Cursor) -> bool:
    """Whether a log, or one that is gone, may have told more than it does now. Only its cursor knows what that was."""
    if cursor.state is None or (log is not None and not isinstance(log.format, Lines)):
        return False
    try:
        progress = msgspec.msgpack.decode(cursor.state, type=Progress)
        return bool(progress.before) or log is None or not is_same_log(log.path, log.stamp, cursor, progress)
    except msgspec.DecodeError:
        return False
    except OSError:
        return True


def reads_on(archive: Writer, changed: list[Log], others: list[Log]) -> bool:
    """Whether only the log grew that is read last of all: then reading on gives what reading all again would."""
    if len(changed) != 1:
        return False
    before = [_place(archive, log, known=True) for log in (*changed, *others)]
    now = [_place(archive, log, known=False) for log in (*changed, *others)]
    return all(map(_has_state(archive), (*changed, *others))) and max(before) == before[0] and max(now) == now[0]


def _has_state(archive: Writer) -> Callable[[Log], bool]:
    return lambda log: (cursor := archive.cursor(path_text(log.path))) is not None and cursor.state is not None


def _place(archive: Writer, log: Log, *, known: bool) -> tuple[bool, int, str]:
    """Where a log comes in the reading order: originals before copies, the oldest first."""
    path = path_text(log.path)
    cursor = archive.cursor(path)
    if cursor is None or cursor.state is None or not isinstance(log.format, Lines):
        return False, 0, path
    progress = msgspec.msgpack.decode(cursor.state, type=Progress)
    memory = msgspec.msgpack.decode(progress.memory, type=log.format.state)
    return memory.copies_from is not None, cursor.mtime_ns if known else log.stamp.mtime_ns, path


def start_over(archive: Writer, logs: list[Log]) -> None:
    """Take out what was read of these logs, and forget that it was."""
    with archive.transaction():
        for log in logs:
            path = path_text(log.path)
            for session in archive.sessions_at(path):
                archive.empty_session(session, path)
            archive.drop_cursor(path)


def missing(group: frozenset[str], logs: list[Log]) -> list[Path]:
    """The members of a group that are not among these logs."""
    return sorted(Path(path) for path in group - {path_text(log.path) for log in logs})

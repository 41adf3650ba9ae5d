"""Erases sessions from the archive, with what the cursors of logs know about them."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from recollect.ingest.forgotten import names_in
from recollect.ingest.log_identity import CursorState
from recollect.ingest.snapshots import SnapshotState
from recollect.store import Writer


def erase_sessions(archive: Writer, sessions: Sequence[bytes]) -> None:
    """Erase sessions from the archive in one transaction. Their logs, and copies of their records, stay unread."""
    try:
        with archive.transaction():
            natives: dict[str, set[str]] = {}
            for source, native_id in archive.native_ids(sessions):
                natives.setdefault(source, set()).add(native_id)
            archive.erase_sessions(sessions)
            for source, native_ids in natives.items():
                for path in archive.cursor_paths(source):
                    if native_ids & names_in(Path(path)):
                        archive.hide_log_without_content(path)
                for path, state in archive.cursor_states(source):
                    changed = _without_sessions(state, native_ids)
                    if changed is not None:
                        archive.put_cursor_state(path, changed)
                        archive.hide_log_without_content(path)
    except BaseException:
        archive.drop_uncommitted_tombstones()
        raise
    finally:
        archive.load_caches()


def _without_sessions(state: bytes, native_ids: set[str]) -> bytes | None:
    """The state of a cursor without these sessions; None if it has none of them."""
    try:
        lines = msgspec.msgpack.decode(state, type=CursorState)
    except msgspec.DecodeError:
        return _snapshots_without(state, native_ids)
    if not native_ids & (lines.sessions.keys() | lines.previous.keys()):
        return None
    for native_id in native_ids:
        lines.sessions.pop(native_id, None)
        lines.previous.pop(native_id, None)
    return msgspec.msgpack.encode(lines)


def _snapshots_without(state: bytes, native_ids: set[str]) -> bytes | None:
    try:
        snapshots = msgspec.msgpack.decode(state, type=SnapshotState)
    except msgspec.DecodeError:
        return None
    if not native_ids & snapshots.sessions.keys():
        return None
    for native_id in native_ids:
        snapshots.sessions.pop(native_id, None)
    return msgspec.msgpack.encode(snapshots)

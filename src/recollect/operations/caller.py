"""Finds the session that sends a request. Its searches exclude it: its own last messages do not answer its query.

Claude Code sends the id of the tool call, which is at the end of the session's log; Codex sends the id of the session.
If a client sends neither, the caller is the newest session of the server's folder, if its log is being written. So it is for
Claude Code while the call is not in any log yet, unless the session has ended its turn: then it cannot have called.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.model import LIVE_SOURCE, session_id
from recollect.operations.context import Caller
from recollect.store import Reader, SessionRow

CLAUDE_META, CODEX_META = "claudecode/toolUseId", "threadId"
CLAUDE, CODEX = "claude", "codex"  # beginnings of the names of sources; Codex's whole name
MAX_ID = 256  # characters; real ones have 30 to 36
NEWEST = 50  # sessions that may be the caller: more agents hardly work at once
TAIL = 1 << 18  # bytes at the end of a log that have its last call: calls with 200 KB of arguments are rare
WRITTEN_S = 60.0  # a log counts as being written for so long after its last line: an agent logs a call before it makes it
MAX_RELATED = 1_000  # sub-agents of one session that are excluded with it


def caller_of(meta: dict[str, Any], folder: str | None) -> Caller:
    """The caller, by the `_meta` of an MCP call and by the folder that its client works in."""
    return Caller(tool_use=_text(meta.get(CLAUDE_META)), thread=_text(meta.get(CODEX_META)), folder=folder)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_ID else None


def calling_sessions(reader: Reader, caller: Caller | None) -> tuple[SessionRow, ...]:
    """The session of the caller, with its sub-agents; for a sub-agent, the session of its parent with all sub-agents."""
    session = _calling_session(reader, caller) if caller is not None else None
    if session is None:
        return ()
    return tuple(_descendants(reader, _root(reader, session)))


def _calling_session(reader: Reader, caller: Caller) -> SessionRow | None:
    if caller.thread is not None:
        return reader.session(session_id(CODEX, caller.thread))
    if caller.tool_use is None and caller.folder is None:
        return None
    newest = reader.last_updated(LIVE_SOURCE, NEWEST)
    in_folder = [session for session in newest if caller.folder is not None and _is_in(session, caller.folder)]
    if caller.tool_use is not None:
        others = [session for session in newest if session not in in_folder]
        quoted_id = f'"{caller.tool_use}"'.encode("utf-8", "replace")  # a log that only mentions the id writes \"
        for session in (*in_folder, *others):
            if session.source.startswith(CLAUDE) and quoted_id in _tail(session.path):
                return session
        in_folder = [session for session in in_folder if session.source.startswith(CLAUDE) and _may_call(reader, session)]
    return next((session for session in in_folder[:1] if _is_being_written(session.path)), None)


def _is_in(session: SessionRow, folder: str) -> bool:
    return session.cwd is not None and (session.cwd == folder or os.path.realpath(session.cwd) == folder)


def _tail(path: str) -> bytes:
    """The end of a log; empty if the log is gone."""
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL))
            return log.read(TAIL)
    except (OSError, ValueError):
        return b""


def _may_call(reader: Reader, session: SessionRow) -> bool:
    """Whether a turn of a session may be running: its last turn is not complete, or its log has unread lines."""
    if not session.completed:
        return True
    try:
        return Path(session.path).stat().st_size != reader.size_read(session.path)
    except (OSError, ValueError):
        return False


def _is_being_written(path: str) -> bool:
    """Whether a log, or the write-ahead log of a database, has changed recently."""
    return any(time.time() - changed <= WRITTEN_S for name in (path, f"{path}-wal") for changed in _changed(name))


def _changed(path: str) -> Iterator[float]:
    try:
        yield Path(path).stat().st_mtime
    except (OSError, ValueError):  # the file is gone, or the text was never a path
        return


# ---- sub-agents


def _root(reader: Reader, session: SessionRow) -> SessionRow:
    """The topmost parent of a sub-agent. A session that continues another one is not its sub-agent."""
    seen = {session.id}
    while (parent := _spawning_session(reader, session)) is not None and parent.id not in seen:
        seen.add(parent.id)
        session = parent
    return session


def _spawning_session(reader: Reader, session: SessionRow) -> SessionRow | None:
    parent_id = reader.parent(session.id)
    parent = reader.session(parent_id) if parent_id is not None else None
    if parent is None:
        return None
    is_sub_agent = session.native_id.startswith(f"{parent.native_id}/") or reader.is_spawned(session.id)
    return parent if is_sub_agent else None


def _descendants(reader: Reader, session: SessionRow) -> list[SessionRow]:
    sessions = {session.id: session}
    queue = [session]
    while queue and len(sessions) < MAX_RELATED:
        for child in reader.children(queue.pop().id):
            row = reader.session(child) if child not in sessions else None
            if row is not None:
                sessions[child] = row
                queue.append(row)
    return list(sessions.values())

"""Which session asks. It is left out of its own searches: what it just said is no answer to what it asks.

Claude Code sends the id of the tool call, which stands at the end of the session's log; Codex sends the id of the session.
Where a client sends neither, the newest session of the server's folder asks, if its log is being written. The same holds for
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
CLAUDE, CODEX = "claude", "codex"  # how the names of the sources begin; Codex's is all of its name
LONGEST_ID = 256  # characters; real ones have 30 to 36
NEWEST = 50  # sessions among which the one that asks is looked for: as many agents hardly work at once
TAIL = 1 << 18  # bytes at the end of a log in which its last call stands: calls with 200 KB of arguments are rare
WRITTEN_S = 60.0  # since its last line, a session is being written: an agent writes its call before it makes it
MOST_KIN = 1_000  # sub-agents of one session that are left out with it


def caller_of(meta: dict[str, Any], folder: str | None) -> Caller:
    """Who asks, by the `_meta` of an MCP call and by the folder that its client works in."""
    return Caller(tool_use=_text(meta.get(CLAUDE_META)), thread=_text(meta.get(CODEX_META)), folder=folder)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_ID else None


def calling_sessions(reader: Reader, caller: Caller | None) -> tuple[SessionRow, ...]:
    """The session that asks, with its sub-agents; where a sub-agent asks, the same as if its parent did."""
    session = _asking(reader, caller) if caller is not None else None
    if session is None:
        return ()
    return tuple(_descendants(reader, _top(reader, session)))


def _asking(reader: Reader, caller: Caller) -> SessionRow | None:
    if caller.thread is not None:
        return reader.session(session_id(CODEX, caller.thread))
    if caller.tool_use is None and caller.folder is None:
        return None
    newest = reader.last_updated(LIVE_SOURCE, NEWEST)
    in_folder = [session for session in newest if caller.folder is not None and _is_in(session, caller.folder)]
    if caller.tool_use is not None:
        others = [session for session in newest if session not in in_folder]
        wanted = f'"{caller.tool_use}"'.encode("utf-8", "replace")  # a log that only quotes the id writes \"
        for session in (*in_folder, *others):
            if session.source.startswith(CLAUDE) and wanted in _tail(session.path):
                return session
        in_folder = [session for session in in_folder if session.source.startswith(CLAUDE) and _may_call(reader, session)]
    return next((session for session in in_folder[:1] if _is_being_written(session.path)), None)


def _is_in(session: SessionRow, folder: str) -> bool:
    return session.cwd is not None and (session.cwd == folder or os.path.realpath(session.cwd) == folder)


def _tail(path: str) -> bytes:
    """The end of a log; nothing where it is gone."""
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - TAIL))
            return log.read(TAIL)
    except (OSError, ValueError):
        return b""


def _may_call(reader: Reader, session: SessionRow) -> bool:
    """Whether a turn of a session may be running: the last one that was read is, or its log has more than was read."""
    if not session.completed:
        return True
    try:
        return Path(session.path).stat().st_size != reader.size_read(session.path)
    except (OSError, ValueError):
        return False


def _is_being_written(path: str) -> bool:
    """Whether a log, or the write-ahead log of a database, has changed just now."""
    return any(time.time() - changed <= WRITTEN_S for name in (path, f"{path}-wal") for changed in _changed(name))


def _changed(path: str) -> Iterator[float]:
    try:
        yield Path(path).stat().st_mtime
    except (OSError, ValueError):  # it is gone, or was never a path
        return


# ---- sub-agents


def _top(reader: Reader, session: SessionRow) -> SessionRow:
    """The session that no other session started by a tool call. A continued session is not a sub-agent of the earlier."""
    seen = {session.id}
    while (parent := _spawner(reader, session)) is not None and parent.id not in seen:
        seen.add(parent.id)
        session = parent
    return session


def _spawner(reader: Reader, session: SessionRow) -> SessionRow | None:
    above = reader.parent(session.id)
    parent = reader.session(above) if above is not None else None
    if parent is None:
        return None
    is_sub_agent = session.native_id.startswith(f"{parent.native_id}/") or reader.is_spawned(session.id)
    return parent if is_sub_agent else None


def _descendants(reader: Reader, session: SessionRow) -> list[SessionRow]:
    found = {session.id: session}
    waiting = [session]
    while waiting and len(found) < MOST_KIN:
        for child in reader.children(waiting.pop().id):
            row = reader.session(child) if child not in found else None
            if row is not None:
                found[child] = row
                waiting.append(row)
    return list(found.values())

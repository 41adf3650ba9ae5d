"""The state of reading a Claude Code log, and the functions that make records of its rows."""

from hashlib import blake2b
from typing import Any

from recollect.model import Kind, Record, Usage
from recollect.sources.claude_code.shapes import Row
from recollect.sources.formats.container import Line
from recollect.sources.formats.source import ReaderState

RECENT = 64  # blocks and side chains remembered: repeats follow within a few lines
PART = 4 << 20  # characters of a text that are encoded at once


class ClaudeState(ReaderState):
    agent: bool = False  # the file belongs to a sub-agent
    parent: str | None = None  # the parent session, until it is yielded
    prompted: bool = False  # a prompt was read: only the first may name the session that this one continues
    at: int | None = None  # the time of the last record with a time: side records have none
    queue: list[str] = []
    steered: list[str] = []  # digests of prompts taken from the queue whose attachment is not read yet
    attached: list[str] = []  # digests of attachments whose queue record is not read yet
    usage: dict[str, Usage] = {}
    blocks: list[str] = []
    sidechains: dict[str, str] = {}  # uuid -> native id of the side chain it belongs to
    tasks: dict[str, str] = {}  # prompt of a running sub-agent call -> call id
    running: dict[str, str] = {}  # call id -> sub-agent in this log whose result is not read yet
    stop_hooks_ran: bool = False  # since the agent's last record
    models: dict[str, str] = {}  # sub-agent without its own file -> its model
    last_words: dict[str, str] = {}  # sub-agent -> digest of its last text


def session_of(row: Row, state: ClaudeState) -> str:
    """The session of a row: the log's, a sub-agent's, or that of an inline side chain."""
    if state.agent or not row.is_sidechain:
        return state.session
    if row.agent_id:
        return f"{state.session}/agent-{row.agent_id}"
    chain = state.sidechains.get(row.parent_uuid or "") or f"{state.session}/side-{row.uuid}"
    if row.uuid:
        state.sidechains[row.uuid] = chain
        keep_recent(state.sidechains, RECENT)
    return chain


def record(row: Row, line: Line, session: str, place: int, kind: Kind, text: str = "", **fields: Any) -> Record:
    """A record of this row. Its key is the row's uuid, else the line's offset."""
    if row.uuid is None:
        key = f"{session}@{line.offset}.{place}"
    elif len(row.uuid) == 36:
        key = f"{row.uuid}.{place}"
    else:  # not a UUID: unique in its session only
        key = f"{session}/{row.uuid}.{place}"
    branch = row.git_branch if row.git_branch != "HEAD" else None
    return Record(session=session, key=key, kind=kind, text=text, line=line.number, cwd=row.cwd, branch=branch, **fields)


def digest(*texts: str) -> str:
    """A short digest of all texts together. They may be large, so they are not joined."""
    digest = blake2b(digest_size=8)
    for text in texts:
        for start in range(0, len(text), PART):
            digest.update(text[start : start + PART].encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def keep_recent(entries: dict[str, Any], max_length: int) -> None:
    """Delete the oldest entries until at most `max_length` remain."""
    while len(entries) > max_length:
        del entries[next(iter(entries))]

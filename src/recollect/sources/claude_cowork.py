"""Claude Cowork, in the Claude desktop app, runs Claude Code in a sandbox and writes Claude Code's logs to another folder.

The logs are in the app's folder,
local-agent-mode-sessions/<account>/<workspace>/local_<id>/.claude/projects/**/<session>.jsonl. Next to each such folder,
`local_<id>.json` has the title and the session's id.
Evidence: published samples; no real session was read.
The content of a log does not distinguish it from Claude Code's; its folder does. `audit.jsonl` next to it repeats the
records and is ignored. The account, the e-mail address and the system prompt in `local_<id>.json` are never read.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Ignored, SessionMetadata, TitleRank
from recollect.sources import claude_code
from recollect.sources.claude_code.shapes import Row
from recollect.sources.claude_code.state import ClaudeState
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import config
from recollect.sources.formats.json import json_document
from recollect.sources.formats.source import Document, Lines, Source
from recollect.sources.formats.values import parse_time

PLACE = "local-agent-mode-sessions"


class Info(Struct, rename="camel"):
    """The app's description of a session. `sessionId` is the folder's id, `cliSessionId` the log's."""

    cli_session_id: str | None = None
    title: str | None = None
    created_at: Any = None


def is_log(path: Path) -> bool:
    return "projects" in path.parts and ".claude" in path.parts and claude_code.is_log(path)


def recognises(head: Head) -> bool:
    return PLACE in head.path.parts and is_log(head.path) and claude_code.recognises(head)


def is_info(path: Path) -> bool:
    return path.name.startswith("local_")


def read_info(path: Path, info: Info) -> Iterable[Entry]:
    if not info.cli_session_id:
        yield Ignored("session without a log")
        return
    yield SessionMetadata(
        session=info.cli_session_id,
        title=info.title,
        title_rank=TitleRank.AGENT,  # ranks above titles inside the log, which Cowork does not show
        at=parse_time(info.created_at),
    )


SOURCE = Source(
    name="claude-cowork",
    title="Claude Cowork",
    formats=(
        Lines(
            homes=config((), "Claude", PLACE),
            endings=(".jsonl",),
            is_log=is_log,
            shape=Row,
            state=ClaudeState,
            begin=claude_code.begin,
            read=claude_code.read,
            recognises=recognises,
        ),
        Document(
            homes=config((), "Claude", PLACE),
            endings=(".json",),
            is_log=is_info,
            recognises=lambda head: is_info(head.path) and "cliSessionId" in head.first(),
            load=json_document(Info),
            read=read_info,
        ),
    ),
)

"""Kimi keeps its sessions under ~/.kimi/sessions (kimi-cli) and ~/.kimi-code/sessions (kimi-code).

Evidence: 5 real contexts of kimi-cli of October 2025, 3 trimmed captures of kimi-code (wire 1.4), and published samples of
the wires 1.4 to 1.9.
There are three formats: the context and the wire of kimi-cli (`cli`), and the wire of kimi-code (`code`). A `state.json`
next to the session has the title and, in kimi-code, the working folder. The ids of tool calls (`Bash_0`) are unique in
their session only.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from recollect.model import Entry, SessionMetadata, TitleRank
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import all_of, home
from recollect.sources.formats.json import json_document
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.recognition import either, marked
from recollect.sources.formats.source import Document, Source
from recollect.sources.kimi import cli, code


class State(Struct, rename="camel"):
    """state.json of kimi-code; kimi-cli has the same with snake_case names."""

    title: str | None = None
    is_custom_title: bool = False
    work_dir: str | None = None
    agents: dict[str, Any] = {}
    custom_title: str | None = field(default=None, name="custom_title")
    title_generated: bool = field(default=False, name="title_generated")


CLI_HOME = home("KIMI_SHARE_DIR", ".kimi", "sessions")
CODE_HOME = home("KIMI_CODE_HOME", ".kimi-code", "sessions")


def is_context(path: Path) -> bool:
    return path.name != cli.WIRE


def recognises_context(head: Head) -> bool:
    return any(row.get("role") in {"_checkpoint", "_usage", "_system_prompt"} for row in head.objects())


def recognises_wire(head: Head) -> bool:
    """Whether a file is a wire of kimi-cli: it has an event, or a header without the start time that kimi-code writes."""
    events = (row.get("message") for row in head.objects() if "timestamp" in row)
    if any(isinstance(event, dict) and "payload" in event for event in events):
        return True
    first = head.first()
    return "protocol_version" in first and "created_at" not in first


def recognises_code(head: Head) -> bool:
    return "protocol_version" in head.first() or any(
        row.get("type") in {"config.update", "turn.prompt", "context.append_message", "context.append_loop_event"}
        for row in head.objects()
    )


def read_state(path: Path, state: State) -> Iterator[Entry]:
    session = path.parent.name
    title = state.custom_title or state.title
    is_custom = state.is_custom_title or (state.custom_title is not None and not state.title_generated)
    rank = TitleRank.CUSTOM if is_custom else TitleRank.GENERATED
    yield SessionMetadata(session=session, title=title, title_rank=rank, cwd=state.work_dir)
    for agent in state.agents:
        if agent != "main":
            yield SessionMetadata(session=f"{session}/{agent}", cwd=state.work_dir)


SOURCE = Source(
    name="kimi",
    title="Kimi",
    formats=(
        Document(
            homes=CLI_HOME,
            endings=(".jsonl",),
            is_log=is_context,
            recognises=recognises_context,
            load=cli.load_context,
            read=cli.read_context,
        ),
        Document(
            homes=CLI_HOME,
            endings=(cli.WIRE,),
            recognises=recognises_wire,
            load=json_lines(cli.WireLine),
            read=cli.read_wire,
        ),
        Document(
            homes=CODE_HOME,
            endings=(cli.WIRE,),
            recognises=recognises_code,
            load=json_lines(code.Row),
            read=code.read,
            sidecars=code.state_of,
            owner=code.wire_of,
        ),
        Document(
            homes=all_of(CLI_HOME, CODE_HOME),
            endings=(code.STATE,),
            recognises=either(marked("isCustomTitle", "agents"), marked("custom_title", "title_generated")),
            load=json_document(State),
            read=read_state,
        ),
    ),
    real_sessions=5,
)

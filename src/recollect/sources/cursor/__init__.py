"""Cursor keeps its sessions in three forms: agent transcripts, chats of its command line, conversations in its editor.

Evidence: real published transcripts, inspected by eye (January to September 2026, up to Cursor 3.19), samples of all three
forms, and measurements by others on 648 chats; no real session could be stored. One conversation may exist in several
forms under the same id: the most complete form is stored.
Transcripts are ~/.cursor/projects/<project>/agent-transcripts/<session>/<session>.jsonl, with those of sub-agents in
`subagents/`; before February 2026 they were `<session>.txt`. They have no times, ids or tool results, but each prompt may
contain its time. Since June 2026 a line marks the end of a turn. Transcripts in JSON do not contain reasoning: `[REDACTED]`
replaces it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import Entry, Kind, Problem, Record, SessionMetadata, Stop
from recollect.sources.cursor import chats, ide
from recollect.sources.cursor.text import read_query, without_redaction_marks
from recollect.sources.formats.container import Line
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import in_home, user_home
from recollect.sources.formats.json import json_document, read_text
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, read_agent_message, read_each_line, read_user_message
from recollect.sources.formats.recognition import has_tables
from recollect.sources.formats.source import Database, Document, Source
from recollect.sources.formats.values import parse_time, text_or_none
from recollect.sources.formats.vscode import user_folders

TURN_ENDS = {
    "success": Stop.ANSWER,
    "error": Stop.CRASH,
    "failed": Stop.CRASH,
}  # at any other end, the person stopped the turn
FOREIGN = {"uuid", "sessionId", "id", "type", "parentId", "seq"}  # keys that Cursor's lines do not have
SPEAKER = re.compile(r"^(user|assistant|A):[ \t]*$", re.MULTILINE)
PIECE = re.compile(r"^\[(Thinking|Tool call|Tool result)\][ \t]*", re.MULTILINE)
FENCED = re.compile(r"```.*?```", re.DOTALL)
PLAIN_LINE = re.compile(
    r"(?<!\n)(?<!\*\*)\n(?!\s|[-+*]\s|[|>#]|\d+[.)]\s)"
)  # a line that does not start a list, table or heading
ARGUMENT = re.compile(r"^  (\w+): ", re.MULTILINE)


class Message(Struct, frozen=True):
    content: Any = None


class Row(Struct):
    role: str = ""
    message: Message = Message()
    type: str = ""
    status: Any = None
    timestamp: Any = None
    model: Any = None


# ---- homes and recognition


def transcript_homes(env: Mapping[str, str]) -> list[Path]:
    """The folders that hold only transcripts: a project's folder also holds terminals, assets and other files."""
    projects = user_home(env) / ".cursor/projects"
    return sorted(projects.glob("*/agent-transcripts"))


def ide_homes(env: Mapping[str, str]) -> list[Path]:
    return [user / "globalStorage" for user in user_folders(env, ("Cursor",))]


def is_transcript(head: Head) -> bool:
    first = head.first()
    message = first.get("message")
    if first.get("role") not in {"user", "assistant"} or not isinstance(message, dict):
        return False
    return "content" in message and not FOREIGN & first.keys() and not {"id", "role"} & message.keys()


def is_old_transcript(head: Head) -> bool:
    return head.text.startswith("user:\n") and "<user_query>" in head.text


# ---- transcripts


def read_transcript(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    yield _session_metadata(path)
    yield from read_each_line(lines, path.stem, _row)


def _session_metadata(path: Path) -> SessionMetadata:
    parent = path.parent.parent.name if path.parent.name == "subagents" else None
    return SessionMetadata(session=path.stem, parent=parent)


def _row(builder: RecordBuilder, line: Line) -> Iterator[Record]:
    row: Row = line.value
    builder.at = parse_time(row.timestamp)
    builder.model = text_or_none(row.model)
    match row.role, row.type:
        case "user", _:
            yield from read_user_message(builder, row.message.content, read_query)
        case (("assistant" | "tool"), _):
            yield from read_agent_message(builder, without_redaction_marks(row.message.content))
        case _, "turn_ended":
            stop = TURN_ENDS.get(str(row.status), Stop.INTERRUPT)
            yield builder.record(Kind.RUNTIME, f"turn ended: {row.status}", stop=stop, failed=stop is Stop.CRASH)
        case _:
            yield builder.unknown(line.raw.decode("utf-8", "replace"))


def read_old_transcript(path: Path, content: str) -> Iterator[Entry]:
    yield _session_metadata(path)
    _, *parts = SPEAKER.split(content)
    for place, (speaker, text) in enumerate(zip(parts[::2], parts[1::2], strict=True), 1):
        builder = RecordBuilder(session=path.stem, key=f"{path.stem}@{place}", line=place)
        if speaker == "user":
            yield from read_user_message(builder, text.strip(), read_query)
        else:
            yield from _old_answer(builder, text)


def _old_answer(builder: RecordBuilder, text: str) -> Iterator[Record]:
    answer, *pieces = PIECE.split(text)
    if answer.strip():
        yield builder.record(Kind.ASSISTANT_RESPONSE, answer.strip())
    for kind, piece in zip(pieces[::2], pieces[1::2], strict=True):
        name, _, body = piece.partition("\n")
        if kind == "Thinking":
            thought, answer = _thought(piece.strip())
            if thought:
                yield builder.record(Kind.REASONING, thought)
            if answer:
                yield builder.record(Kind.ASSISTANT_RESPONSE, answer)
        elif kind == "Tool call":
            _, *fields = ARGUMENT.split(body)
            arguments = {key: value.strip() for key, value in zip(fields[::2], fields[1::2], strict=True)}
            yield builder.call(name.strip(), None, arguments)
        else:
            yield builder.result(None, body.strip(), tool=name.strip())


def _thought(piece: str) -> tuple[str, str]:
    """A thought and the text after it. A single line break ends a thought; several separate its paragraphs."""
    end = PLAIN_LINE.search(FENCED.sub(lambda code: "`" * len(code[0]), piece))
    return (piece[: end.start()], piece[end.end() :]) if end else (piece, "")


SOURCE = Source(
    name="cursor",
    title="Cursor",
    formats=(
        Document(
            homes=transcript_homes,
            usual_place=".cursor/projects/*/agent-transcripts",
            endings=(".jsonl",),
            recognises=is_transcript,
            load=json_lines(Row),
            read=read_transcript,
        ),
        Document(
            homes=transcript_homes,
            usual_place=".cursor/projects/*/agent-transcripts",
            endings=(".txt",),
            recognises=is_old_transcript,
            load=read_text,
            read=read_old_transcript,
        ),
        Database(
            homes=in_home(".cursor/chats"),
            endings=("store.db",),
            recognises=chats.recognises,
            sessions=chats.sessions,
            read=chats.read,
        ),
        Document(
            homes=in_home(".cursor/chats"),
            endings=("meta.json",),
            recognises=chats.is_sidecar,
            load=json_document(chats.Sidecar),
            read=chats.read_sidecar,
        ),
        Database(
            homes=ide_homes,
            endings=("state.vscdb",),
            recursive=False,
            recognises=has_tables("cursorDiskKV"),
            sessions=ide.sessions,
            read=ide.read,
        ),
    ),
)

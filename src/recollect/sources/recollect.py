"""Recollect's own sessions, which ran in a live realm.

Evidence: Recollect writes them itself (`store/live.py`, `store/transcripts.py`). In a realm that is stored as JSON Lines,
a session is a file: its description, then the messages of each turn and the new state of the session.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import (
    LIVE_SOURCE,
    UUID,
    Entry,
    Ignored,
    Kind,
    Record,
    SessionMetadata,
    Stop,
    TitleRank,
    TurnStart,
    Usage,
)
from recollect.sources.formats.container import Line
from recollect.sources.formats.recognition import marked
from recollect.sources.formats.source import Lines, ReaderState, Source
from recollect.sources.formats.values import as_count, parse_time

STOPS = {"interrupt": Stop.INTERRUPT, "crash": Stop.CRASH, "error": Stop.CRASH}
STATES = ("session", "turn")


class Block(Struct):
    """A part of an assistant's message."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    quoted: bool = False


class Result(Struct):
    """A tool's result."""

    tool_use_id: str = ""
    content: str = ""
    is_error: bool = False
    exit_code: int | None = None


class Tokens(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False


class Message(Struct):
    """A line of a session's file, or a message of the database."""

    type: str = "message"
    role: str = ""
    content: str = ""
    blocks: list[Block] = []
    results: list[Result] = []
    kind: str = ""
    created_at: str | int | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None
    session_id: str = ""
    folder: str | None = None
    injected: bool = False


def begin(path: Path, values: list[Any]) -> ReaderState:
    ids = [value.session_id for value in values if isinstance(value, Message) and value.session_id]
    return ReaderState(session=ids[0] if ids and UUID.fullmatch(ids[0]) else path.stem)


def read(line: Line, state: ReaderState) -> Iterable[Entry]:
    message: Message = line.value
    if message.type in STATES:
        return (metadata_of(state.session, message.folder),)
    return read_message(state.session, line.number, message)


def metadata_of(session: str, folder: str | None, title: str | None = None) -> Entry:
    """What is known about a session as a whole. One that goes on with another session has the title of that one."""
    return SessionMetadata(session=session, cwd=folder, title=title, title_rank=TitleRank.SUMMARY)


def read_message(session: str, number: int, message: Message) -> Iterator[Entry]:
    """The records of one message: one for each of its parts."""
    records = list(_records(session, number, message))
    for part, record in enumerate(records):
        record.key = f"{session}/{number}" if part == 0 else f"{session}/{number}.{part}"
        record.at = parse_time(message.created_at)
    if not records:
        yield Ignored("empty message")
    yield from records


def _records(session: str, number: int, message: Message) -> Iterator[Record]:
    def record(kind: Kind, text: str, **fields: Any) -> Record:
        return Record(session=session, key="", kind=kind, text=text, line=number, **fields)

    match message.role:
        case "user" if message.injected:
            yield record(Kind.SYSTEM, message.content, own=True)
        case "user":
            yield record(Kind.USER_INPUT, message.content, opens=TurnStart.PROMPT)
        case "assistant":
            yield from _answer(record, message)
        case "tool_results":
            for result in message.results:
                outcome = {"failed": result.is_error, "exit_code": result.exit_code}
                yield record(Kind.TOOL_RESPONSE, result.content, call=result.tool_use_id, **outcome)
        case "system_notice":
            stop = STOPS.get(message.kind)
            yield record(Kind.RUNTIME, message.content, stop=stop, failed=stop is Stop.CRASH)
        case _:
            yield record(Kind.UNKNOWN, message.content)


def _answer(record: Any, message: Message) -> Iterator[Record]:
    for block in message.blocks:
        match block.type:
            case "text":
                yield record(Kind.ASSISTANT_RESPONSE, block.text, own=block.quoted)
            case "reasoning":
                yield record(Kind.REASONING, block.text)
            case "tool_use":
                arguments = block.input if isinstance(block.input, dict) else {"input": block.input}
                yield record(Kind.TOOL_CALL, "", tool=block.name, call=block.id, arguments=arguments)
    if message.stop_reason is not None:
        yield record(Kind.RUNTIME, message.stop_reason, stop=Stop.ANSWER, usage=_usage(message.usage))


def _usage(tokens: Tokens | None) -> Usage | None:
    """The agent's own token counts. Recollect's estimates are not used."""
    if tokens is None or tokens.estimated:
        return None
    counts = (
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cache_read_tokens,
        tokens.cache_write_tokens,
        tokens.reasoning_tokens,
    )
    return Usage(*map(as_count, counts))


FORMAT = Lines(
    endings=(".jsonl",),
    recognises=marked("session_id", "runner", "generation", "labels", type="session"),
    shape=Message,
    begin=begin,
    read=read,
)
SOURCE = Source(name=LIVE_SOURCE, title="Recollect", formats=(FORMAT,))

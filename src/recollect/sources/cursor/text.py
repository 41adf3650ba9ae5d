"""Reads the tags that Cursor puts around a prompt, in transcripts and in the chats of its command line."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from recollect.model import Kind, Record
from recollect.sources.formats.message import RecordBuilder, read_prompt
from recollect.sources.formats.tags import break_at_blocks, find_blocks, without_blocks

QUERY = re.compile(r"<(user_query)>")
TIME = re.compile(r"<(timestamp)>")
TIMESTAMP = re.compile(
    r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}), (\d{1,2}:\d\d [AP]M) \(UTC(?:([+-])(\d{1,2})(?::(\d\d))?)?\)"
)
INJECTED = re.compile(
    r"\s*<(user_info|rules|system_reminder|system-reminder|git_status|project_layout|open_and_recently_viewed_files"
    r"|additional_data|attached_files|agent_skills|agent_transcripts|mcp_file_system|cursor_commands|system_notification)\b"
)
FOLLOW_UP = "Briefly inform the user about the task result"  # Cursor's own prompt when a background task has ended
REDACTED = "[REDACTED]"  # replaces the reasoning


def read_query(builder: RecordBuilder, text: str) -> Iterator[Record]:
    """The records of a user text: the query becomes the prompt, the timestamp its time, any other text a system record."""
    stamp = next(find_blocks(text, TIME), None)
    if stamp is not None:
        builder.at = parse_timestamp(stamp.text) or builder.at
        text = break_at_blocks(text, TIME)
    queries = [query for block in find_blocks(text, QUERY) if not (query := block.text.strip()).startswith(FOLLOW_UP)]
    if queries:
        yield builder.prompt("\n\n".join(queries))
        if injected := without_blocks(text, QUERY).strip():
            yield builder.record(Kind.SYSTEM, injected)
    elif INJECTED.match(text):
        yield builder.record(Kind.SYSTEM, text.strip())
    else:
        yield from read_prompt(builder, text.strip())


def without_redaction_marks(content: Any) -> Any:
    """An agent's blocks without the mark that replaces reasoning."""
    if not isinstance(content, list):
        return content
    return [
        {**block, "text": block["text"].rstrip().removesuffix(REDACTED).rstrip()}
        if isinstance(block, dict) and isinstance(block.get("text"), str) and block["text"].rstrip().endswith(REDACTED)
        else block
        for block in content
    ]


def parse_timestamp(stamp: str) -> int | None:
    """`Thursday, Aug 27, 2026, 4:38 PM (UTC+4)` as milliseconds since 1970."""
    parts = TIMESTAMP.search(stamp)
    if parts is None:
        return None
    month, day, year, time, sign, hours, minutes = parts.groups()
    zone = f"{sign or '+'}{int(hours or 0):02}{int(minutes or 0):02}"
    try:
        moment = datetime.strptime(f"{month} {day} {year} {time} {zone}", "%b %d %Y %I:%M %p %z")
    except ValueError:
        return None
    return int(moment.timestamp() * 1000)

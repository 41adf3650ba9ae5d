"""Reads ~/.codex/session_index.jsonl: the names of threads, one line per renaming. The last name counts."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from recollect.model import Entry, Problem, SessionMetadata, TitleRank
from recollect.sources.formats.container import Line, WrongShape


class Naming(Struct):
    id: str
    thread_name: str


def read(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif isinstance(line.value, WrongShape):
            yield Problem(path, line.number, "not the name of a thread", line.raw[:120].decode("utf-8", "replace"))
        else:
            yield SessionMetadata(session=line.value.id, title=line.value.thread_name, title_rank=TitleRank.CUSTOM)

"""The time from a line written to a log to the line found, with `recollect watch` in the background."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from string import ascii_lowercase

import claude_log
import msgspec
from client import Client
from product import Installation, watching
from report import Measure, MeasureError

POLL_S = 0.01
TIMEOUT_S = 60  # long, because the first wait includes the watcher's start


class NeverFound(MeasureError):
    def __init__(self, word: str) -> None:
        super().__init__(f"{word!r} was not found within {TIMEOUT_S} seconds after it was written.")


class LastLine(msgspec.Struct):
    uuid: str
    sessionId: str  # noqa: N815 (the log's own spelling)
    cwd: str


@dataclass(frozen=True, slots=True)
class GrowingLog:
    """A session of Claude Code that grows."""

    path: Path
    log: claude_log.Log

    def append(self, text: str) -> None:
        self.log.clock = datetime.now(UTC)
        with self.path.open("ab") as file:
            file.write(claude_log.prompt_line(text, self.log) + b"\n")


def append_to_searchable(installation: Installation, events: int, repetitions: int) -> list[Measure]:
    path = next(iter(sorted(installation.home.glob(".claude/projects/*/*.jsonl"))))
    with growing(path) as log, watching(installation), installation.server() as server:
        wait_ms(log, server)  # not counted: the watcher may still be starting
        waits = [wait_ms(log, server) for _ in range(repetitions)]
    return [Measure("append to searchable, median and worst", (median(waits), max(waits)), "ms", events)]


@contextmanager
def growing(path: Path) -> Iterator[GrowingLog]:
    """The log at this path, for appending. Afterwards it is cut to its old length, for the next measurement."""
    length = path.stat().st_size
    last = msgspec.json.decode(path.read_bytes().splitlines()[-1], type=LastLine)
    try:
        yield GrowingLog(path, claude_log.Log(last.sessionId, last.cwd, datetime.now(UTC), Random(), parent=last.uuid))
    finally:
        os.truncate(path, length)


def wait_ms(log: GrowingLog, server: Client) -> float:
    """Append a line with a new word. Returns the milliseconds until a search finds it."""
    word = "".join(log.log.rng.choices(ascii_lowercase, k=14))  # in no vocabulary
    log.append(f"please remember {word} for later")
    began = time.perf_counter()
    while (waited := time.perf_counter() - began) < TIMEOUT_S:
        answer = server.call("search_sessions", {"query": word, "n_hits": 1})
        if not answer.failed and answer.content["data"]["result_count"]:
            return waited * 1000 + answer.ms
        time.sleep(POLL_S)
    raise NeverFound(word)

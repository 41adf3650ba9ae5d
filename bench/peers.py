"""The same logs and the same questions put to others, in the same run, so that only ratios matter.

SQLite FTS5: one table with the words of all prompts, answers and tool outputs, stemmed, asked in this process for the
ten best by BM25. It stores no text, makes no snippets, has no protocol to go through, and is spared the function
words: all in its favour.

agentsview: a viewer of agents' sessions (PyPI `agentsview`), measured when it is installed: its own sync, and its own
`search_sessions` over MCP. That search wants every word of the question in one message and leaves tool output out.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import product
from client import Client
from latency import WARM_UP, call_all, timing
from report import Measure, percentiles, ratio
from sessions import Session, sessions
from words import FUNCTION_WORDS

BATCH = 10_000  # documents a transaction


def fts5(scratch: Path, events: int, seed: int, queries: list[str], warm_up: list[str]) -> list[Measure]:
    with closing(sqlite3.connect(scratch / "fts5.db")) as db:
        documents, seconds = build(db, events, seed)
        for query in warm_up[:WARM_UP]:
            best(db, query)
        waits = [best(db, query) for query in queries]
    return [
        Measure("FTS5 index", (documents / seconds,), "events/s", events, f"{documents:,} events"),
        percentiles("FTS5 search", waits, events),
    ]


def build(db: sqlite3.Connection, events: int, seed: int) -> tuple[int, float]:
    """Index every searchable text; the seconds leave out those spent making the texts up."""
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE VIRTUAL TABLE event USING fts5(text, content='', tokenize='porter unicode61')")
    documents, seconds = 0, 0.0
    every_text = (text for session in sessions(events, seed) for text in texts(session))
    while batch := [(text,) for text in islice(every_text, BATCH)]:
        began = time.perf_counter()
        with db:
            db.executemany("INSERT INTO event(text) VALUES (?)", batch)
        seconds += time.perf_counter() - began
        documents += len(batch)
    return documents, seconds


def texts(session: Session) -> Iterator[str]:
    """What is searched by default: prompts, answers, tool outputs."""
    for turn in session.turns:
        yield turn.prompt
        for each in turn.rounds:
            if each.remark:
                yield each.remark
            yield each.call.output
        yield turn.answer


def best(db: sqlite3.Connection, query: str) -> float:
    """Milliseconds for the ten best of a query."""
    began = time.perf_counter()
    db.execute("""
        SELECT rowid, rank
          FROM event
         WHERE event MATCH :query
         ORDER BY rank
         LIMIT 10""", {"query": match_of(query)}).fetchall()  # fmt: skip
    return (time.perf_counter() - began) * 1000


def match_of(query: str) -> str:
    """The query in FTS5's own tongue: any of its words, and its phrase as a phrase."""
    outside, *phrase_and_rest = query.split('"')
    phrases, rest = phrase_and_rest[:1], " ".join([outside, *phrase_and_rest[1:]])
    terms = [term for term in rest.split() if term not in FUNCTION_WORDS]
    return " OR ".join(f'"{term}"' for term in phrases + terms)


def agentsview(home: Path, scratch: Path, events: int, queries: list[str], warm_up: list[str]) -> list[Measure]:
    program = shutil.which("agentsview", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None:
        return [Measure("agentsview", (), "", events, "not installed: pip install agentsview")]
    environment = agentsview_environment(home, scratch / "agentsview")
    run = product.run([program, "sync"], {**environment, "AGENTSVIEW_NO_DAEMON": "1"})
    with daemon(program, environment), Client([program, "mcp"], environment) as server:
        call_all(server, "search_sessions", ({"query": query} for query in warm_up[:WARM_UP]))
        answers = call_all(server, "search_sessions", ({"query": query, "limit": 10} for query in queries))
    megabytes = product.folder_bytes(home) / product.MB
    return [
        Measure("agentsview sync", (megabytes / run.seconds,), "MB/s", events),
        timing("agentsview search", events, answers),
    ]


def agentsview_environment(home: Path, data: Path) -> dict[str, str]:
    quiet = {"AGENTSVIEW_TELEMETRY_ENABLED": "0", "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1"}
    return {**product.inherited_environment(), **quiet, "HOME": str(home), "AGENTSVIEW_DATA_DIR": str(data)}


@contextmanager
def daemon(program: str, environment: dict[str, str]) -> Iterator[None]:
    """agentsview answers through a server of its own, which its MCP command would start and leave behind."""
    product.run([program, "daemon", "start"], environment)
    try:
        yield
    finally:
        subprocess.run([program, "daemon", "stop"], env=environment, check=False, stdout=subprocess.DEVNULL)


RIVALS = {
    "FTS5 index": "sync",
    "FTS5 search": "search",
    "agentsview sync": "sync, bytes",
    "agentsview search": "search",
}


def compared(theirs: list[Measure], ours: list[Measure]) -> list[Measure]:
    """The peers' measures, each with its ratio to the measure of ours that it stands beside."""
    by_name = {measure.name: measure for measure in ours if measure.figures}
    return [
        replace(measure, note=", ".join(filter(None, [ratio(measure, by_name[RIVALS[measure.name]]), measure.note])))
        if measure.figures and RIVALS[measure.name] in by_name
        else measure
        for measure in theirs
    ]

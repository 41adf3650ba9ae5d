"""Measures other programs with the same logs and queries in the same run, so that the ratios can be compared.

SQLite FTS5: one table with the stemmed words of all prompts, answers and tool outputs. Queries run in this process and
return the ten best by BM25. Several things make it faster: it stores no text, makes no snippets, uses no protocol, and its
queries have no function words.

agentsview: a viewer of agents' sessions (PyPI `agentsview`), measured if it is installed: its own sync, and its own
`search_sessions` over MCP. That search requires every word of the question in one message and does not search tool output.
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

BATCH = 10_000  # documents per transaction


def fts5(scratch: Path, events: int, seed: int, queries: list[str], warm_up: list[str]) -> list[Measure]:
    with closing(sqlite3.connect(scratch / "fts5.db")) as db:
        documents, seconds = build(db, events, seed)
        for query in warm_up[:WARM_UP]:
            search_ms(db, query)
        waits = [search_ms(db, query) for query in queries]
    return [
        Measure("FTS5 index", (documents / seconds,), "events/s", events, f"{documents:,} events"),
        percentiles("FTS5 search", waits, events),
    ]


def build(db: sqlite3.Connection, events: int, seed: int) -> tuple[int, float]:
    """Index every searchable text. Returns the number of documents, and the seconds without generating the texts."""
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE VIRTUAL TABLE event USING fts5(text, content='', tokenize='porter unicode61')")
    documents, seconds = 0, 0.0
    all_texts = (text for session in sessions(events, seed) for text in texts(session))
    while batch := [(text,) for text in islice(all_texts, BATCH)]:
        began = time.perf_counter()
        with db:
            db.executemany("INSERT INTO event(text) VALUES (?)", batch)
        seconds += time.perf_counter() - began
        documents += len(batch)
    return documents, seconds


def texts(session: Session) -> Iterator[str]:
    """The texts that a search covers by default: prompts, answers, tool outputs."""
    for turn in session.turns:
        yield turn.prompt
        for model_round in turn.rounds:
            if model_round.remark:
                yield model_round.remark
            yield model_round.call.output
        yield turn.answer


def search_ms(db: sqlite3.Connection, query: str) -> float:
    """The milliseconds in which a query returns its ten best documents."""
    began = time.perf_counter()
    db.execute("""
        SELECT rowid, rank
          FROM event
         WHERE event MATCH :query
         ORDER BY rank
         LIMIT 10""", {"query": match_of(query)}).fetchall()  # fmt: skip
    return (time.perf_counter() - began) * 1000


def match_of(query: str) -> str:
    """The query in the syntax of FTS5: any of its words, and its quoted phrase as a phrase."""
    before, *phrase_and_after = query.split('"')
    phrases, unquoted = phrase_and_after[:1], " ".join([before, *phrase_and_after[1:]])
    terms = [term for term in unquoted.split() if term not in FUNCTION_WORDS]
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
    """Run agentsview's daemon. Its MCP command needs the daemon, and would start it without ending it."""
    product.run([program, "daemon", "start"], environment)
    try:
        yield
    finally:
        subprocess.run([program, "daemon", "stop"], env=environment, check=False, stdout=subprocess.DEVNULL)


COUNTERPARTS = {  # our measure to compare each peer's measure with
    "FTS5 index": "sync",
    "FTS5 search": "search",
    "agentsview sync": "sync, bytes",
    "agentsview search": "search",
}


def compared(theirs: list[Measure], ours: list[Measure]) -> list[Measure]:
    """The peers' measures, each with its ratio to our measure of the same work."""
    by_name = {measure.name: measure for measure in ours if measure.figures}
    return [
        replace(measure, note=", ".join(filter(None, [ratio(measure, by_name[COUNTERPARTS[measure.name]]), measure.note])))
        if measure.figures and COUNTERPARTS[measure.name] in by_name
        else measure
        for measure in theirs
    ]

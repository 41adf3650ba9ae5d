"""How long a client waits for an exact string, wherever in a word it stands, and for the course of a long session.

Words and parts of words are taken from the logs themselves. A part of a word counts as rare where ten events or fewer hold
it: to know that, all that may hold it must be looked at. The peer is what one does without an index: grep over the logs.
"""

import re
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

from client import Answer, Client
from generate import write_session
from latency import WARM_UP, call_all, timing
from product import Installation, folder_bytes, sync
from report import Measure, percentiles, ratio
from sessions import DEFAULT_SEED, NEWEST, Session, sessions, turn
from words import identifier, vocabulary

MB = 1_000_000
TURNS = 1_000
GREPS = 5  # a grep over a million events takes seconds
LEVELS = ("summary", "turns", "steps")
PROVIDERS = ("claude-code", "codex")
TYPES = ("tool_call", "tool_result", "message")
WORD = re.compile(r"[A-Za-z]{4,}")
RUN = re.compile(r"\S{7,}")


def latencies(here: Installation, events: int, count: int, seed: int = DEFAULT_SEED) -> list[Measure]:
    """Previews of words, of rare parts of words and of what is nowhere; then what grep takes."""
    with here.server() as server:
        call_all(server, "search_event_previews", ({"query": word} for word in words(WARM_UP, seed, "warm-up")))
        by_word = call_all(server, "search_event_previews", ({"query": word} for word in words(count, seed, "measured")))
        filtered = call_all(server, "search_event_previews", filtered_requests(words(count, seed, "narrowed")))
        parts, by_part = rare(server, count, seed)
        nowhere = call_all(server, "search_event_previews", ({"query": f"{part[:3]}qzx{part[3:]}"} for part in parts))
    ours = timing("previews of rare substrings", events, by_part)
    return [
        timing("previews of words", events, by_word),
        timing("previews, filtered", events, filtered),
        ours,
        timing("previews of what is nowhere", events, nowhere),
        Measure("index of pieces", (folder_bytes(pieces(here)) / MB,), "MB", events),
        grepped(here.home, parts[:GREPS], ours, events),
    ]


def pieces(here: Installation) -> Path:
    return next((here.state / "realms" / "main").glob("pieces-*"), here.state / "no pieces")


def texts(seed: int, series: str) -> Any:
    """Texts of sessions that were written, in an order of chance."""
    rng = Random(f"strings {seed} {series}")
    some = list(told(seed, 400))
    while True:
        yield rng, rng.choice(some)


def told(seed: int, count: int) -> Any:
    for number, made in enumerate(sessions(10**9, seed)):
        if number == count:
            return
        for one in made.turns:
            yield from (one.prompt, one.answer, *(each.call.output for each in one.rounds))


def words(count: int, seed: int, series: str) -> list[str]:
    found: list[str] = []
    for rng, text in texts(seed, series):
        found += [rng.choice(there)] if (there := WORD.findall(text)) else []
        if len(found) == count:
            return found
    raise AssertionError


def filtered_requests(texts: list[str]) -> list[dict[str, str]]:
    return [
        {"query": word, "provider": PROVIDERS[place % 2], "event_type": TYPES[place % 3]} for place, word in enumerate(texts)
    ]


def rare(server: Client, count: int, seed: int) -> tuple[list[str], list[Answer]]:
    """Parts of words, five to nine characters long, that few events hold; and the answers to them."""
    parts: list[str] = []
    answers: list[Answer] = []
    for rng, text in texts(seed, "rare"):
        run = rng.choice(there) if (there := RUN.findall(text)) else ""
        start = rng.randrange(1, max(2, len(run) - 5))
        part = run[start : start + rng.randint(5, 9)]
        if len(part) < 5:
            continue
        answer = server.call("search_event_previews", {"query": part})
        if not answer.failed and not answer.content["pagination"]["has_more"]:
            parts.append(part)
            answers.append(answer)
        if len(parts) == count:
            break
    return parts, answers


def grepped(home: Path, parts: list[str], ours: Measure, events: int) -> Measure:
    waits = []
    for part in parts:
        began = time.perf_counter()
        subprocess.run(["grep", "-riFl", "--", part, str(home)], stdout=subprocess.DEVNULL, check=False)
        waits.append((time.perf_counter() - began) * 1000)
    theirs = percentiles("grep -riF of rare substrings", waits, events)
    return Measure(theirs.name, theirs.figures, "ms", events, ratio(theirs, ours))


def long_session(here: Installation, events: int, repetitions: int) -> list[Measure]:
    """A session of a thousand turns, at every depth that has a size, and what went wrong in it."""
    rng = Random("a long session")
    vocab = vocabulary(DEFAULT_SEED)
    names = [identifier(rng, vocab.words) for _ in range(12)]
    subjects = [f"{name} " for name in names]
    turns = [turn(rng, vocab, subjects, [f"{name}\n" for name in names], 100) for _ in range(TURNS)]
    made = Session(0, "claude-code", "/home/dev/long", NEWEST, turns, rng)
    home = Installation(here.state.parent / "long", here.state.parent / "long-state")
    write_session(home.home, made)
    sync(home)
    with home.server() as server:
        [found] = server.call("search_event_previews", {"query": "e", "limit": 1}).content["data"]["matches"]
        named = {"session_id": found["session_id"]}
        measures = [
            timing(
                f"{TURNS:,} turns, {level}",
                made.events(),
                call_all(server, "get_session_details", [{**named, "detail_level": level}] * repetitions),
            )
            for level in LEVELS
        ]
        analysed = timing(
            f"{TURNS:,} turns, analysis", made.events(), call_all(server, "analyze_session", [named] * repetitions)
        )
    return [*measures, analysed]

"""Latency of the trace tools: exact strings, also inside words, and the details of a long session.

Words and parts of words are from the logs themselves. A part of a word is rare if at most ten events contain it; a search
must check every candidate to know that. The peer is grep over the logs, which needs no index.
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
LONG_TOKEN = re.compile(r"\S{7,}")


def latencies(here: Installation, events: int, count: int, seed: int = DEFAULT_SEED) -> list[Measure]:
    """Latency of previews of words, of rare parts of words and of absent strings; then of grep."""
    with here.server() as server:
        call_all(server, "search_event_previews", ({"query": word} for word in words(WARM_UP, seed, "warm-up")))
        by_word = call_all(server, "search_event_previews", ({"query": word} for word in words(count, seed, "measured")))
        filtered = call_all(server, "search_event_previews", filtered_requests(words(count, seed, "narrowed")))
        parts, by_part = rare_parts(server, count, seed)
        absent = call_all(server, "search_event_previews", ({"query": f"{part[:3]}qzx{part[3:]}"} for part in parts))
    ours = timing("previews of rare substrings", events, by_part)
    return [
        timing("previews of words", events, by_word),
        timing("previews, filtered", events, filtered),
        ours,
        timing("previews of absent strings", events, absent),
        Measure("n-gram index", (folder_bytes(ngram_folder(here)) / MB,), "MB", events),
        grep(here.home, parts[:GREPS], ours, events),
    ]


def ngram_folder(here: Installation) -> Path:
    return next((here.state / "realms" / "main").glob("pieces-*"), here.state / "no n-gram index")


def random_texts(seed: int, series: str) -> Any:
    """Texts of the generated sessions in random order, with the random generator."""
    rng = Random(f"strings {seed} {series}")
    some = list(texts_of_first_sessions(seed, 400))
    while True:
        yield rng, rng.choice(some)


def texts_of_first_sessions(seed: int, count: int) -> Any:
    for number, session in enumerate(sessions(10**9, seed)):
        if number == count:
            return
        for each in session.turns:
            yield from (each.prompt, each.answer, *(model_round.call.output for model_round in each.rounds))


def words(count: int, seed: int, series: str) -> list[str]:
    """Random words of the generated sessions."""
    chosen: list[str] = []
    for rng, text in random_texts(seed, series):
        chosen += [rng.choice(matches)] if (matches := WORD.findall(text)) else []
        if len(chosen) == count:
            return chosen
    raise AssertionError


def filtered_requests(texts: list[str]) -> list[dict[str, str]]:
    return [
        {"query": word, "provider": PROVIDERS[place % 2], "event_type": TYPES[place % 3]} for place, word in enumerate(texts)
    ]


def rare_parts(server: Client, count: int, seed: int) -> tuple[list[str], list[Answer]]:
    """Parts of words, five to nine characters long, that few events contain; and the answers to their queries."""
    parts: list[str] = []
    answers: list[Answer] = []
    for rng, text in random_texts(seed, "rare"):
        token = rng.choice(tokens) if (tokens := LONG_TOKEN.findall(text)) else ""
        start = rng.randrange(1, max(2, len(token) - 5))
        part = token[start : start + rng.randint(5, 9)]
        if len(part) < 5:
            continue
        answer = server.call("search_event_previews", {"query": part})
        if not answer.failed and not answer.content["pagination"]["has_more"]:
            parts.append(part)
            answers.append(answer)
        if len(parts) == count:
            break
    return parts, answers


def grep(home: Path, parts: list[str], ours: Measure, events: int) -> Measure:
    waits = []
    for part in parts:
        began = time.perf_counter()
        subprocess.run(["grep", "-riFl", "--", part, str(home)], stdout=subprocess.DEVNULL, check=False)
        waits.append((time.perf_counter() - began) * 1000)
    theirs = percentiles("grep -riF of rare substrings", waits, events)
    return Measure(theirs.name, theirs.figures, "ms", events, ratio(theirs, ours))


def long_session(here: Installation, events: int, repetitions: int) -> list[Measure]:
    """Latency of a session of a thousand turns: its details at every level with a size limit, and its analysis."""
    rng = Random("a long session")
    vocab = vocabulary(DEFAULT_SEED)
    names = [identifier(rng, vocab.words) for _ in range(12)]
    subjects = [f"{name} " for name in names]
    turns = [turn(rng, vocab, subjects, [f"{name}\n" for name in names], 100) for _ in range(TURNS)]
    session = Session(0, "claude-code", "/home/dev/long", NEWEST, turns, rng)
    installation = Installation(here.state.parent / "long", here.state.parent / "long-state")
    write_session(installation.home, session)
    sync(installation)
    with installation.server() as server:
        [match] = server.call("search_event_previews", {"query": "e", "limit": 1}).content["data"]["matches"]
        arguments = {"session_id": match["session_id"]}
        measures = [
            timing(
                f"{TURNS:,} turns, {level}",
                session.events(),
                call_all(server, "get_session_details", [{**arguments, "detail_level": level}] * repetitions),
            )
            for level in LEVELS
        ]
        analyses = call_all(server, "analyze_session", [arguments] * repetitions)
    return [*measures, timing(f"{TURNS:,} turns, analysis", session.events(), analyses)]

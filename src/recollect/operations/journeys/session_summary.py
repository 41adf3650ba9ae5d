"""Summarises a session in one line: its title, its prompt, what changed, how it ended."""

import re
from pathlib import PurePath

from recollect.label import label
from recollect.model import Stop
from recollect.observe import split_sentences
from recollect.store import Reader, SessionRow
from recollect.store.memory import Memory

MAX_SUMMARY = 600  # characters, fixed by the contract
TITLE, ASKED, CHANGED, ENDED = 120, 160, 150, 130  # characters of each part; with their labels just below MAX_SUMMARY
HEAD = 4_000  # characters that are read of a prompt or an answer
FIRST = 5  # turns that are searched for the first prompt
OBSERVATIONS = 40  # observations of a session that are read for changed files
FILES, TITLES = 4, 3  # how many of each a summary names
ENDINGS: dict[str, str] = {Stop.CANCEL: "cancelled", Stop.INTERRUPT: "interrupted", Stop.CRASH: "crashed", Stop.EXIT: "left"}
UNFINISHED = "not finished"
WORD = re.compile(r"\w+")


def summary_of(reader: Reader, memory: Memory, session: SessionRow) -> str:
    """The summary of a session, from its events and observations."""
    prompt, ending = _prompt_and_ending(reader, session)
    changes = memory.changed_files(session.id, OBSERVATIONS)
    files = dict.fromkeys(PurePath(file).name for _, changed in changes for file in changed)
    titles = [title for title, changed in changes if changed] or [title for title, _ in changes]
    return compose_summary(session.title, prompt, list(files), titles, ending)


def _prompt_and_ending(reader: Reader, session: SessionRow) -> tuple[str, str]:
    """The first prompt, and how the last turn ended: the first sentence of its answer, or why it has none."""
    ordinals = {*range(1, min(FIRST, session.turn_count) + 1), session.turn_count}
    rows = reader.turns_of((session.key, ordinal) for ordinal in ordinals).values()
    turns = sorted(rows, key=lambda turn: turn.ordinal)
    if not turns:
        return "", UNFINISHED
    first, last = next((turn for turn in turns if turn.prompt is not None), turns[0]), turns[-1]
    places = [(turn.ordinal, seq) for turn, seq in ((first, first.prompt), (last, last.answer)) if seq is not None]
    texts = {seq: event.preview(HEAD)[0] for seq, event in reader.events_at(session.key, places).items()}
    prompt = texts.get(first.prompt, "") if first.prompt is not None else ""
    answer = texts.get(last.answer, "") if last.answer is not None else ""
    return prompt, ENDINGS.get(last.stop or "") or _first_sentence(answer) or UNFINISHED


def _first_sentence(text: str) -> str:
    return next(iter(split_sentences(text)), "") or _line(text, ENDED)


def compose_summary(title: str, prompt: str, files: list[str], titles: list[str], ending: str) -> str:
    """The parts of a summary that do not repeat each other, each cut to its length."""
    subject = _subject(title, prompt)
    parts = [*subject, _changes(" ".join(subject), files, titles), f"Ended: {_line(ending, ENDED)}"]
    return label(" ".join(part if part[-1] in ".!?…" else f"{part}." for part in parts if part), MAX_SUMMARY)


def _subject(title: str, prompt: str) -> list[str]:
    """The title and the prompt; only the longer one if it contains the other. A title often is the prompt's beginning."""
    shown = _line(prompt, TITLE + ASKED)
    if not title or _contains(shown, title):
        return [shown]
    if not prompt or _contains(title, prompt):
        return [_line(title, TITLE)]
    return [_line(title, TITLE), f"Asked: {_line(prompt, ASKED)}"]


def _changes(subject: str, files: list[str], titles: list[str]) -> str:
    """Changed files and titles of observations; if no file was changed, what the session was about."""
    new = [title for title in dict.fromkeys(titles) if not _contains(subject, title)]
    parts = [", ".join(files[:FILES]), *new[:TITLES]]
    line = _line("; ".join(part for part in parts if part), CHANGED)
    return f"{'Changed' if files else 'About'}: {line}" if line else ""


def _line(text: str, max_length: int) -> str:
    return label(" ".join(text.split()), max_length)


def _contains(text: str, part: str) -> bool:
    """Whether a text has the words of another one in sequence. A text that was cut may end inside a word."""
    words = _folded(part)
    return (words.rstrip() if part.endswith("…") else words) in _folded(text)


def _folded(text: str) -> str:
    return f" {' '.join(WORD.findall(text.casefold()))} "

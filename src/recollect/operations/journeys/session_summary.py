"""A session in one line: its title, what was asked, what changed, how it ended."""

import re
from pathlib import PurePath

from recollect.model import Stop
from recollect.observe import split_sentences
from recollect.store import Reader, SessionRow
from recollect.store.memory import Memory
from recollect.title import label

LONGEST = 600  # characters of a summary, the contract's
TITLE, ASKED, CHANGED, ENDED = 120, 160, 150, 130  # characters of each part: with their labels just below that
HEAD = 4_000  # characters of a prompt or an answer that are looked at
FIRST = 5  # turns among which the first prompt is sought
OBSERVATIONS = 40  # of a session that are looked at for what changed
FILES, TITLES = 4, 3  # that are named
ENDINGS: dict[str, str] = {Stop.CANCEL: "cancelled", Stop.INTERRUPT: "interrupted", Stop.CRASH: "crashed", Stop.EXIT: "left"}
UNFINISHED = "not finished"
WORD = re.compile(r"\w+")


def summary_of(reader: Reader, memory: Memory, session: SessionRow) -> str:
    asked, ended = _asked_and_ended(reader, session)
    changes = memory.changed_files(session.id, OBSERVATIONS)
    files = dict.fromkeys(PurePath(file).name for _, changed in changes for file in changed)
    titles = [title for title, changed in changes if changed] or [title for title, _ in changes]
    return in_one_line(session.title, asked, list(files), titles, ended)


def _asked_and_ended(reader: Reader, session: SessionRow) -> tuple[str, str]:
    """The first prompt, and how the last turn ended: the first sentence of its answer, or a word on why there is none."""
    ordinals = {*range(1, min(FIRST, session.turn_count) + 1), session.turn_count}
    turns = sorted(reader.turns_of((session.key, one) for one in ordinals).values(), key=lambda turn: turn.ordinal)
    if not turns:
        return "", UNFINISHED
    first, last = next((turn for turn in turns if turn.prompt is not None), turns[0]), turns[-1]
    named = [(turn.ordinal, seq) for turn, seq in ((first, first.prompt), (last, last.answer)) if seq is not None]
    texts = {seq: event.preview(HEAD)[0] for seq, event in reader.events_at(session.key, named).items()}
    asked = texts.get(first.prompt, "") if first.prompt is not None else ""
    answer = texts.get(last.answer, "") if last.answer is not None else ""
    return asked, ENDINGS.get(last.stop or "") or _first_sentence(answer) or UNFINISHED


def _first_sentence(text: str) -> str:
    return next(iter(split_sentences(text)), "") or _line(text, ENDED)


def in_one_line(title: str, asked: str, files: list[str], titles: list[str], ended: str) -> str:
    """The parts that say something new, each cut to its share."""
    subject = _subject(title, asked)
    parts = [*subject, _changed(" ".join(subject), files, titles), f"Ended: {_line(ended, ENDED)}"]
    return label(" ".join(part if part[-1] in ".!?…" else f"{part}." for part in parts if part), LONGEST)


def _subject(title: str, asked: str) -> list[str]:
    """The title and what was asked; one of them where it holds the other, as a title often is how the prompt begins."""
    shown = _line(asked, TITLE + ASKED)
    if not title or _is_in(title, shown):
        return [shown]
    return (
        [_line(title, TITLE)]
        if not asked or _is_in(asked, title)
        else [_line(title, TITLE), f"Asked: {_line(asked, ASKED)}"]
    )


def _changed(subject: str, files: list[str], titles: list[str]) -> str:
    """Files that were changed and what was observed; where none was, what it was about."""
    new = [title for title in dict.fromkeys(titles) if not _is_in(title, subject)]
    named = [", ".join(files[:FILES]), *new[:TITLES]]
    told = _line("; ".join(part for part in named if part), CHANGED)
    return f"{'Changed' if files else 'About'}: {told}" if told else ""


def _line(text: str, most: int) -> str:
    return label(" ".join(text.split()), most)


def _is_in(part: str, whole: str) -> bool:
    """Whether a text holds the words of another one side by side. One that was cut may end inside a word."""
    words = _folded(part)
    return (words.rstrip() if part.endswith("…") else words) in _folded(whole)


def _folded(text: str) -> str:
    return f" {' '.join(WORD.findall(text.casefold()))} "

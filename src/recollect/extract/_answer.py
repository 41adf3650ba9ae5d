"""What a model answered becomes observations, or is nonsense. The one place that forgives a model's ways.

It may put its array into a code fence or talk around it; it may write `[e3]` or `3` for `e3`. It may not leave out its
evidence, or cite what it was not shown.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.extract._prompt import MOST_OBSERVATIONS
from recollect.model import Event, Observation, observation_type

TITLE, SUBTITLE, NARRATIVE, FACT, CONCEPT, TYPE = 120, 200, 2_000, 300, 40, 40  # characters
FACTS, CONCEPTS, EVIDENCE = 10, 12, 12
LONGEST = 65_536  # characters of an answer that are looked at; a proper one has two thousand
TRIES = 64  # brackets at which an array may begin
NUMBER = re.compile(r"\[?e?(\d{1,6})\]?", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
GENERAL = "general"


class Nonsense(Exception):
    """An answer that holds no array of observations. It says why."""


class Told(Struct, kw_only=True):
    """An observation as a model tells it."""

    title: str
    type: str | None = None
    subtitle: str | None = None
    narrative: str | None = None
    facts: list[str] | None = None
    concepts: list[str] | None = None
    evidence: list[str | int] | None = None


def observations_of(text: str, cited: Mapping[str, Event]) -> tuple[list[Observation], int]:
    """What the model observed, and how much of it was refused: for its shape, its number or its lack of evidence."""
    items = array_in(text)
    made = [observation for item in items if (observation := _observation(item, cited)) is not None]
    return made[:MOST_OBSERVATIONS], len(items) - len(made[:MOST_OBSERVATIONS])


def array_in(text: str) -> list[Any]:
    """The array of objects in an answer; an empty one where there is only that."""
    if not text.strip():
        raise Nonsense("the answer is empty")
    if len(text) > LONGEST:
        raise Nonsense(f"the answer has {len(text):,} characters")
    arrays = list(_arrays(text))
    for array in arrays:
        if array and all(isinstance(item, dict) for item in array):
            return array
    if [] in arrays:
        return []
    raise Nonsense("there is no JSON array of observations in the answer")


def _arrays(text: str) -> Iterator[list[Any]]:
    """The outermost arrays of a text, wherever they begin."""
    decoder = json.JSONDecoder()
    place = text.find("[")
    for _ in range(TRIES):
        if place < 0:
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield value
        place = text.find("[", end)


def _observation(item: Any, cited: Mapping[str, Event]) -> Observation | None:
    try:
        told = msgspec.convert(item, Told)
    except msgspec.ValidationError:
        return None
    title = _text(told.title, TITLE)
    evidence = _evidence(told.evidence or (), cited)
    if not title or not evidence:
        return None
    return Observation(
        type=_type(told.type or ""),
        title=title,
        evidence=tuple(event.id for event in evidence),
        at=evidence[0].at,
        subtitle=_text(told.subtitle or "", SUBTITLE),
        narrative=_text(told.narrative or "", NARRATIVE),
        facts=_texts(told.facts or (), FACTS, FACT),
        concepts=_texts(told.concepts or (), CONCEPTS, CONCEPT),
    )


def _evidence(said: Sequence[str | int], cited: Mapping[str, Event]) -> list[Event]:
    """The events that were cited, once each. One number that was never shown spoils nothing but itself."""
    numbers = [NUMBER.fullmatch(str(label).strip()) for label in said]
    labels = dict.fromkeys(f"e{int(number[1])}" for number in numbers if number)
    return [cited[label] for label in labels if label in cited][:EVIDENCE]


def _type(said: str) -> str:
    """The first, where a model copies the choice that it was given."""
    return observation_type(said.split("|")[0])[:TYPE].rstrip("-") or GENERAL


def _texts(said: Sequence[str], most: int, longest: int) -> tuple[str, ...]:
    texts = dict.fromkeys(_text(text, longest) for text in said)
    return tuple(text for text in texts if text)[:most]


def _text(said: str, most: int) -> str:
    """In one line, storable, and no longer than that."""
    text = CONTROL.sub(" ", said).encode("utf-8", "replace").decode()
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"

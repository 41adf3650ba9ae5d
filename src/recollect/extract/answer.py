"""Parses a model's answer into observations. Only this module tolerates deviations from the requested form.

An answer may put its array into a code fence or between sentences, and write `[e3]` or `3` for `e3`.
An observation without evidence, or whose evidence was not in the prompt, is refused.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.extract.prompt import MAX_OBSERVATIONS
from recollect.model import Event, Observation, observation_type

MAX_TITLE, MAX_SUBTITLE, MAX_NARRATIVE, MAX_FACT, MAX_CONCEPT, MAX_TYPE = 120, 200, 2_000, 300, 40, 40  # characters
MAX_FACTS, MAX_CONCEPTS, MAX_EVIDENCE = 10, 12, 12  # items of one observation
MAX_ANSWER = 65_536  # characters; a usual answer has two thousand
MAX_ATTEMPTS = 64  # brackets that are tried as the start of an array
LINE_LABEL = re.compile(r"\[?e?(\d{1,6})\]?", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
GENERAL = "general"


class InvalidAnswer(Exception):
    """An answer without an array of observations. The message says why."""


class RawObservation(Struct, kw_only=True):
    """An observation as a model writes it, before it is checked."""

    title: str
    type: str | None = None
    subtitle: str | None = None
    narrative: str | None = None
    facts: list[str] | None = None
    concepts: list[str] | None = None
    evidence: list[str | int] | None = None


def parse_observations(text: str, cited: Mapping[str, Event]) -> tuple[list[Observation], int]:
    """The observations of an answer, and the number of refused ones: malformed, too many, or without evidence."""
    items = find_array(text)
    valid = [observation for item in items if (observation := _check(item, cited)) is not None]
    return valid[:MAX_OBSERVATIONS], len(items) - len(valid[:MAX_OBSERVATIONS])


def find_array(text: str) -> list[Any]:
    """The first array of objects in an answer, or an empty array if there is one. Raises `InvalidAnswer`."""
    if not text.strip():
        raise InvalidAnswer("the answer is empty")
    if len(text) > MAX_ANSWER:
        raise InvalidAnswer(f"the answer has {len(text):,} characters")
    arrays = list(_arrays(text))
    for array in arrays:
        if array and all(isinstance(item, dict) for item in array):
            return array
    if [] in arrays:
        return []
    raise InvalidAnswer("there is no JSON array of observations in the answer")


def _arrays(text: str) -> Iterator[list[Any]]:
    """The outermost JSON arrays of a text, wherever they begin."""
    decoder = json.JSONDecoder()
    place = text.find("[")
    for _ in range(MAX_ATTEMPTS):
        if place < 0:
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield value
        place = text.find("[", end)


def _check(item: Any, cited: Mapping[str, Event]) -> Observation | None:
    try:
        raw = msgspec.convert(item, RawObservation)
    except msgspec.ValidationError:
        return None
    title = _clean_text(raw.title, MAX_TITLE)
    evidence = _find_evidence(raw.evidence or (), cited)
    if not title or not evidence:
        return None
    return Observation(
        type=_clean_type(raw.type or ""),
        title=title,
        evidence=tuple(event.id for event in evidence),
        at=evidence[0].at,
        subtitle=_clean_text(raw.subtitle or "", MAX_SUBTITLE),
        narrative=_clean_text(raw.narrative or "", MAX_NARRATIVE),
        facts=_clean_texts(raw.facts or (), MAX_FACTS, MAX_FACT),
        concepts=_clean_texts(raw.concepts or (), MAX_CONCEPTS, MAX_CONCEPT),
    )


def _find_evidence(labels: Sequence[str | int], cited: Mapping[str, Event]) -> list[Event]:
    """The cited events, without duplicates. A label that was not in the prompt is ignored."""
    numbers = [LINE_LABEL.fullmatch(str(label).strip()) for label in labels]
    known = dict.fromkeys(f"e{int(number[1])}" for number in numbers if number)
    return [cited[label] for label in known if label in cited][:MAX_EVIDENCE]


def _clean_type(name: str) -> str:
    """A type in our spelling. If an answer copies "bug-fix | feature" from the prompt, the first one counts."""
    return observation_type(name.split("|")[0])[:MAX_TYPE].rstrip("-") or GENERAL


def _clean_texts(texts: Sequence[str], max_count: int, max_length: int) -> tuple[str, ...]:
    cleaned = dict.fromkeys(_clean_text(text, max_length) for text in texts)
    return tuple(text for text in cleaned if text)[:max_count]


def _clean_text(text: str, max_length: int) -> str:
    """A text on one line, without control characters, in valid UTF-8, cut to `max_length` characters."""
    text = CONTROL.sub(" ", text).encode("utf-8", "replace").decode()
    text = " ".join(text.split())
    return text if len(text) <= max_length else f"{text[: max_length - 1].rstrip()}…"

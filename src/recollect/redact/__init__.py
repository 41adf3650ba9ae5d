"""Replaces secrets by `[REDACTED:<rule>]` before anything is stored. The text around a secret is not changed.

Tables define the secrets: by prefix (`services`), by form (`forms`), by file format (`files`), by the name that they are
assigned to (`names`) and by the name of their service (`named_services`). `values` tells a secret from a placeholder, a
reference and a word. One pass finds the literals of all tables (`literals`): most texts have no secret and must cost little.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from recollect.redact.literals import Found

SHORTEST = 12  # characters: no rule matches a shorter text
PART = 4 << 20  # characters of a text that are searched at a time
AROUND = 65_536  # characters on either side of a part: twice the longest secret
MARK = re.compile(r"\[REDACTED:([a-z-]+)\]")
ASSIGNED = "assigned-secret"


def suspects(texts: Sequence[str]) -> set[int]:
    """The positions of the texts, or JSON values as text, that contain a secret or a mark; found in one pass."""
    long = {place for place, text in enumerate(texts) if len(text) > PART and (MARK.search(text) or any(_found(text)))}
    texts = [text if len(text) <= PART else "" for text in texts]
    joined = "\0".join(texts)  # no secret contains a zero byte
    ends = list(accumulate(len(text) + 1 for text in texts))
    starts = [found.start for _, found in _found(joined)]
    starts += [mark.start() for mark in MARK.finditer(joined)]
    return {bisect_right(ends, start) for start in starts} | long


def _found(text: str) -> Iterator[tuple[int, Found]]:
    """Every secret, with the rank of its rule. A long text is searched in parts, because the rules copy it.

    Parts overlap. A secret belongs to the part in which it begins.
    """
    for start in range(0, len(text), PART):
        first = max(0, start - AROUND)
        part = text[first : start + PART + AROUND]
        for rank, found in _found_in(part):
            if start <= first + found.start < start + PART:
                yield rank, found._replace(start=first + found.start, end=first + found.end)


def _found_in(text: str) -> Iterator[tuple[int, Found]]:
    from recollect.redact.rules import (  # compiling its patterns takes 70 ms, and most commands redact nothing
        LITERALS,
        SCANS,
    )

    yield from LITERALS.found(text)
    for rank, scan in SCANS:
        for found in scan(text):
            yield rank, found


def marks(text: str) -> Counter[str]:
    """The number of marks in a text, by rule."""
    return Counter(MARK.findall(text))


def redact(text: str, counts: Counter[str] | None = None) -> str:
    """The text without its secrets. Adds the number of secrets to `counts`, by rule."""
    if len(text) < SHORTEST:
        return text
    parts, place = [], 0
    for found in _secrets(text):
        parts += [text[place : found.start], f"[REDACTED:{found.rule}]"]
        place = found.end
        if counts is not None:
            counts[found.rule] += 1
    return "".join([*parts, text[place:]]) if parts else text


def _secrets(text: str) -> Iterator[Found]:
    """All secrets in order. Overlapping ones become one secret, of the more specific rule."""
    found = [(secret.start, rank, secret) for rank, secret in _found(text)]
    last: Found | None = None
    for _, _, secret in sorted(found):
        if last is None or secret.start >= last.end:
            if last is not None:
                yield last
            last = secret
        elif secret.end > last.end:
            last = last._replace(end=secret.end)
    if last is not None:
        yield last


def redact_all(value: Any, counts: Counter[str] | None = None) -> Any:
    """A JSON value without secrets: in each string, and in strings that are a secret only together."""
    redacted = _redact_each(value, counts)
    if not isinstance(redacted, dict | list):
        return redacted
    try:
        together = json.dumps(redacted)
        secrets = redact(together)
        return redacted if secrets == together else json.loads(secrets)
    except (TypeError, ValueError):  # bytes, a number outside JSON, or a mark that crosses the end of a string
        return redacted


def _redact_each(value: Any, counts: Counter[str] | None) -> Any:
    if isinstance(value, str):
        return redact(value, counts)
    if isinstance(value, dict):
        return {
            redact(key, counts) if isinstance(key, str) else key: _redact_named(key, item, counts)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_redact_each(item, counts) for item in value]
    return value


def _redact_named(name: Any, value: Any, counts: Counter[str] | None) -> Any:
    """A value without secrets. Its name may tell that it is one."""
    redacted = _redact_each(value, counts)
    if not isinstance(value, str) or not isinstance(name, str) or redacted != value:
        return redacted
    from recollect.redact.names import is_secret, name_of  # as above

    known = name_of(name)
    if known is None or not is_secret(known, value, literal=True):
        return value
    if counts is not None:
        counts[ASSIGNED] += 1
    return f"[REDACTED:{ASSIGNED}]"

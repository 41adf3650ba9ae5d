"""Secrets are taken out before anything is stored; what is taken out is replaced by `[REDACTED:<rule>]`.

Tables say what a secret is: tokens by their beginning (`_services`), by their form (`_forms`), by the file that they are in
(`_files`), by the name that they are assigned to (`_names`) and by their service's name (`_named_services`). `_values` tells
a secret from a placeholder, a reference and a word. One pass finds the literals of all tables (`_literals`), because nearly
every text has no secret in it and must cost next to nothing. The surroundings stay, so that the text is still readable.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from recollect.redact.literals import Found

SHORTEST = 12  # characters: no text below this holds a secret that any rule knows
PART = 4 << 20  # characters of a text that are looked at in one piece
AROUND = 65_536  # characters on either side of a part: twice the longest secret
MARK = re.compile(r"\[REDACTED:([a-z-]+)\]")
ASSIGNED = "assigned-secret"


def suspects(texts: Sequence[str]) -> set[int]:
    """Which of many texts, or JSON values written as text, hold a secret or a mark of one: one pass over them all."""
    long = {place for place, text in enumerate(texts) if len(text) > PART and (MARK.search(text) or any(_found(text)))}
    texts = [text if len(text) <= PART else "" for text in texts]
    joined = "\0".join(texts)  # no secret has a zero byte in it
    ends = list(accumulate(len(text) + 1 for text in texts))
    starts = [found.start for _, found in _found(joined)]
    starts += [mark.start() for mark in MARK.finditer(joined)]
    return {bisect_right(ends, start) for start in starts} | long


def _found(text: str) -> Iterator[tuple[int, Found]]:
    """Every secret, with the rank of its finder. A long text is looked at in parts, because finders make copies of it.

    A part is read with what lies around it; a secret belongs to the part that it begins in.
    """
    for start in range(0, len(text), PART):
        first = max(0, start - AROUND)
        part = text[first : start + PART + AROUND]
        for rank, found in _found_in(part):
            if start <= first + found.start < start + PART:
                yield rank, found._replace(start=first + found.start, end=first + found.end)


def _found_in(text: str) -> Iterator[tuple[int, Found]]:
    from recollect.redact.rules import LITERALS, SCANS  # its patterns take 70 ms, and most commands redact nothing

    yield from LITERALS.found(text)
    for rank, scan in SCANS:
        for found in scan(text):
            yield rank, found


def marks(text: str) -> Counter[str]:
    """How many secrets of which rule were taken out of a text, now or before it came here."""
    return Counter(MARK.findall(text))


def redact(text: str, counts: Counter[str] | None = None) -> str:
    """The text without its secrets; `counts` learns how many of which rule."""
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
    """Secrets in order. Where two rules overlap all of it is one secret, of the rule that knows more about it."""
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
    """The same for every string inside a JSON value, and for what its strings say only together."""
    redacted = _redact_each(value, counts)
    if not isinstance(redacted, dict | list):
        return redacted
    try:
        together = json.dumps(redacted)
        secrets = redact(together)
        return redacted if secrets == together else json.loads(secrets)
    except (TypeError, ValueError):  # bytes, a number that JSON has not, or a mark that goes over a string's end
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
    """A value whose name says that it is a secret is read together with the name."""
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

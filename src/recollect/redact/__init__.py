"""Replaces secrets by `[REDACTED:<rule>]` before anything is stored. The text around a secret is not changed.

Tables define the secrets: by prefix (`services`), by form (`forms`), by file format (`files`), by the name that they are
assigned to (`names`) and by the name of their service (`named_services`). `values` distinguishes a secret from a
placeholder, a reference and a word. One pass finds the literals of all tables (`literals`), because most texts contain no
secret and must take little time.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from recollect.redact.literals import SecretMatch

MIN_LENGTH = 12  # characters: no rule matches a shorter text
PART_LENGTH = 4 << 20  # characters of a text that are searched at a time
OVERLAP = 65_536  # characters on either side of a part: twice the longest secret
MARK = re.compile(r"\[REDACTED:([a-z-]+)\]")
ASSIGNED = "assigned-secret"  # the rule for values that are secret by their name


def find_secret_texts(texts: Sequence[str]) -> set[int]:
    """The positions of the texts that contain a secret or a mark. A text may be a JSON value. Takes one pass."""
    long = {
        position
        for position, text in enumerate(texts)
        if len(text) > PART_LENGTH and (MARK.search(text) or any(_find_secrets(text)))
    }
    texts = [text if len(text) <= PART_LENGTH else "" for text in texts]
    joined = "\0".join(texts)  # no secret contains a zero byte
    ends = list(accumulate(len(text) + 1 for text in texts))
    starts = [secret.start for _, secret in _find_secrets(joined)]
    starts += [mark.start() for mark in MARK.finditer(joined)]
    return {bisect_right(ends, start) for start in starts} | long


def _find_secrets(text: str) -> Iterator[tuple[int, SecretMatch]]:
    """Every secret, with the rank of its rule. A long text is searched in parts, because the rules copy it.

    Parts overlap. A secret belongs to the part in which it begins.
    """
    for start in range(0, len(text), PART_LENGTH):
        first = max(0, start - OVERLAP)
        part = text[first : start + PART_LENGTH + OVERLAP]
        for rank, secret in _find_in_part(part):
            if start <= first + secret.start < start + PART_LENGTH:
                yield rank, secret._replace(start=first + secret.start, end=first + secret.end)


def _find_in_part(text: str) -> Iterator[tuple[int, SecretMatch]]:
    from recollect.redact.rules import (  # compiling its patterns takes 70 ms, and most commands redact nothing
        LITERALS,
        SCANS,
    )

    yield from LITERALS.find_secrets(text)
    for rank, scan in SCANS:
        for secret in scan(text):
            yield rank, secret


def count_marks(text: str) -> Counter[str]:
    """The number of marks in a text, by rule."""
    return Counter(MARK.findall(text))


def redact(text: str, counts: Counter[str] | None = None) -> str:
    """The text without its secrets. Adds the number of secrets to `counts`, by rule."""
    if len(text) < MIN_LENGTH:
        return text
    parts, end = [], 0
    for secret in _distinct_secrets(text):
        parts += [text[end : secret.start], f"[REDACTED:{secret.rule}]"]
        end = secret.end
        if counts is not None:
            counts[secret.rule] += 1
    return "".join([*parts, text[end:]]) if parts else text


def _distinct_secrets(text: str) -> Iterator[SecretMatch]:
    """All secrets in order. Overlapping ones are merged into one secret, with the more specific rule."""
    ranked = [(secret.start, rank, secret) for rank, secret in _find_secrets(text)]
    last: SecretMatch | None = None
    for _, _, secret in sorted(ranked):
        if last is None or secret.start >= last.end:
            if last is not None:
                yield last
            last = secret
        elif secret.end > last.end:
            last = last._replace(end=secret.end)
    if last is not None:
        yield last


def redact_all(value: Any, counts: Counter[str] | None = None) -> Any:
    """A JSON value without secrets, including secrets that only several strings together contain."""
    redacted = _redact_each(value, counts)
    if not isinstance(redacted, dict | list):
        return redacted
    try:
        encoded = json.dumps(redacted)
        redacted_text = redact(encoded)
        return redacted if redacted_text == encoded else json.loads(redacted_text)
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
    """A value without secrets. The name of a value may show that the value is a secret."""
    redacted = _redact_each(value, counts)
    if not isinstance(value, str) or not isinstance(name, str) or redacted != value:
        return redacted
    from recollect.redact.names import is_secret, parse_name  # imported here for the same reason

    secret_name = parse_name(name)
    if secret_name is None or not is_secret(secret_name, value, literal=True):
        return value
    if counts is not None:
        counts[ASSIGNED] += 1
    return f"[REDACTED:{ASSIGNED}]"

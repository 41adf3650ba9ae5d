"""Splits a query into words and filters: `agent:codex -branch:main since:7d "exact phrase" retry`.

A filter is a known key with a value that can fit it. Anything else stays text, and so does what is quoted. Which values fit
`agent:` or `project:` depends on the archive: `resolve` decides that.
"""

import re
from collections.abc import Collection

from msgspec import Struct

from recollect.model import Kind, SessionMode
from recollect.session_state import SessionState

NAMES = ("agent", "project", "branch", "model", "tool", "label", "machine")  # filters by a name that the archive has
CLOSED = {"type": tuple(Kind), "mode": tuple(SessionMode), "state": tuple(SessionState)}
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
FAILED = "failed"
KEYS = (*NAMES, *CLOSED, "file", FAILED, "since", "until", "in")

TOKEN = re.compile(r'-?[A-Za-z]+:"[^"]*"|"[^"]*"|\S+')
FILTER = re.compile(r'(-?)([A-Za-z]+):(?:"([^"]*)"|([^\s"]+))')
URL = "//"
SEPARATOR = ":"


class FilterTerm(Struct, frozen=True):
    """One filter: a key, a value, and whether sessions that fit are left out. `written` is its text in a query, if any."""

    key: str
    value: str
    is_negated: bool = False
    written: str = ""

    def __str__(self) -> str:
        """The filter as it would be typed."""
        value = self.value.replace('"', "")
        return f"{'-' * self.is_negated}{self.key}:" + (f'"{value}"' if " " in value else value)


class FilterQuery(Struct, frozen=True):
    """The filters of a query, and the text without them. Further filters may come from elsewhere."""

    text: str
    terms: tuple[FilterTerm, ...] = ()
    query: str = ""  # with its filters

    def text_without(self, terms: Collection[FilterTerm]) -> str:
        """The query without some of its filters. Without any of them it is the query, to the letter."""
        left_out = {term.written for term in terms if term.written}
        if not left_out:
            return self.query
        return " ".join(token for token in TOKEN.findall(self.query) if token not in left_out)


def split(query: str) -> FilterQuery:
    """The filters of a query, and the rest of its text. A query without filters is returned unchanged."""
    if SEPARATOR not in query:
        return FilterQuery(query, (), query)
    tokens = TOKEN.findall(query)
    terms = [_term(token) for token in tokens]
    for position, token in enumerate(tokens):
        if token.lstrip("-").lower() == FAILED and _is_among_filters(terms, position):
            terms[position] = FilterTerm(FAILED, "true", token.startswith("-"), token)
    found = tuple(term for term in terms if term is not None)
    if not found:
        return FilterQuery(query, (), query)
    text = " ".join(token for token, term in zip(tokens, terms, strict=True) if term is None)
    return FilterQuery(text, found, query)


def _term(token: str) -> FilterTerm | None:
    """The filter that a token is; None if it is text."""
    match = FILTER.fullmatch(token)
    if match is None:
        return None
    minus, key, quoted, bare = match.groups()
    key, value = key.lower(), (quoted if bare is None else bare).strip()
    if key not in KEYS or not value or value.startswith((URL, ":")):
        return None
    fits = CLOSED.get(key, tuple(TRUTH) if key == FAILED else None)
    if fits is not None and value.lower() not in fits:
        return None
    return FilterTerm(key, value, minus == "-", token)


def _is_among_filters(terms: list[FilterTerm | None], position: int) -> bool:
    """Whether a bare word stands between filters, where it is not a word of the text."""
    before = position > 0 and terms[position - 1] is not None
    return before and (position + 1 == len(terms) or terms[position + 1] is not None)

"""Substring search: finds every event that contains a string, in upper or lower case, the latest session first.

The n-gram index finds candidates, and their texts confirm them. Events that are not indexed yet are scanned. So the result
does not depend on the progress of indexing.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from recollect.index.filters import Filters
from recollect.index.ngrams import NgramCandidate, NgramIndex, fold_case
from recollect.store import EventRow, Reader, SessionRow

FIRST_BATCH, MAX_BATCH = 32, 512  # candidates whose texts are fetched together: most answers need few
FEW_UNINDEXED = 50_000  # events: up to this number, finding their sessions is faster than a scan of all sessions

MatchPosition = tuple[int, int, int]  # start of the session (the latest first), key of the session, seq of the event


class NgramCoverage(Struct, frozen=True):
    """The n-gram index, and the key of the last event that it contains."""

    index: NgramIndex | None
    last_key: int


class SubstringMatch(Struct, frozen=True):
    """An event that contains the string, and its position among all matches."""

    position: MatchPosition
    event: EventRow


def find_substring(
    reader: Reader,
    coverage: NgramCoverage,
    string: str,
    filters: Filters,
    after: MatchPosition | None,
    limit: int,
    check: Callable[[], None],
) -> list[SubstringMatch]:
    """The first matches after a position. `check` raises an error after the deadline."""
    needle = fold_case(string)
    latest_start = after[0] if after is not None else None
    streams = [_scan_unindexed(reader, coverage.last_key, needle, filters, latest_start, check)]
    if coverage.index is not None:
        groups = coverage.index.candidates(needle, filters, latest_start, check)
        indexed = (candidate for group in groups for candidate in group if candidate.key <= coverage.last_key)
        streams.append(_confirm_in_batches(reader, indexed, needle, check))
    matches: Iterator[SubstringMatch] = heapq.merge(*streams, key=lambda match: _sort_key(match.position))
    hidden = reader.duplicates() if filters.session is None else ()
    matches = (match for match in matches if match.event.session not in hidden)
    following = (match for match in matches if after is None or _sort_key(match.position) > _sort_key(after))
    return list(islice(following, limit))


def _sort_key(position: MatchPosition) -> tuple[int, int, int]:
    started, session, seq = position
    return -started, session, seq


def _scan_unindexed(
    reader: Reader, last_key: int, needle: str, filters: Filters, latest_start: int | None, check: Callable[[], None]
) -> Iterator[SubstringMatch]:
    """Matches among the events that are not indexed yet, in order. Lazy: a common string needs only the first few."""
    kinds = filters.kind_codes()
    for session in _sessions_to_scan(reader, last_key, filters, latest_start):
        check()
        if session.key in filters.excluded_sessions:
            continue
        for event in reader.events_of_session(session.key, last_key):
            passes = event.body and (not kinds or event.index_kind() in kinds)
            if passes and needle in fold_case(event.full_text()):
                yield SubstringMatch((session.started_at, session.key, event.seq), event)


def _sessions_to_scan(reader: Reader, last_key: int, filters: Filters, latest_start: int | None) -> Iterable[SessionRow]:
    """The sessions that may have unindexed events, the latest first."""
    if filters.session is None and reader.last_key() - last_key > FEW_UNINDEXED:
        return reader.sessions_newest_first(filters.source, latest_start)
    keys = [filters.session] if filters.session is not None else reader.sessions_above(last_key)
    sessions = [
        session
        for session in reader.sessions(keys).values()
        if filters.source in (None, session.source) and (latest_start is None or session.started_at <= latest_start)
    ]
    return sorted(sessions, key=lambda session: _sort_key((session.started_at, session.key, 0)))


def _confirm_in_batches(
    reader: Reader, candidates: Iterator[NgramCandidate], needle: str, check: Callable[[], None]
) -> Iterator[SubstringMatch]:
    """The candidates that contain the string, in order."""
    size = FIRST_BATCH
    while batch := list(islice(candidates, size)):
        check()
        yield from _confirm(reader, batch, needle)
        size = min(2 * size, MAX_BATCH)


def _confirm(reader: Reader, candidates: Sequence[NgramCandidate], needle: str) -> Iterator[SubstringMatch]:
    texts = reader.full_texts(candidate.key for candidate in candidates)
    events = reader.events([key for key, text in texts if needle in fold_case(text)])
    for candidate in candidates:
        if candidate.key in events:  # else the text differs, or the archive has deleted the event
            position = candidate.started, candidate.session, candidate.seq
            yield SubstringMatch(position, events[candidate.key])

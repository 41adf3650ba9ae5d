"""Finding a string wherever it stands, in any case, in every event: exact, the session that began last first.

The index of pieces names the events that may hold the string, and their texts tell whether they do. What the index has not
seen yet is looked through, so that an answer never depends on how far the index is.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from recollect.index.ngrams import Narrow, NgramCandidate, NgramIndex, folded
from recollect.store import EventRow, Reader, SessionRow

FIRST_LOOK, LARGEST_LOOK = 32, 512  # candidates whose texts are fetched together: few at first, most answers need no more
FEW = 50_000  # events that no index knows, of which it is quick to say whose they are

Place = tuple[int, int, int]  # when the session began (later comes first), its key, the event in it


class Known(Struct, frozen=True):
    """The index of pieces, and the last event that it knows."""

    index: NgramIndex | None
    seen: int


class Match(Struct, frozen=True):
    """An event that holds the string; `place` is where it stands among all matches."""

    place: Place
    event: EventRow


def find(
    reader: Reader, known: Known, string: str, narrow: Narrow, after: Place | None, limit: int, check: Callable[[], None]
) -> list[Match]:
    """The first matches behind a place, as many as wanted."""
    wanted = folded(string)
    ways = [_look_through(reader, known.seen, wanted, narrow, check)]
    if known.index is not None:
        ways.append(_confirmed(reader, known.index, known.seen, wanted, narrow, check))
    matches: Iterator[Match] = heapq.merge(*ways, key=lambda match: _order(match.place))
    hidden = reader.duplicates() if narrow.session is None else ()
    matches = (match for match in matches if match.event.session not in hidden)
    behind = (match for match in matches if after is None or _order(match.place) > _order(after))
    return list(islice(behind, limit))


def _order(place: Place) -> Place:
    started, session, seq = place
    return -started, session, seq


def _look_through(reader: Reader, seen: int, wanted: str, narrow: Narrow, check: Callable[[], None]) -> Iterator[Match]:
    """Matches among the events that no index knows yet, in order: where the string is common, the first few suffice."""
    for session in _unseen(reader, seen, narrow):
        check()
        if session.key in narrow.without:
            continue
        for event in reader.events_of_session(session.key, seen):
            passes = event.body and (not narrow.kinds or event.code() in narrow.kinds)
            if passes and wanted in folded(event.whole()):
                yield Match((session.started_at, session.key, event.seq), event)


def _unseen(reader: Reader, seen: int, narrow: Narrow) -> Iterable[SessionRow]:
    """The sessions that may have such events, the one that began last first."""
    if narrow.session is None and reader.last_key() - seen > FEW:
        return reader.newest_first(narrow.source, narrow.started)
    keys = [narrow.session] if narrow.session is not None else reader.sessions_above(seen)
    begun = [
        session
        for session in reader.sessions(keys).values()
        if narrow.source in (None, session.source) and (narrow.started is None or session.started_at <= narrow.started)
    ]
    return sorted(begun, key=lambda session: _order((session.started_at, session.key, 0)))


def _confirmed(
    reader: Reader, index: NgramIndex, seen: int, wanted: str, narrow: Narrow, check: Callable[[], None]
) -> Iterator[Match]:
    """Matches among the events that the index names, in order."""
    candidates = (
        candidate for group in index.candidates(wanted, narrow, check) for candidate in group if candidate.key <= seen
    )
    size = FIRST_LOOK
    while some := list(islice(candidates, size)):
        check()
        yield from _holding(reader, some, wanted)
        size = min(2 * size, LARGEST_LOOK)


def _holding(reader: Reader, candidates: Sequence[NgramCandidate], wanted: str) -> Iterator[Match]:
    """Those of some candidates that hold the string. What is gone from the archive holds nothing."""
    told = reader.wholes(candidate.key for candidate in candidates)
    events = reader.events([key for key, text in told if wanted in folded(text)])
    for candidate in candidates:
        if candidate.key in events:
            yield Match(_place(candidate), events[candidate.key])


def _place(candidate: NgramCandidate) -> Place:
    return candidate.started, candidate.session, candidate.seq

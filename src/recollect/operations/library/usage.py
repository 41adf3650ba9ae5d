"""`library/usage`: tokens and cost by day, week, project, agent, model or session."""

import csv
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from io import StringIO
from typing import Any

from recollect.dates.offsets import offsets_between
from recollect.errors import BadSettings
from recollect.library_answers import UsageRow
from recollect.live import LiveRealm
from recollect.model import Usage
from recollect.operations.answer_file import AnswerFile
from recollect.operations.context import RequestContext
from recollect.operations.ids import session_ref
from recollect.operations.library.answers import UsagePage
from recollect.operations.library.context import Library, open_library
from recollect.operations.library.costs import Costs, CostSum
from recollect.operations.library.envelope import LibraryAnswer, PageEnd
from recollect.operations.library.pages import read_position, write_position
from recollect.operations.library.requests import GetUsage
from recollect.operations.library.views import tokens_of
from recollect.store.sqlite.session_filter import SessionFilter

NAME = "library_usage"
CSV = "text/csv"
TIMES = ("day", "week")  # these rows are shown newest first, all others most expensive first
FIRST_MONDAY = date(1969, 12, 29)  # the week of 1 January 1970
SPREADSHEET_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins with one of these can be run as a formula
MODELS_SHOWN = 5  # of those without a price, in a warning


class Sum:
    """What one row adds up to."""

    def __init__(self) -> None:
        self.usage, self.cost = Usage(), CostSum()
        self.sessions: set[int] = set()
        self.turns = 0

    def add(self, other: "Sum") -> None:
        self.usage += other.usage
        self.cost.add(other.cost)
        self.sessions |= other.sessions
        self.turns += other.turns

    def expense(self) -> tuple[int, int]:
        """What rows are sorted by: their cost, then their tokens."""
        return self.cost.total() or 0, self.usage.total()

    def row(self, key: str, title: str | None = None) -> UsageRow:
        return UsageRow(
            key=key,
            title=title,
            sessions=len(self.sessions),
            turns=self.turns,
            tokens=tokens_of(self.usage),
            cost=self.cost.view(),
        )


def usage(realm: LiveRealm, request: GetUsage, context: RequestContext) -> LibraryAnswer:
    fingerprint = request.fingerprint()
    position = read_position(NAME, fingerprint, request.cursor)
    with open_library(realm, context) as library:
        filters, warnings = library.session_filter(request)
        costs = library.costs()
        if costs.problem:
            raise BadSettings(costs.problem)
        sums, unpriced = _sums(library, request, filters, costs)
        total = _total(library, request, filters, sums)
        ranked = sorted(sums, key=_rank_of(request, sums), reverse=True)
        start = _start(ranked, position, _rank_of(request, sums))
        shown = ranked if request.format == "csv" else ranked[start : start + request.limit]
        rows = _rows(library, request, {key: sums[key] for key in shown})
    if unpriced:
        warnings.append(_unpriced_warning(unpriced))
    data = UsagePage(by=request.by, rows=rows, total=total.row("total"))
    if request.format == "csv":
        return LibraryAnswer(data, None, warnings, AnswerFile.of(CSV, f"usage-by-{request.by}.csv", as_csv(rows)))
    last = ranked[start + request.limit - 1] if len(ranked) > start + request.limit else None
    following = None if last is None else [*_rank_of(request, sums)(last)]
    page = PageEnd(write_position(NAME, fingerprint, following), len(ranked))
    return LibraryAnswer(data, page, warnings)


# ---- sums


def _sums(
    library: Library, request: GetUsage, filters: SessionFilter, costs: Costs
) -> tuple[dict[Any, Sum], dict[str, int]]:
    """The sum of each key, and the tokens of the models without a price."""
    offsets = offsets_between(*library.reader.time_range(), os.environ.get("TZ", ""))
    sums: dict[Any, Sum] = defaultdict(Sum)
    unpriced: dict[str, int] = defaultdict(int)
    for row in library.reader.spent_by(request.by, filters, offsets):
        cost = costs.sum([row])
        sums[row.key].usage += row.usage
        sums[row.key].cost.add(cost)
        if cost.unpriced:
            unpriced[row.model] += cost.unpriced
    for key, turns in library.reader.turns_by(request.by, filters, offsets).items():
        sums[key].turns = turns
    for key, sessions in library.reader.sessions_by(request.by, filters, offsets).items():
        sums[key].sessions = sessions
    return _with_sub_agents(library, sums) if request.by == "session" else sums, unpriced


def _with_sub_agents(library: Library, sums: dict[Any, Sum]) -> dict[Any, Sum]:
    """Each session with its sub-agents, and theirs: their tokens are counted once, in the session that began it all."""
    parents = library.reader.parent_keys(list(sums))
    rolled: dict[Any, Sum] = defaultdict(Sum)
    for key, own in sums.items():
        rolled[_origin(key, parents)].add(own)
    return rolled


def _origin(key: int, parents: dict[int, int]) -> int:
    """The session that began it all. Sessions that claim to be each other's parents keep what is theirs."""
    passed = {key}
    while (parent := parents.get(key)) is not None:
        if parent in passed:
            return min(passed)
        passed.add(parent)
        key = parent
    return key


def _total(library: Library, request: GetUsage, filters: SessionFilter, sums: dict[Any, Sum]) -> Sum:
    """The sum of all rows. A session with several days or models counts once, and so do its turns."""
    total = Sum()
    for one in sums.values():
        total.add(one)
    if request.by == "model":
        turns = library.reader.turns_by("session", filters, ())
        total.sessions, total.turns = total.sessions | turns.keys(), sum(turns.values())
    return total


# ---- rows


def _rank_of(request: GetUsage, sums: dict[Any, Sum]) -> Callable[[Any], tuple[Any, ...]]:
    """What rows are sorted by, the largest first."""
    if request.by in TIMES:
        return lambda key: (key,)
    return lambda key: (*sums[key].expense(), key)


def _start(ranked: Sequence[Any], position: list[Any] | None, rank: Callable[[Any], tuple[Any, ...]]) -> int:
    """The place of the first row after a position."""
    if position is None:
        return 0
    return sum(1 for key in ranked if rank(key) >= tuple(position))


def _rows(library: Library, request: GetUsage, sums: dict[Any, Sum]) -> list[UsageRow]:
    match request.by:
        case "day":
            return [one.row((date(1970, 1, 1) + timedelta(days=key)).isoformat()) for key, one in sums.items()]
        case "week":
            return [one.row(week_name(FIRST_MONDAY + timedelta(weeks=key))) for key, one in sums.items()]
        case "session":
            sessions = library.reader.sessions(sums)
            return [one.row(session_ref(sessions[key].id), sessions[key].title) for key, one in sums.items()]
        case _:
            return [one.row(key) for key, one in sums.items()]


def week_name(monday: date) -> str:
    """The week of a Monday, as in "2026-W10"."""
    year, week, _ = monday.isocalendar()
    return f"{year}-W{week:02}"


def _unpriced_warning(unpriced: dict[str, int]) -> str:
    names = sorted(unpriced, key=lambda name: -unpriced[name])
    listed = ", ".join(name or "an unknown model" for name in names[:MODELS_SHOWN])
    more = f" and {len(names) - MODELS_SHOWN} more" if len(names) > MODELS_SHOWN else ""
    return (
        f"The cost leaves out {sum(unpriced.values()):,} tokens without a known price: {listed}{more}. See docs/prices.md."
    )


def as_csv(rows: Sequence[UsageRow]) -> str:
    """Rows as CSV. A cell that a spreadsheet would run as a formula begins with an apostrophe."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    counts = ("input", "output", "cache_read", "cache_write", "reasoning", "total")
    writer.writerow(("key", "title", "sessions", "turns", *counts, "usd", "cost_source", "unpriced_tokens"))
    for row in rows:
        tokens = [getattr(row.tokens, name) for name in counts]
        usd = "" if row.cost.usd is None else f"{row.cost.usd:.6f}"
        texts = (_harmless(row.key), _harmless(row.title or ""))
        writer.writerow((*texts, row.sessions, row.turns, *tokens, usd, row.cost.source, row.cost.unpriced_tokens))
    return out.getvalue()


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(SPREADSHEET_FORMULAS) else text

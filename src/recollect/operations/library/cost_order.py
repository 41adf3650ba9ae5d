"""Sorts sessions by cost, which is computed from tokens and prices when it is asked for."""

from collections import defaultdict
from collections.abc import Mapping

from recollect.operations.library.costs import Costs
from recollect.store import Reader
from recollect.store.sqlite.library_queries import SpentRow
from recollect.store.sqlite.session_filter import SessionFilter


def session_costs(reader: Reader, filters: SessionFilter, costs: Costs) -> Mapping[int, int]:
    """The cost of each session that passes, in micro-dollars, by key; 0 if no cost is known."""
    keys = reader.filtered_keys(filters)
    spent: dict[int, list[SpentRow]] = defaultdict(list)
    for row in reader.spent_by_session(keys):
        spent[row.key].append(row)
    return {key: costs.sum(spent[key]).total() or 0 for key in keys}

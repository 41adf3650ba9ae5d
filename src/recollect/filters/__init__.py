"""Filters: one grammar for queries, parameters and options, which becomes a filter of sessions.

`grammar` splits a query into words and filters. `resolve` finds the names of the archive that a filter means.
"""

from recollect.filters.grammar import KEYS, FilterQuery, FilterTerm, split
from recollect.filters.resolve import ResolvedFilters, Vocabulary, resolve

__all__ = ["KEYS", "FilterQuery", "FilterTerm", "ResolvedFilters", "Vocabulary", "resolve", "split"]

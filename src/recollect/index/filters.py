"""The filters of a search. Every index translates them for its own engine."""

from msgspec import Struct

from recollect.model import OWN_TRAFFIC_CODE


class Filters(Struct, frozen=True, kw_only=True):
    """The events that a search considers. All filters apply, and they apply before the search, not to its hits."""

    kinds: tuple[int, ...] = ()  # codes; empty means any
    include_own_traffic: bool = False  # also calls and responses of our own tools, of these kinds
    source: str | None = None
    project: str | None = None
    session: int | None = None
    turn: int | None = None  # its ordinal in `session`
    since: int | None = None
    until: int | None = None  # exclusive
    sessions: tuple[int, ...] | None = None  # only these; None means any
    excluded_sessions: tuple[int, ...] = ()

    def kind_codes(self) -> tuple[int, ...]:
        """The codes of all kinds that pass. They contain those of own traffic if it is included."""
        if not self.include_own_traffic:
            return self.kinds
        return (*self.kinds, *(kind + OWN_TRAFFIC_CODE for kind in self.kinds))

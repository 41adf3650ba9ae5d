"""Which events a search considers. Every index translates these filters to its own engine."""

from msgspec import Struct

from recollect.model import OWN_TRAFFIC_CODE


class Filters(Struct, frozen=True, kw_only=True):
    """All filters apply at once. They limit what an index looks at, never what it has already found."""

    kinds: tuple[int, ...] = ()  # codes; empty means any
    include_own_traffic: bool = False  # of these kinds, also calls and answers of our own tools
    source: str | None = None
    project: str | None = None
    session: int | None = None
    turn: int | None = None  # its ordinal in `session`
    since: int | None = None
    until: int | None = None  # exclusive
    sessions: tuple[int, ...] | None = None  # only these; None means any
    excluded_sessions: tuple[int, ...] = ()

    def kind_codes(self) -> tuple[int, ...]:
        """The codes of all kinds that pass, own traffic among them if it is included."""
        if not self.include_own_traffic:
            return self.kinds
        return (*self.kinds, *(kind + OWN_TRAFFIC_CODE for kind in self.kinds))

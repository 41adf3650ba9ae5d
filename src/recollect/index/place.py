"""Where an event stands in the archive, as every index stores it."""

from msgspec import Struct


class Place(Struct, frozen=True):
    """Where an event stands, and what it is filtered by."""

    key: int  # of the event in the archive; grows with every event
    session: int  # the session's key
    turn: int  # its ordinal in the session
    seq: int  # the event's position in the session
    at: int  # milliseconds since 1970
    kind: int  # `KIND_CODE`, plus `OWN_TRAFFIC_CODE` for traffic of our own tools


class Hit(Place, frozen=True):
    """An event that an index found, and how well it matches: BM25 of words, cosine of vectors."""

    score: float

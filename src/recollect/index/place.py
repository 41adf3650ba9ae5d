"""The place of an event in the archive, which every index stores."""

from msgspec import Struct


class Place(Struct, frozen=True):
    """The place of an event, and the values that filters need."""

    key: int  # of the event in the archive; grows with every event
    session: int  # the session's key
    turn: int  # its ordinal in the session
    seq: int  # the event's position in the session
    at: int  # milliseconds since 1970
    kind: int  # `KIND_CODE`, plus `OWN_TRAFFIC_CODE` for traffic of our own tools


class Hit(Place, frozen=True):
    """An event that an index found, with its score: BM25 of words, or cosine of vectors."""

    score: float

"""Real turns whose observations were judged by hand, kept as digests: no text of a transcript is here."""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from recollect.model import Observation


def digest(observations: Sequence[Observation]) -> str:
    """What stands for the observations of a turn: equal if and only if they are the same, field by field."""
    return blake2b(msgspec.json.encode(observations), digest_size=8).hexdigest()

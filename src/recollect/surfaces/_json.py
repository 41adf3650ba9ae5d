"""JSON as clients send it."""

import json
from typing import Any

import msgspec


def decoded(text: bytes) -> Any:
    """A value. JavaScript may send half of a surrogate pair, which is JSON but no text: it is replaced.

    Raises ValueError or RecursionError for anything else that cannot be read.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        lenient = json.dumps(json.loads(text.decode("utf-8")), ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(lenient)

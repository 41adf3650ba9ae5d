"""JSON with unpaired surrogates. They are valid in JSON but not in text, and JavaScript and agents write them."""

import json
from typing import Any

import msgspec


def decode(content: bytes) -> Any:
    """The decoded value, with `?` for every unpaired surrogate. Raises ValueError or RecursionError for other faults."""
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return msgspec.json.decode(_replaced(json.loads(content.decode("utf-8"))))  # msgspec rejects NaN, which json accepts


def encode(value: Any) -> bytes:
    """JSON to send. Unpaired surrogates are escaped, because the other half may come with the next message."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, default=msgspec.json.decode).encode()  # `default` decodes parts that are already JSON


def encode_replaced(value: Any) -> bytes:
    """JSON to store, with `?` for every unpaired surrogate, because msgspec cannot read escaped ones."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _replaced(value)


def _replaced(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

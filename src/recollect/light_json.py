"""JSON for hooks, by the internal parser of `json`. Importing `json` itself takes 5 ms, mostly for `re`."""

from _json import encode_basestring_ascii as quote
from _json import make_scanner

__all__ = ["parse", "quote"]


class _Defaults:
    """The options that `json` uses by default."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


_scan = make_scanner(_Defaults())  # type: ignore[arg-type]  # any object with these attributes works


def parse(text: str) -> object:
    """The value at the start of a text. Some editors put a byte order mark before it."""
    try:
        value: object = _scan(text.lstrip("\ufeff \t\r\n"), 0)[0]
    except (StopIteration, SystemError):  # SystemError: the parser's own error needs a module that is not loaded
        raise ValueError("the input is not JSON") from None
    return value

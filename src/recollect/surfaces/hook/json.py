"""JSON for hooks. Importing `json` takes 7 ms, most of it for `re`, which is more than all the rest of a hook."""

from _json import encode_basestring_ascii as quoted
from _json import make_scanner

__all__ = ["parsed", "quoted"]


class _Strict:
    """How `json` itself reads when nobody asks for anything special."""

    strict = True
    object_hook = object_pairs_hook = array_hook = None
    parse_float, parse_int, parse_constant = float, int, float


_scan = make_scanner(_Strict())  # type: ignore[arg-type]  # any object with these attributes will do


def parsed(text: str) -> object:
    """The value that a text begins with. Editors on some systems put a byte order mark before it."""
    try:
        value: object = _scan(text.lstrip("\ufeff \t\r\n"), 0)[0]
    except (StopIteration, SystemError):  # the second where it would say more, with a module that is not loaded
        raise ValueError("what came is not JSON") from None
    return value

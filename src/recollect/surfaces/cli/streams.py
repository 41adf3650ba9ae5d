"""Prepares the standard streams: open, and able to print any text in any locale."""

import codecs
import os
import sys
from typing import TextIO

from recollect.display import json_escapes

ASCII = "recollect-ascii"  # an alias of `ascii`: click would replace `ascii` by UTF-8
ESCAPES = "recollect-json"  # an error handler that writes JSON escapes


def prepare_streams(*, as_json: bool) -> None:
    """Open closed streams. Text that cannot be encoded is replaced, or escaped in JSON."""
    _open_closed()
    codecs.register(_find_ascii)
    codecs.register_error(ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream, as_json=as_json)


def _open_closed() -> None:
    """Open closed standard streams. Otherwise the next opened file would get the number of one, and its output."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _accept_any_text(stream: TextIO, *, as_json: bool) -> None:
    """Set the encoding and the error handler. JSON is UTF-8, or ASCII with escapes, never another encoding."""
    name = codecs.lookup(stream.encoding).name
    if name == "utf-8":
        return
    name = ASCII if as_json or name == "ascii" else name
    stream.reconfigure(encoding=name, errors=ESCAPES if as_json else "replace")  # type: ignore[attr-defined]


def _find_ascii(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ASCII:
        return None
    codec = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=ASCII,
        encode=codec.encode,
        decode=codec.decode,
        incrementalencoder=codec.incrementalencoder,
        incrementaldecoder=codec.incrementaldecoder,
        streamreader=codec.streamreader,
        streamwriter=codec.streamwriter,
    )


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Replace characters by JSON escapes. Non-ASCII characters only occur in JSON strings, so an escape is always valid."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json_escapes(error.object[error.start : error.end]), error.end

"""Prepares the standard streams: open, and able to print any text in any locale."""

import codecs
import os
import sys
from typing import TextIO

from recollect.display import json_escapes

ASCII = "recollect-ascii"  # an alias of `ascii`: click would replace that one by UTF-8
ESCAPES = "recollect-json"  # an error handler that writes JSON escapes


def prepare_streams(*, for_programs: bool) -> None:
    """Open closed streams. Text that cannot be encoded is replaced, or escaped in JSON."""
    _open_closed()
    codecs.register(_find_ascii)
    codecs.register_error(ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream, for_programs=for_programs)


def _open_closed() -> None:
    """Otherwise the next file that is opened would get the number of a standard stream and receive its output."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _accept_any_text(stream: TextIO, *, for_programs: bool) -> None:
    """Set the encoding and the error handler. JSON is UTF-8, or ASCII with escapes, never another encoding."""
    name = codecs.lookup(stream.encoding).name
    if name == "utf-8":
        return
    name = ASCII if for_programs or name == "ascii" else name
    stream.reconfigure(encoding=name, errors=ESCAPES if for_programs else "replace")  # type: ignore[attr-defined]


def _find_ascii(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ASCII:
        return None
    known = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=ASCII,
        encode=known.encode,
        decode=known.decode,
        incrementalencoder=known.incrementalencoder,
        incrementaldecoder=known.incrementaldecoder,
        streamreader=known.streamreader,
        streamwriter=known.streamwriter,
    )


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Non-ASCII characters only occur inside of JSON strings, so an escape is always valid."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json_escapes(error.object[error.start : error.end]), error.end

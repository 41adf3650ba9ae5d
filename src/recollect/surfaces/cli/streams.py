"""The standard streams as a command needs them: open, and able to take any text, whatever the locale is."""

import codecs
import os
import sys
from typing import TextIO

from recollect.display import json_escapes

ASCII = "recollect-ascii"  # as `ascii`; click writes UTF-8 to a stream of that name
ESCAPES = "recollect-json"  # the error handler that writes what an encoding lacks as JSON does


def prepare_streams(*, for_programs: bool) -> None:
    """Open the streams that are closed, and have text that cannot be encoded replaced; in JSON, escaped."""
    _open_closed()
    codecs.register(_find_ascii)
    codecs.register_error(ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream, for_programs=for_programs)


def _open_closed() -> None:
    """A file that is opened next must not get the number of a standard stream: what is printed would go into it."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _accept_any_text(stream: TextIO, *, for_programs: bool) -> None:
    """JSON is UTF-8, or ASCII with escapes; never another encoding."""
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
    """Only texts of JSON have such characters, so an escape is right wherever one stands."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json_escapes(error.object[error.start : error.end]), error.end

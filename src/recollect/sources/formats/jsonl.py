"""Reads JSON Lines as agents really write them. Malformed lines are handled here only.

A line may be torn, joined to the next, not JSON at all, not UTF-8, or 50 MB long. An unreadable stretch becomes a
`Problem`; everything else is decoded into the shape that the source declares. Lines are split at the byte `\\n` only:
U+2028 and similar characters are text.
"""

import errno
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import zstandard

from recollect.model import Problem
from recollect.sources.formats.container import Line, Unreadable, WrongShape
from recollect.sources.formats.memory_limit import check_memory

CHUNK = 1 << 20  # bytes per read: large enough that system calls do not matter, small enough for the CPU cache
MAX_LINE = 256 << 20  # bytes: five times the longest line that we promise to read; a longer line is damage
EXCERPT = 120  # characters of a bad line that `doctor` shows
HEAD = 65_536  # bytes at a log's start that identify its format and its session
HEAD_LINES = 40
FIRST_FIELD = re.compile(r'\{"[^"]+"')  # the start that all records of a log share
MIN_TRIES = 4
MAX_TRIED = 16 << 20  # characters that may be decoded without success, in total
MAX_TRIES = 1_000  # places in a line where a record might begin after a torn one
BLANKS = re.compile(r"\s*")
BOM = b"\xef\xbb\xbf"

_scan = json.JSONDecoder().raw_decode


def open_log(path: Path, offset: int = 0) -> BinaryIO:
    """A stream of a log's bytes from `offset` on, decompressed if the agent has compressed the log."""
    stream: BinaryIO = path.open("rb")
    if path.suffix != ".zst":
        stream.seek(offset)
        return stream
    plain = cast(BinaryIO, _Decompressed(stream))
    while offset > 0 and (skipped := plain.read(min(CHUNK, offset))):
        offset -= len(skipped)
    return plain


class _Decompressed:
    """A compressed log. Damaged data raises OSError, like any other read error."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = zstandard.ZstdDecompressor().stream_reader(stream, closefd=True, read_across_frames=True)

    def __enter__(self) -> "_Decompressed":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()  # type: ignore[no-untyped-call]

    def read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except zstandard.ZstdError as reason:
            raise OSError(errno.EIO, f"its compressed data is damaged: {reason}") from reason


def raw_lines(stream: BinaryIO, offset: int) -> Iterator[tuple[int, bytes, bool]]:
    """(offset, line without its newline, whether it had a newline) of each line from `offset` to the end of the stream."""
    held: list[bytes] = []
    held_size = 0
    while chunk := stream.read(CHUNK):
        *lines, partial = chunk.split(b"\n")
        del chunk
        if lines:
            lines[0] = b"".join([*held, lines[0]])
            held, held_size = [], 0
        lines.reverse()
        while lines:  # hold no reference to a line while the caller uses it: it may be large
            size = len(lines[-1]) + 1
            yield offset, lines.pop(), True
            offset += size
        held.append(partial)
        held_size += len(partial)
        if held_size > MAX_LINE:
            raise OversizedLine(offset)
        check_memory(held_size)
    if held_size:
        yield offset, b"".join(held), False


class OversizedLine(Exception):
    """A line longer than any agent writes. The rest of the file is not read."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"A line beginning at byte {offset} is longer than {MAX_LINE >> 20} MB.")
        self.offset = offset


def first_values(path: Path, shape: Any) -> list[Any]:
    """The first values of a log, decoded into its shape."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)
    values: list[Any] = []
    with open_log(path) as stream:
        try:
            for number, (offset, raw, _) in enumerate(raw_lines(stream, 0), 1):
                values += [line.value for line in decode(path, offset, number, raw, decoder) if isinstance(line, Line)]
                if offset > HEAD or number >= HEAD_LINES:
                    break
        except OversizedLine:
            pass
    return values


def json_lines(shape: Any) -> Callable[[Path], list[Line | Problem]]:
    """A function that loads all lines of a file, for formats whose later lines change earlier ones."""
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(shape)

    def load(path: Path) -> list[Line | Problem]:
        lines: list[Line | Problem] = []
        with open_log(path) as stream:
            try:
                for number, (offset, raw, is_complete) in enumerate(raw_lines(stream, 0), 1):
                    if is_complete or not is_torn(raw):
                        lines += decode(path, offset, number, raw, decoder)
            except OversizedLine as reason:
                raise Unreadable(str(reason)) from reason
        return lines

    return load


def is_torn(line: bytes) -> bool:
    """Whether a last line without its newline is still being written.

    A proper prefix of a JSON object is never valid JSON, so an object that decodes is complete.
    """
    text = line.strip()
    if not text.endswith((b"}", b"]")):
        return bool(text)
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return not _values(text.decode("utf-8", "replace"))[1]
    return False


def decode(
    path: Path, offset: int, number: int, raw: bytes, decoder: "msgspec.json.Decoder[Any]"
) -> Sequence[Line | Problem]:
    """The values of one physical line: nearly always one, none for a blank line, several if newlines are missing."""
    if offset == 0 and raw.startswith(BOM):
        raw = raw[len(BOM) :]
    try:
        return (Line(path, offset, number, decoder.decode(raw), raw),)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return list(_decode_damaged(path, offset, number, raw, decoder)) if raw.strip() else ()


def _decode_damaged(
    path: Path, offset: int, number: int, raw: bytes, decoder: "msgspec.json.Decoder[Any]"
) -> Iterator[Line | Problem]:
    """The values that a malformed line still contains, and a problem for the rest of it."""
    text = raw.decode("utf-8", "replace").strip("\0")  # a crash may replace a line by NUL bytes
    if not text.strip():
        yield Problem(path, number, "not JSON", "NUL bytes")
        return
    values, complete = _values(text)
    if not complete:
        values = [(start, value) for start, value in values if isinstance(value, dict)]
    recovered = [] if complete or values else _after_torn_record(text)
    at, last = offset, 0
    for place, (start, value) in enumerate(values or recovered):
        encoded = json.dumps(sanitize(value), ensure_ascii=False).encode()
        if place:
            at += len(text[last:start].encode())
            last = start
        try:
            yield Line(path, at, number, decoder.decode(encoded), encoded)
        except msgspec.ValidationError:
            yield Line(path, at, number, WrongShape(), encoded)
    if not complete:
        damaged = text[values[-1][0] :] if values else text
        where = " after a value" if values else " before a value" if recovered else ""
        yield Problem(path, number, f"not JSON{where}", damaged[:EXCERPT])


def _after_torn_record(text: str) -> list[tuple[int, Any]]:
    """The record that follows a torn record on the same line; it begins with the same field."""
    first_field = FIRST_FIELD.match(text)
    place = text.find(first_field[0], first_field.end()) if first_field else -1
    tries = max(MIN_TRIES, min(MAX_TRIES, MAX_TRIED // len(text)))
    while place > 0 and tries:
        values, complete = _values(text, place)
        if complete and len(values) == 1 and isinstance(values[0][1], dict):
            return values
        place = text.find(first_field[0], place + 1) if first_field else -1
        tries -= 1
    return []


def _values(text: str, start: int = 0) -> tuple[list[tuple[int, Any]], bool]:
    """(place, value) of every JSON value in a line from `start` on, and whether the line has nothing else."""
    values: list[tuple[int, Any]] = []
    place = _skip_blanks(text, start)
    while place < len(text):
        try:
            value, end = _scan(text, place)
        except (ValueError, RecursionError):
            return values, False
        values.append((place, value))
        place = _skip_blanks(text, end)
    return values, True


def _skip_blanks(text: str, place: int) -> int:
    blanks = BLANKS.match(text, place)
    return blanks.end() if blanks else place


def sanitize(value: Any) -> Any:
    """The value without what UTF-8 or JSON forbids: lone surrogates, NaN, infinities."""
    match value:
        case str():
            return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case float():
            return value if value - value == 0 else None
        case list():
            return [sanitize(item) for item in value]
        case dict():
            return {sanitize(key): sanitize(item) for key, item in value.items()}
        case _:
            return value

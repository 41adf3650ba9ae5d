"""Step 4, INDEX: the vectors of a realm, in files that are mapped into memory. Derived, like the text index.

One row per text, spread over files by column: a code of one bit a dimension, the same vector in 8 bits a dimension, and
what a question is filtered by. A search compares the codes of the rows that pass its filters, all of them, and then the
vectors of the nearest few: exact enough, no training, no graph to build, and a new row is some bytes at the end of each
file. The code lies in one file for every 64 bits of it: compared column by column a million codes take 4 ms, row by row 24.

Rows count once `head.json` says so. It is replaced in one step after the columns were written, so that a crash leaves at
most bytes that nobody looks at. A row whose text is gone is blotted out where it is.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import StoreFault
from recollect.index.arrays import np, npt
from recollect.index.faults import unwritable

VERSION = 1  # of the files; another one means another index
HEAD = "head.json"
GONE = 255  # the kind of a row whose text is gone
NEAREST = 1_500  # rows by their codes whose vectors are compared: 0.98 of the true ten nearest are among them
FEW = 4  # a filter that lets through less than one row in this many is applied by gathering those rows
BLOCK = 1 << 15  # rows whose codes are compared at a time: they and what comes of them stay in the processor's cache
WORD = 64  # bits
FAR = 0x8000  # farther apart than any two codes are: rows that do not pass

Vectors = npt.NDArray[np.float32]
Column = npt.NDArray[Any]
COLUMNS = {"key": "<i8", "session": "<i4", "turn": "<i4", "seq": "<i4", "at": "<i8", "kind": "u1", "scale": "<f4"}


class Head(Struct):
    """Which model's vectors these are, of which archive, how many, and up to which key the archive was seen."""

    model: str
    archive: str
    dimensions: int
    rows: int = 0
    seen: int = 0

    def codes(self) -> list[str]:
        """The files that hold the codes, 64 bits each."""
        return [f"code-{place}" for place in range(-(-self.dimensions // WORD))]

    def types(self) -> dict[str, str]:
        """What lies in each file. A row of `value` has as many as there are dimensions, of all others one."""
        return {**COLUMNS, **dict.fromkeys(self.codes(), "<u8"), "value": "i1"}


class VectorRow(Struct):
    """What a question may be filtered by."""

    key: int
    session: int
    turn: int
    seq: int
    at: int
    kind: int


class VectorHit(Struct, frozen=True):
    """A row that is close to a question: how close (a cosine), and where it lies."""

    likeness: float
    key: int
    session: int
    turn: int
    seq: int
    at: int
    kind: int


class Only(Struct, frozen=True, kw_only=True):
    """Which rows are compared. `sessions` and `keys` are all that may be; `without` and `without_keys` may not be."""

    kinds: tuple[int, ...] = ()
    session: int | None = None
    turn: int | None = None
    since: int | None = None
    until: int | None = None
    sessions: tuple[int, ...] | None = None
    keys: tuple[int, ...] | None = None
    without: tuple[int, ...] = ()  # sessions
    without_keys: tuple[int, ...] = ()


class VectorsUnusable(Exception):
    """There are no vectors here, or none that can be read."""


def folder_of(realm: Path, of: str) -> Path:
    return realm / f"vectors-{of}-{VERSION}"


def read_head(folder: Path) -> Head:
    try:
        return msgspec.json.decode((folder / HEAD).read_bytes(), type=Head)
    except (OSError, msgspec.DecodeError) as reason:
        raise VectorsUnusable(str(reason)) from reason


def _write_head(folder: Path, head: Head) -> None:
    new = folder / f"{HEAD}.new"
    new.write_bytes(msgspec.json.encode(head))
    new.replace(folder / HEAD)


class VectorWriter:
    """Adds rows and blots them out. One at a time, under the realm's lock for distilling."""

    def __init__(self, realm: Path, of: str, model: str, dimensions: int, archive: str) -> None:
        self.folder = folder_of(realm, of)
        try:
            self.head = read_head(self.folder)
            if (self.head.model, self.head.dimensions, self.head.archive) != (model, dimensions, archive):
                raise VectorsUnusable("these are vectors of another model or archive")
            self._cut_to_size()
        except VectorsUnusable:
            self._start_over(realm, of, Head(model, archive, dimensions))

    def _start_over(self, realm: Path, of: str, head: Head) -> None:
        for old in realm.glob(f"vectors-{of}-*"):
            shutil.rmtree(old, ignore_errors=True)
        self.head = head
        try:
            self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            for name in head.types():
                (self.folder / name).write_bytes(b"")
            _write_head(self.folder, head)
        except OSError as reason:
            raise self._fault(reason) from reason

    def _cut_to_size(self) -> None:
        """Throw away what was written but never counted."""
        for name, kind in self.head.types().items():
            path = self.folder / name
            width = np.dtype(kind).itemsize * (self.head.dimensions if name == "value" else 1)
            try:
                if path.stat().st_size < width * self.head.rows:
                    raise VectorsUnusable(f"{name} is shorter than it should be")
                os.truncate(path, width * self.head.rows)
            except OSError as reason:
                raise VectorsUnusable(str(reason)) from reason

    def add(self, rows: Sequence[VectorRow], vectors: Vectors, seen: int) -> None:
        """Append rows, and note up to which key of the archive all is done."""
        files: dict[str, bytes] = {
            name: np.array([getattr(row, name) for row in rows], COLUMNS[name]).tobytes()
            for name in VectorRow.__struct_fields__
        }
        scale = np.abs(vectors).max(axis=1, initial=0.0) / 127
        scale[scale == 0] = 1
        files["scale"] = scale.astype("<f4").tobytes()
        files["value"] = np.rint(vectors / scale[:, None]).astype(np.int8).tobytes()
        files |= {name: column.tobytes() for name, column in zip(self.head.codes(), codes(vectors).T, strict=True)}
        try:
            if rows:
                for name, content in files.items():
                    with (self.folder / name).open("ab") as file:
                        file.write(content)
            self.head.rows += len(rows)
            self.head.seen = max(seen, self.head.seen)
            _write_head(self.folder, self.head)
        except OSError as reason:
            raise self._fault(reason) from reason

    def blot(self, session: int, live: Iterable[int]) -> int:
        """Make the rows of a session unfindable whose keys are not among the live ones; how many that were."""
        if not self.head.rows:
            return 0
        own = np.nonzero(self._mapped("session") == session)[0]
        return self._blot(own[~np.isin(self._mapped("key")[own], list(live))])

    def keep_only(self, keys: Iterable[int]) -> int:
        """Make every row unfindable whose key is not among these."""
        return self._blot(np.nonzero(~np.isin(self._mapped("key"), list(keys)))[0]) if self.head.rows else 0

    def _blot(self, places: npt.NDArray[np.intp]) -> int:
        kind = self._mapped("kind", "r+")
        places = places[kind[places] != GONE]
        if len(places):
            kind[places] = GONE
            for name in ("value", *self.head.codes()):
                self._mapped(name, "r+")[places] = 0
        return len(places)

    def _mapped(self, name: str, mode: str = "r") -> Column:
        return _map(self.folder, name, self.head, mode)

    def _fault(self, reason: OSError) -> StoreFault:
        return unwritable("the vectors", self.folder, reason)


def _map(folder: Path, name: str, head: Head, mode: str = "r") -> Column:
    shape = (head.rows, head.dimensions) if name == "value" else (head.rows,)
    mapped = np.memmap(folder / name, head.types()[name], mode, shape=shape)  # type: ignore[call-overload]
    return np.asarray(mapped)  # still mapped; but a memmap is slow to ask for single values


def codes(vectors: Vectors) -> npt.NDArray[np.uint64]:
    """One bit a dimension: its sign."""
    bits = np.packbits(vectors > 0, axis=1)
    missing = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, missing)))).view("<u8")


class VectorIndex:
    """The readers' side: what there was when it was opened. Any number of threads may ask it; it never changes."""

    def __init__(self, realm: Path, of: str) -> None:
        self._realm, self._of = realm, of
        folder = folder_of(realm, of)
        try:
            self._written = (folder / HEAD).stat().st_mtime_ns
            self.head = read_head(folder)
            names = self.head.types() if self.head.rows else ()
            self._columns = {name: _map(folder, name, self.head) for name in names}
        except (OSError, ValueError) as reason:
            raise VectorsUnusable(str(reason)) from reason

    def followed(self) -> "VectorIndex":
        """What there is now: this one, or where a writer in whatever process has added something, a new one."""
        try:
            written = (folder_of(self._realm, self._of) / HEAD).stat().st_mtime_ns
        except OSError as reason:
            raise VectorsUnusable(str(reason)) from reason
        return self if written == self._written else VectorIndex(self._realm, self._of)

    def nearest(self, question: Vectors, only: Only, limit: int, floor: float) -> list[VectorHit]:
        """The rows most like a question among those that pass, at least as like as the floor; best first."""
        if not self.head.rows or len(question) != self.head.dimensions:
            return []
        passing = self._passing(only)
        places = self._by_code(question, passing)
        likeness = self._likeness(question, places)
        order = np.lexsort((self._columns["key"][places], -likeness))[:limit]
        order = order[likeness[order] >= floor]
        columns = (self._columns[name][places[order]].tolist() for name in VectorHit.__struct_fields__[1:])
        return [VectorHit(*row) for row in zip(likeness[order].tolist(), *columns, strict=True)]

    def likeness_of(self, question: Vectors, keys: Sequence[int]) -> dict[int, float]:
        """How like a question certain rows are, by their keys. Keys grow from row to row, so they are found by halving."""
        if not self.head.rows or not keys:
            return {}
        column = self._columns["key"]
        wanted = np.array(sorted(keys), np.int64)
        places = np.searchsorted(column, wanted)
        there = places < len(column)
        there[there] &= column[places[there]] == wanted[there]
        found = self._likeness(question, places[there])
        return dict(zip(wanted[there].tolist(), found.tolist(), strict=True))

    def _passing(self, only: Only) -> npt.NDArray[np.bool_]:
        kind = self._columns["kind"]
        passing: npt.NDArray[np.bool_] = kind == only.kinds[0] if only.kinds else kind != GONE
        for further in only.kinds[1:]:
            passing |= kind == further
        for name, value in (("session", only.session), ("turn", only.turn)):
            if value is not None:
                passing &= self._columns[name] == value
        if only.since is not None:
            passing &= self._columns["at"] >= only.since
        if only.until is not None:
            passing &= self._columns["at"] < only.until
        if only.sessions is not None:
            passing &= _among(self._columns["session"], only.sessions)
        if only.keys is not None:
            passing &= _among(self._columns["key"], only.keys)
        if only.without:
            passing &= ~_among(self._columns["session"], only.without)
        if only.without_keys:
            passing &= ~_among(self._columns["key"], only.without_keys)
        return passing

    def _by_code(self, question: Vectors, passing: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """The passing rows whose codes differ least from the question's, ties and all."""
        count = int(np.count_nonzero(passing))
        if count <= NEAREST:
            return np.nonzero(passing)[0]
        if count * FEW < len(passing):
            places = np.nonzero(passing)[0]
            apart = self._apart(question, places)
            return places[apart <= _threshold(apart)]
        apart = self._apart(question, slice(None))
        apart |= np.multiply(~passing, FAR, dtype=np.uint16)
        return np.nonzero(apart <= _threshold(apart))[0]

    def _apart(self, question: Vectors, places: npt.NDArray[np.intp] | slice) -> npt.NDArray[np.uint16]:
        """In how many bits the code of each of these rows differs from the question's."""
        code = codes(question[None, :])[0]
        columns = [self._columns[name][places] for name in self.head.codes()]
        apart = np.zeros(len(columns[0]), np.uint16)
        for start in range(0, len(apart), BLOCK):
            block = apart[start : start + BLOCK]
            for column, bits in zip(columns, code, strict=True):
                block += np.bitwise_count(column[start : start + BLOCK] ^ bits)
        return apart

    def _likeness(self, question: Vectors, places: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        values = self._columns["value"][places].astype(np.float32)
        return (values @ question) * self._columns["scale"][places]


def _among(column: Column, allowed: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Whether each value is one of those: by a table, which for a million rows is ten times faster than by sorting."""
    table = np.zeros(int(column.max(initial=0)) + 1, np.bool_)
    inside = np.array([value for value in allowed if 0 <= value < len(table)], np.int64)
    table[inside] = True
    chosen: npt.NDArray[np.bool_] = table[column]
    return chosen


def _threshold(apart: npt.NDArray[np.uint16]) -> int:
    """The distance within which lie the nearest rows, as many as are wanted."""
    counts = np.bincount(apart)
    return int(np.searchsorted(np.cumsum(counts), NEAREST))

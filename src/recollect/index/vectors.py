"""The vector index of a realm, in memory-mapped files: finds texts by meaning.

The index has one row per text, stored by column. The columns are a binary code with one bit per dimension, the same vector
with 8 bits per dimension, and the values that filters need. A search compares the codes of all rows that pass its filters,
then the vectors of the nearest rows. That is exact enough and needs neither training nor a graph. Adding a row appends some
bytes to each file. The code has one file for every 64 bits: a million codes take 4 ms column by column, 24 ms row by row.

`head.json` has the number of valid rows. It is replaced atomically after the columns are written. So a crash only leaves
bytes that are never read. The row of a deleted text is overwritten in place.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.disk import index_fault
from recollect.errors import StoreFault
from recollect.index.arrays import np, npt
from recollect.index.filters import Filters
from recollect.index.place import Hit, Place

VERSION = 1  # of the files; a new version means a new index
HEAD = "head.json"
DELETED = 255  # the kind of a deleted row
COMPARED = 1_500  # nearest rows by code whose vectors are compared: they contain 0.98 of the true ten nearest
SELECTIVE = 4  # if less than one row in this many passes a filter, only those rows are gathered and compared
BLOCK = 1 << 15  # rows whose codes are compared at once: they and their distances stay in the CPU cache
WORD = 64  # bits
EXCLUDED = 0x8000  # a distance greater than that of any two codes, for rows that do not pass

Vectors = npt.NDArray[np.float32]
Column = npt.NDArray[Any]
COLUMNS = {"key": "<i8", "session": "<i4", "turn": "<i4", "seq": "<i4", "at": "<i8", "kind": "u1", "scale": "<f4"}


class VectorHeader(Struct, rename={"indexed_up_to": "seen"}):
    """The model and archive of the vectors, the number of rows, and the key of the last indexed text."""

    model: str
    archive: str
    dimensions: int
    rows: int = 0
    indexed_up_to: int = 0

    def codes(self) -> list[str]:
        """The names of the files with the codes, 64 bits in each."""
        return [f"code-{number}" for number in range(-(-self.dimensions // WORD))]

    def types(self) -> dict[str, str]:
        """The type of each file's numbers. A row has one number in each file, and one per dimension in `value`."""
        return {**COLUMNS, **dict.fromkeys(self.codes(), "<u8"), "value": "i1"}


class VectorsUnusable(Exception):
    """The vectors do not exist or cannot be read."""


def vectors_folder(realm: Path, collection: str) -> Path:
    """The folder of a collection: `events` or `observations`."""
    return realm / f"vectors-{collection}-{VERSION}"


def read_header(folder: Path) -> VectorHeader:
    """The header in a folder. Raises `VectorsUnusable`."""
    try:
        return msgspec.json.decode((folder / HEAD).read_bytes(), type=VectorHeader)
    except (OSError, msgspec.DecodeError) as reason:
        raise VectorsUnusable(str(reason)) from reason


def _write_header(folder: Path, head: VectorHeader) -> None:
    new = folder / f"{HEAD}.new"
    new.write_bytes(msgspec.json.encode(head))
    new.replace(folder / HEAD)


class VectorWriter:
    """Adds and deletes rows. Only one writer may exist, under the realm's lock for distilling."""

    def __init__(self, realm: Path, collection: str, model: str, dimensions: int, archive: str) -> None:
        self.folder = vectors_folder(realm, collection)
        try:
            self.head = read_header(self.folder)
            if (self.head.model, self.head.dimensions, self.head.archive) != (model, dimensions, archive):
                raise VectorsUnusable("the vectors are of another model or archive")
            self._truncate()
        except VectorsUnusable:
            self._create(realm, collection, VectorHeader(model, archive, dimensions))

    def _create(self, realm: Path, collection: str, head: VectorHeader) -> None:
        for old in realm.glob(f"vectors-{collection}-*"):
            shutil.rmtree(old, ignore_errors=True)
        self.head = head
        try:
            self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            for name in head.types():
                (self.folder / name).write_bytes(b"")
            _write_header(self.folder, head)
        except OSError as reason:
            raise self._fault(reason) from reason

    def _truncate(self) -> None:
        """Remove rows that were written but are not in the header."""
        for name, kind in self.head.types().items():
            path = self.folder / name
            width = np.dtype(kind).itemsize * (self.head.dimensions if name == "value" else 1)
            try:
                if path.stat().st_size < width * self.head.rows:
                    raise VectorsUnusable(f"{name} is shorter than it should be")
                os.truncate(path, width * self.head.rows)
            except OSError as reason:
                raise VectorsUnusable(str(reason)) from reason

    def add(self, rows: Sequence[Place], vectors: Vectors, indexed_up_to: int) -> None:
        """Append rows, and store the key of the last indexed text."""
        files: dict[str, bytes] = {
            name: np.array([getattr(row, name) for row in rows], COLUMNS[name]).tobytes() for name in Place.__struct_fields__
        }
        scale = np.abs(vectors).max(axis=1, initial=0.0) / 127
        scale[scale == 0] = 1
        files["scale"] = scale.astype("<f4").tobytes()
        files["value"] = np.rint(vectors / scale[:, None]).astype(np.int8).tobytes()
        files |= {name: column.tobytes() for name, column in zip(self.head.codes(), binary_codes(vectors).T, strict=True)}
        try:
            if rows:
                for name, content in files.items():
                    with (self.folder / name).open("ab") as file:
                        file.write(content)
            self.head.rows += len(rows)
            self.head.indexed_up_to = max(indexed_up_to, self.head.indexed_up_to)
            _write_header(self.folder, self.head)
        except OSError as reason:
            raise self._fault(reason) from reason

    def delete_missing(self, session: int, keys: Iterable[int]) -> int:
        """Delete the rows of a session except those with these keys. Returns the number of deleted rows."""
        if not self.head.rows:
            return 0
        rows = np.nonzero(self._mapped("session") == session)[0]
        return self._delete(rows[~np.isin(self._mapped("key")[rows], list(keys))])

    def delete_except(self, keys: Iterable[int]) -> int:
        """Delete all rows except those with these keys. Returns the number of deleted rows."""
        return self._delete(np.nonzero(~np.isin(self._mapped("key"), list(keys)))[0]) if self.head.rows else 0

    def delete_sessions(self, sessions: Sequence[int]) -> int:
        """Delete the rows of these sessions. Returns the number of deleted rows."""
        return self._delete(np.nonzero(np.isin(self._mapped("session"), list(sessions)))[0]) if self.head.rows else 0

    def _delete(self, rows: npt.NDArray[np.intp]) -> int:
        kind = self._mapped("kind", "r+")
        rows = rows[kind[rows] != DELETED]
        if len(rows):
            kind[rows] = DELETED
            for name in ("value", *self.head.codes()):
                self._mapped(name, "r+")[rows] = 0
        return len(rows)

    def _mapped(self, name: str, mode: str = "r") -> Column:
        return _map(self.folder, name, self.head, mode)

    def _fault(self, reason: OSError) -> StoreFault:
        return index_fault("the vectors", self.folder, reason)


def _map(folder: Path, name: str, head: VectorHeader, mode: str = "r") -> Column:
    shape = (head.rows, head.dimensions) if name == "value" else (head.rows,)
    mapped = np.memmap(folder / name, head.types()[name], mode, shape=shape)  # type: ignore[call-overload]
    return np.asarray(mapped)  # this is still mapped, but single values are faster to read than those of a memmap


def binary_codes(vectors: Vectors) -> npt.NDArray[np.uint64]:
    """One bit per dimension: its sign."""
    bits = np.packbits(vectors > 0, axis=1)
    missing = -bits.shape[1] % 8
    return np.ascontiguousarray(np.pad(bits, ((0, 0), (0, missing)))).view("<u8")


class VectorIndex:
    """Reads the rows that existed when it was opened. It never changes, so threads may share it."""

    def __init__(self, realm: Path, collection: str) -> None:
        self._realm, self._collection = realm, collection
        folder = vectors_folder(realm, collection)
        try:
            self._head_mtime = (folder / HEAD).stat().st_mtime_ns
            self.head = read_header(folder)
            names = self.head.types() if self.head.rows else ()
            self._columns = {name: _map(folder, name, self.head) for name in names}
        except (OSError, ValueError) as reason:
            raise VectorsUnusable(str(reason)) from reason

    def reopened(self) -> "VectorIndex":
        """This index, or a new one if a writer in any process has added rows since."""
        try:
            mtime = (vectors_folder(self._realm, self._collection) / HEAD).stat().st_mtime_ns
        except OSError as reason:
            raise VectorsUnusable(str(reason)) from reason
        return self if mtime == self._head_mtime else VectorIndex(self._realm, self._collection)

    def nearest(
        self,
        query: Vectors,
        filters: Filters,
        limit: int,
        floor: float,
        *,
        keys: Sequence[int] | None = None,
        excluded_keys: Sequence[int] = (),
    ) -> list[Hit]:
        """The rows most similar to a query that pass the filters, with at least the similarity `floor`, best first.

        Rows have neither source nor project, so the caller translates these filters to `sessions` or `keys`.
        """
        if not self.head.rows or len(query) != self.head.dimensions:
            return []
        passing = self._passing(filters)
        if keys is not None:
            passing &= _is_in(self._columns["key"], keys)
        if excluded_keys:
            passing &= ~_is_in(self._columns["key"], excluded_keys)
        rows = self._nearest_by_code(query, passing)
        scores = self._similarity(query, rows)
        order = np.lexsort((self._columns["key"][rows], -scores))[:limit]
        order = order[scores[order] >= floor]
        columns = (self._columns[name][rows[order]].tolist() for name in Place.__struct_fields__)
        return [Hit(*row) for row in zip(*columns, scores[order].tolist(), strict=True)]

    def similarities(self, query: Vectors, keys: Sequence[int]) -> dict[int, float]:
        """The similarity of these rows to a query, by key. Keys increase from row to row, so binary search finds them."""
        if not self.head.rows or not keys:
            return {}
        column = self._columns["key"]
        sorted_keys = np.array(sorted(keys), np.int64)
        rows = np.searchsorted(column, sorted_keys)
        exists = rows < len(column)
        exists[exists] &= column[rows[exists]] == sorted_keys[exists]
        scores = self._similarity(query, rows[exists])
        return dict(zip(sorted_keys[exists].tolist(), scores.tolist(), strict=True))

    def _passing(self, filters: Filters) -> npt.NDArray[np.bool_]:
        """Which rows pass the filters."""
        kind, kinds = self._columns["kind"], filters.kind_codes()
        passing: npt.NDArray[np.bool_] = kind == kinds[0] if kinds else kind != DELETED
        for code in kinds[1:]:
            passing |= kind == code
        for name, value in (("session", filters.session), ("turn", filters.turn)):
            if value is not None:
                passing &= self._columns[name] == value
        if filters.since is not None:
            passing &= self._columns["at"] >= filters.since
        if filters.until is not None:
            passing &= self._columns["at"] < filters.until
        if filters.sessions is not None:
            passing &= _is_in(self._columns["session"], filters.sessions)
        if filters.excluded_sessions:
            passing &= ~_is_in(self._columns["session"], filters.excluded_sessions)
        return passing

    def _nearest_by_code(self, query: Vectors, passing: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        """The rows that pass and whose codes differ least from the query's, with all ties."""
        count = int(np.count_nonzero(passing))
        if count <= COMPARED:
            return np.nonzero(passing)[0]
        if count * SELECTIVE < len(passing):
            rows = np.nonzero(passing)[0]
            distances = self._hamming_distances(query, rows)
            return rows[distances <= _threshold(distances)]
        distances = self._hamming_distances(query, slice(None))
        distances |= np.multiply(~passing, EXCLUDED, dtype=np.uint16)
        return np.nonzero(distances <= _threshold(distances))[0]

    def _hamming_distances(self, query: Vectors, rows: npt.NDArray[np.intp] | slice) -> npt.NDArray[np.uint16]:
        """The number of bits in which the code of each row differs from the query's."""
        code = binary_codes(query[None, :])[0]
        columns = [self._columns[name][rows] for name in self.head.codes()]
        distances = np.zeros(len(columns[0]), np.uint16)
        for start in range(0, len(distances), BLOCK):
            block = distances[start : start + BLOCK]
            for column, bits in zip(columns, code, strict=True):
                block += np.bitwise_count(column[start : start + BLOCK] ^ bits)
        return distances

    def _similarity(self, query: Vectors, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        values = self._columns["value"][rows].astype(np.float32)
        return (values @ query) * self._columns["scale"][rows]


def _is_in(column: Column, allowed: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Whether each value is among the allowed ones. A lookup table is ten times faster than sorting a million rows."""
    table = np.zeros(int(column.max(initial=0)) + 1, np.bool_)
    table[np.array([value for value in allowed if 0 <= value < len(table)], np.int64)] = True
    passing: npt.NDArray[np.bool_] = table[column]
    return passing


def _threshold(distances: npt.NDArray[np.uint16]) -> int:
    """The smallest distance that enough of the nearest rows have or stay below."""
    counts = np.bincount(distances)
    return int(np.searchsorted(np.cumsum(counts), COMPARED))

"""The vector index: the nearest rows are found, filters come before scores, and a crash leaves no half row."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from recollect.index import vectors
from recollect.index.filters import Filters
from recollect.index.place import Place
from recollect.index.vectors import HEAD, VectorIndex, Vectors, VectorsUnusable, VectorWriter

DIMENSIONS = 96  # not a multiple of 64: the last word of a code is half empty
ROWS = 4_000


def normalised(rows: npt.NDArray[np.floating[Any]]) -> Vectors:
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


@pytest.fixture(scope="module")
def points() -> Vectors:
    """Points in clusters, like the vectors of texts."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(60, DIMENSIONS))
    return normalised(centres[rng.integers(0, 60, ROWS)] + 0.8 * rng.normal(size=(ROWS, DIMENSIONS)))


def rows(count: int = ROWS, first: int = 1) -> list[Place]:
    """Ten rows per session, three kinds in turn, one row per second."""
    places = range(first, first + count)
    return [Place(key, key // 10 + 1, key % 10 // 2 + 1, key % 10, key * 1_000, key % 3) for key in places]


def writer(realm: Path, model: str = "m", dimensions: int = DIMENSIONS, archive: str = "a") -> VectorWriter:
    return VectorWriter(realm, "events", model, dimensions, archive)


@pytest.fixture
def realm(tmp_path: Path, points: Vectors) -> Path:
    writer(tmp_path).add(rows(), points, ROWS)
    return tmp_path


def exact(points: Vectors, query: Vectors, passing: list[int], count: int) -> list[int]:
    return sorted(passing, key=lambda key: -float(points[key - 1] @ query))[:count]


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_are_found(realm: Path, points: Vectors, seed: int) -> None:
    query = normalised(points[[seed * 7]] + 0.05)[0]
    found = [near.key for near in VectorIndex(realm, "events").nearest(query, Filters(), 10, -1.0)]
    assert len({*found} & {*exact(points, query, list(range(1, ROWS + 1)), 10)}) >= 9
    assert found[0] == seed * 7 + 1


FILTERS = {
    "a kind": (Filters(kinds=(1,)), lambda row: row.kind == 1),
    "two kinds": (Filters(kinds=(0, 2)), lambda row: row.kind in (0, 2)),
    "a session": (Filters(session=7), lambda row: row.session == 7),
    "a turn": (Filters(session=7, turn=3), lambda row: (row.session, row.turn) == (7, 3)),
    "since": (Filters(since=3_000_000), lambda row: row.at >= 3_000_000),
    "until": (Filters(until=200_000), lambda row: row.at < 200_000),
    "sessions": (Filters(sessions=(3, 4, 5, 99_999)), lambda row: row.session in (3, 4, 5)),
    "not some sessions": (Filters(excluded_sessions=(1, 2, 3)), lambda row: row.session > 3),
    "all at once": (Filters(kinds=(1,), since=1_000_000, sessions=tuple(range(150, 200))), None),
}


def passes_all(row: Place) -> bool:
    return row.kind == 1 and row.at >= 1_000_000 and 150 <= row.session < 200


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_comes_before_the_score(realm: Path, points: Vectors, name: str) -> None:
    filters, passes = FILTERS[name]
    passing = [row.key for row in rows() if (passes or passes_all)(row)]
    keys = [near.key for near in VectorIndex(realm, "events").nearest(points[11], filters, 20, -1.0)]
    assert {*keys} <= {*passing}
    assert len(keys) == min(20, len(passing))
    assert len({*keys} & {*exact(points, points[11], passing, 20)}) >= len(keys) - 1


@pytest.mark.parametrize("keys", [(1, 5, 77), ()])
def test_rows_are_filtered_by_their_keys(realm: Path, points: Vectors, keys: tuple[int, ...]) -> None:
    index = VectorIndex(realm, "events")
    assert {near.key for near in index.nearest(points[11], Filters(), 20, -1.0, keys=keys)} == {*keys}
    others = index.nearest(points[0], Filters(), 20, -1.0, excluded_keys=keys)
    assert len(others) == 20
    assert not {near.key for near in others} & {*keys}


def test_nothing_below_the_floor_is_found(realm: Path, points: Vectors) -> None:
    index = VectorIndex(realm, "events")
    assert all(near.score >= 0.6 for near in index.nearest(points[0], Filters(), 500, 0.6))
    assert index.nearest(points[0], Filters(), 10, 1.01) == []


def test_the_same_query_gets_the_same_answer(realm: Path, points: Vectors) -> None:
    index = VectorIndex(realm, "events")
    assert index.nearest(points[3], Filters(), 50, 0.0) == index.nearest(points[3], Filters(), 50, 0.0)


def test_rows_that_exist_have_a_similarity(realm: Path, points: Vectors) -> None:
    similarities = VectorIndex(realm, "events").similarities(points[4], [5, 100, 99_999, 0])
    assert similarities.keys() == {5, 100}
    assert similarities[5] == pytest.approx(1.0, abs=0.01)
    assert similarities[100] == pytest.approx(float(points[99] @ points[4]), abs=0.01)


def test_a_reader_follows_what_is_added(realm: Path, points: Vectors) -> None:
    index = VectorIndex(realm, "events")
    extra = normalised(np.ones((1, DIMENSIONS), np.float32))
    assert index.reopened() is index
    writer(realm).add(rows(1, ROWS + 1), extra, ROWS + 1)
    assert index.reopened().nearest(extra[0], Filters(), 1, 0.0)[0].key == ROWS + 1
    assert index.nearest(extra[0], Filters(), 1, 0.0)[0].key != ROWS + 1  # a search that is running is not disturbed


def test_leftovers_of_a_crash_are_not_read_and_are_removed(realm: Path, points: Vectors) -> None:
    """Bytes that were written, but not yet counted by the head."""
    for name in ("key", "session", "value", "code-0"):
        with (realm / "vectors-events-1" / name).open("ab") as file:
            file.write(b"half a row")
    before = VectorIndex(realm, "events").nearest(points[0], Filters(), 5, 0.0)
    opened = writer(realm)
    assert (realm / "vectors-events-1" / "key").stat().st_size == ROWS * 8
    opened.add(rows(1, ROWS + 1), points[:1], ROWS + 1)
    after = VectorIndex(realm, "events").nearest(points[0], Filters(), 6, 0.0)
    assert {near.key for near in after} == {near.key for near in before} | {ROWS + 1}


def test_a_deleted_row_is_not_found_and_its_content_is_overwritten(realm: Path, points: Vectors) -> None:
    session = [row for row in rows() if row.session == 7]
    assert writer(realm).delete_missing(7, [row.key for row in session[1:]]) == 1
    assert writer(realm).delete_missing(7, [row.key for row in session[1:]]) == 0
    index = VectorIndex(realm, "events")
    assert [near.key for near in index.nearest(points[0], Filters(session=7), 50, -1.0)] != []
    assert session[0].key not in {near.key for near in index.nearest(points[session[0].key - 1], Filters(), 500, -1.0)}
    assert not index._columns["value"][session[0].key - 1].any()
    assert index.similarities(points[0], [session[0].key]) in ({}, {session[0].key: 0.0})


def test_rows_can_be_deleted_except_some(realm: Path, points: Vectors) -> None:
    assert writer(realm).delete_except([1, 2, 3]) == ROWS - 3
    found = VectorIndex(realm, "events").nearest(points[0], Filters(), 50, -1.0)
    assert {near.key for near in found} == {1, 2, 3}


@pytest.mark.parametrize("change", [{"model": "other"}, {"dimensions": 64}, {"archive": "b"}])
def test_another_model_or_archive_means_other_vectors(realm: Path, change: dict[str, object]) -> None:
    assert writer(realm).head.rows == ROWS
    assert writer(realm, **change).head.rows == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", ["a short column", "no column", "a head that is not JSON", "no head"])
def test_damaged_vectors_are_created_again(realm: Path, damage: str) -> None:
    folder = realm / "vectors-events-1"
    match damage:
        case "a short column":
            os.truncate(folder / "value", 100)
        case "no column":
            (folder / "at").unlink()
        case "a head that is not JSON":
            (folder / HEAD).write_text("{")
        case "no head":
            (folder / HEAD).unlink()
    with pytest.raises(VectorsUnusable):
        VectorIndex(realm, "events").nearest(np.zeros(DIMENSIONS, np.float32), Filters(), 1, 0.0)
    opened = writer(realm)
    assert (opened.head.rows, opened.head.indexed_up_to) == (0, 0)
    assert VectorIndex(realm, "events").nearest(np.zeros(DIMENSIONS, np.float32), Filters(), 1, 0.0) == []


def test_a_query_of_another_dimension_finds_nothing(realm: Path) -> None:
    assert VectorIndex(realm, "events").nearest(np.zeros(8, np.float32), Filters(), 5, 0.0) == []


def test_the_size_of_a_row(realm: Path) -> None:
    """A byte per dimension, a bit per dimension, and 33 bytes of filter columns."""
    size = sum(path.stat().st_size for path in (realm / "vectors-events-1").iterdir() if path.name != HEAD)
    assert size == ROWS * (DIMENSIONS + 8 * len(vectors.VectorHeader("", "", DIMENSIONS).codes()) + 33)

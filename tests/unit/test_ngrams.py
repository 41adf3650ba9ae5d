"""The n-gram index may find too many events, but never too few, and in the order of answers."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.index.engine import IndexUnusable
from recollect.index.filters import Filters
from recollect.index.ngrams import (
    DOCUMENT,
    FIRST_BATCH,
    NGRAMS,
    OVERLAP,
    NgramDocument,
    NgramIndex,
    NgramWriter,
    fold_case,
    read_indexed_up_to,
)

ARCHIVE = "an archive"
LETTERS = "aAbBß\n ._*\\(猫é🎉\0"


def document(key: int, text: str, session: int = 1, started: int = 0, kind: int = 0, source: str = "codex") -> NgramDocument:
    return NgramDocument(key, session, key, kind, source, started, text)


def build_index(realm: Path, documents: Iterable[NgramDocument]) -> NgramIndex:
    writer = NgramWriter(realm, ARCHIVE)
    added = list(documents)
    writer.add(added)
    writer.commit_up_to(max((one.key for one in added), default=0))
    writer.close()
    return NgramIndex(realm, ARCHIVE)


def found_keys(index: NgramIndex, string: str, filters: Filters = Filters(), latest_start: int | None = None) -> list[int]:  # noqa: B008
    groups = index.candidates(fold_case(string), filters, latest_start, lambda: None)
    return [candidate.key for group in groups for candidate in group]


def test_a_string_is_found_anywhere_in_a_word(tmp_path: Path) -> None:
    index = build_index(
        tmp_path, [document(1, "getUserName()"), document(2, "ERR_AUTH_FAILED"), document(3, "nothing of that")]
    )
    assert found_keys(index, "serName") == [1]
    assert found_keys(index, "SERNAME") == [1]
    assert found_keys(index, "_fail") == [2]
    assert found_keys(index, "H_F") == [2]
    assert found_keys(index, "name_of") == []


@pytest.mark.parametrize("string", ["e", "ER", "()", ")", "l", "猫", "名前", "\n", "*"])
def test_strings_of_one_and_two_characters_are_found(tmp_path: Path, string: str) -> None:
    told = ["getUserName()", "猫の名前", "first\nsecond", "2 * 3", "tail"]
    index = build_index(tmp_path, [document(key, one) for key, one in enumerate(told, 1)])
    assert found_keys(index, string) == [key for key, one in enumerate(told, 1) if fold_case(string) in fold_case(one)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(LETTERS, max_size=40), min_size=1, max_size=6), st.text(LETTERS, min_size=1, max_size=6))
def test_every_event_that_contains_a_string_is_a_candidate(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], string: str
) -> None:
    index = build_index(tmp_path_factory.mktemp("realm"), [document(key, text) for key, text in enumerate(texts, 1)])
    assert {key for key, text in enumerate(texts, 1) if fold_case(string) in fold_case(text)} <= {*found_keys(index, string)}


@pytest.mark.parametrize("place", [0, DOCUMENT - 3, DOCUMENT - OVERLAP - 1, DOCUMENT, 3 * DOCUMENT - OVERLAP, 5 * DOCUMENT])
@pytest.mark.parametrize("length", [4, OVERLAP, OVERLAP + 1, 3 * OVERLAP])
def test_a_long_text_is_searched_to_its_end_and_across_its_blocks(tmp_path: Path, place: int, length: int) -> None:
    wanted = "".join(chr(0x4E00 + number) for number in range(length))
    index = build_index(tmp_path, [document(1, "x" * place + wanted + "y" * DOCUMENT), document(2, "z" * 6 * DOCUMENT)])
    assert found_keys(index, wanted) == [1], "found once, although several chunks contain it"


def test_candidates_of_the_newest_session_come_first(tmp_path: Path) -> None:
    """Also with more candidates than the first request to the engine, and with sessions that have more than that."""
    sessions = [(session, session * 7 % 10) for session in range(1, 9)]
    keys = iter(range(1, 1_000_000))
    texts = [
        document(next(keys), f"needle {number}", session, started)
        for session, started in sessions
        for number in range(FIRST_BATCH * 2 if session == 3 else 400)
    ]
    index = build_index(tmp_path, texts)
    wanted = sorted(texts, key=lambda one: (-one.started, one.session, one.seq))
    assert found_keys(index, "needle") == [one.key for one in wanted]
    assert found_keys(index, "needle", latest_start=5) == [one.key for one in wanted if one.started <= 5]


def test_filters_apply_to_the_index(tmp_path: Path) -> None:
    texts = [document(key, "needle", key % 3, key % 5, key % 4, "codex" if key % 2 else "kimi") for key in range(1, 61)]
    index = build_index(tmp_path, texts)

    def passing(filters: Filters, latest_start: int | None = None) -> set[int]:
        return {*found_keys(index, "needle", filters, latest_start)}

    assert passing(Filters(kinds=(1, 3))) == {one.key for one in texts if one.kind in (1, 3)}
    assert passing(Filters(session=2)) == {one.key for one in texts if one.session == 2}
    assert passing(Filters(source="kimi")) == {one.key for one in texts if one.source == "kimi"}
    assert passing(Filters(kinds=(1,), session=1, source="codex"), latest_start=3) == {
        one.key for one in texts if (one.kind, one.session, one.source) == (1, 1, "codex") and one.started <= 3
    }


def test_times_before_1970_are_in_order(tmp_path: Path) -> None:
    index = build_index(tmp_path, [document(1, "needle", 1, -5), document(2, "needle", 2, 5), document(3, "needle", 3, -10)])
    assert found_keys(index, "needle") == [2, 1, 3]


def test_rows_that_were_added_but_not_committed_are_added_once(tmp_path: Path) -> None:
    """As after a crash between the engine's commit and that of the archive."""
    build_index(tmp_path, [document(1, "needle one")])
    writer = NgramWriter(tmp_path, ARCHIVE)
    writer.add([document(2, "needle two")])
    writer.commit()
    writer.close()
    assert read_indexed_up_to(tmp_path, ARCHIVE) == 1
    index = build_index(tmp_path, [document(2, "needle two")])
    assert (found_keys(index, "needle"), read_indexed_up_to(tmp_path, ARCHIVE)) == ([1, 2], 2)


def test_an_index_of_another_archive_is_ignored(tmp_path: Path) -> None:
    build_index(tmp_path, [document(1, "needle")])
    assert (read_indexed_up_to(tmp_path, ARCHIVE), read_indexed_up_to(tmp_path, "another")) == (1, 0)
    with pytest.raises(IndexUnusable):
        NgramIndex(tmp_path, "another")


def test_a_session_can_be_forgotten(tmp_path: Path) -> None:
    index = build_index(tmp_path, [document(1, "needle", 1), document(2, "needle", 2)])
    assert (index.contains_session(1), index.contains_session(3)) == (True, False)
    writer = NgramWriter(tmp_path, ARCHIVE)
    writer.remove("session", [1])
    writer.commit_up_to(2)
    writer.close()
    assert (index.contains_session(1), found_keys(index, "needle")) == (False, [2])
    assert NGRAMS.folder(tmp_path).exists()

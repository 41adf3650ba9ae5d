"""The index of pieces: it may name too many events, never too few, and in the order that answers are in."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.index.engine import IndexUnusable
from recollect.index.ngrams import (
    FIRST_ASKED,
    NGRAMS,
    OVERLAP,
    PART,
    Narrow,
    NgramIndex,
    NgramText,
    NgramWriter,
    folded,
    seen,
)

ARCHIVE = "an archive"
LETTERS = "aAbBß\n ._*\\(猫é🎉\0"


def text(key: int, told: str, session: int = 1, started: int = 0, kind: int = 0, source: str = "codex") -> NgramText:
    return NgramText(key, session, key, kind, source, started, told)


def indexed(realm: Path, texts: Iterable[NgramText]) -> NgramIndex:
    writer = NgramWriter(realm, ARCHIVE)
    told = list(texts)
    writer.add(told)
    writer.commit_up_to(max((one.key for one in told), default=0))
    writer.close()
    return NgramIndex(realm, ARCHIVE)


def named(index: NgramIndex, string: str, narrow: Narrow | None = None) -> list[int]:
    groups = index.candidates(folded(string), narrow or Narrow(), lambda: None)
    return [candidate.key for group in groups for candidate in group]


def test_a_string_is_found_wherever_in_a_word_it_stands(tmp_path: Path) -> None:
    index = indexed(tmp_path, [text(1, "getUserName()"), text(2, "ERR_AUTH_FAILED"), text(3, "nothing of that")])
    assert named(index, "serName") == [1]
    assert named(index, "SERNAME") == [1]
    assert named(index, "_fail") == [2]
    assert named(index, "H_F") == [2]
    assert named(index, "name_of") == []


@pytest.mark.parametrize("string", ["e", "ER", "()", ")", "l", "猫", "名前", "\n", "*"])
def test_one_and_two_characters_are_found_too(tmp_path: Path, string: str) -> None:
    told = ["getUserName()", "猫の名前", "first\nsecond", "2 * 3", "tail"]
    index = indexed(tmp_path, [text(key, one) for key, one in enumerate(told, 1)])
    assert named(index, string) == [key for key, one in enumerate(told, 1) if folded(string) in folded(one)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(LETTERS, max_size=40), min_size=1, max_size=6), st.text(LETTERS, min_size=1, max_size=6))
def test_no_event_that_holds_a_string_is_left_out(
    tmp_path_factory: pytest.TempPathFactory, told: list[str], string: str
) -> None:
    index = indexed(tmp_path_factory.mktemp("realm"), [text(key, one) for key, one in enumerate(told, 1)])
    assert {key for key, one in enumerate(told, 1) if folded(string) in folded(one)} <= {*named(index, string)}


@pytest.mark.parametrize("place", [0, PART - 3, PART - OVERLAP - 1, PART, 3 * PART - OVERLAP, 5 * PART])
@pytest.mark.parametrize("length", [4, OVERLAP, OVERLAP + 1, 3 * OVERLAP])
def test_a_long_text_is_searched_to_its_end_and_over_every_seam(tmp_path: Path, place: int, length: int) -> None:
    wanted = "".join(chr(0x4E00 + number) for number in range(length))
    index = indexed(tmp_path, [text(1, "x" * place + wanted + "y" * PART), text(2, "z" * 6 * PART)])
    assert named(index, wanted) == [1], "once, although it is in several parts"


def test_candidates_come_with_the_session_that_began_last_first(tmp_path: Path) -> None:
    """Also where they are more than the engine is asked for at first, and some sessions have more than that."""
    sessions = [(session, session * 7 % 10) for session in range(1, 9)]
    keys = iter(range(1, 1_000_000))
    texts = [
        text(next(keys), f"needle {number}", session, started)
        for session, started in sessions
        for number in range(FIRST_ASKED * 2 if session == 3 else 400)
    ]
    index = indexed(tmp_path, texts)
    wanted = sorted(texts, key=lambda one: (-one.started, one.session, one.seq))
    assert named(index, "needle") == [one.key for one in wanted]
    assert named(index, "needle", Narrow(started=5)) == [one.key for one in wanted if one.started <= 5]


def test_filters_are_kept_by_the_index(tmp_path: Path) -> None:
    texts = [text(key, "needle", key % 3, key % 5, key % 4, "codex" if key % 2 else "kimi") for key in range(1, 61)]
    index = indexed(tmp_path, texts)

    def kept(narrow: Narrow) -> set[int]:
        return {*named(index, "needle", narrow)}

    assert kept(Narrow(kinds=(1, 3))) == {one.key for one in texts if one.kind in (1, 3)}
    assert kept(Narrow(session=2)) == {one.key for one in texts if one.session == 2}
    assert kept(Narrow(source="kimi")) == {one.key for one in texts if one.source == "kimi"}
    assert kept(Narrow((1,), 1, "codex", 3)) == {
        one.key for one in texts if (one.kind, one.session, one.source) == (1, 1, "codex") and one.started <= 3
    }


def test_times_before_1970_are_in_order(tmp_path: Path) -> None:
    index = indexed(tmp_path, [text(1, "needle", 1, -5), text(2, "needle", 2, 5), text(3, "needle", 3, -10)])
    assert named(index, "needle") == [2, 1, 3]


def test_what_was_added_but_never_said_to_be_there_is_added_once(tmp_path: Path) -> None:
    """As after a crash between the engine's commit and ours."""
    indexed(tmp_path, [text(1, "needle one")])
    writer = NgramWriter(tmp_path, ARCHIVE)
    writer.add([text(2, "needle two")])
    writer.commit()
    writer.close()
    assert seen(tmp_path, ARCHIVE) == 1
    index = indexed(tmp_path, [text(2, "needle two")])
    assert (named(index, "needle"), seen(tmp_path, ARCHIVE)) == ([1, 2], 2)


def test_an_index_of_another_archive_is_none(tmp_path: Path) -> None:
    indexed(tmp_path, [text(1, "needle")])
    assert (seen(tmp_path, ARCHIVE), seen(tmp_path, "another")) == (1, 0)
    with pytest.raises(IndexUnusable):
        NgramIndex(tmp_path, "another")


def test_a_session_can_be_forgotten(tmp_path: Path) -> None:
    index = indexed(tmp_path, [text(1, "needle", 1), text(2, "needle", 2)])
    assert (index.holds(1), index.holds(3)) == (True, False)
    writer = NgramWriter(tmp_path, ARCHIVE)
    writer.remove("session", [1])
    writer.commit_up_to(2)
    writer.close()
    assert (index.holds(1), named(index, "needle")) == (False, [2])
    assert NGRAMS.folder(tmp_path).exists()

"""What makes one moment better than another, part by part."""

import msgspec
import pytest

from recollect.search.ranking import (
    RANKING,
    Candidate,
    Ranking,
    are_equal,
    help_by_time,
    help_by_title,
    help_each_other,
    help_what_was_said,
    in_order,
    score_of,
)
from recollect.search.times import Window

NOTHING = Ranking(
    presence=0, said=0, name=1, meaning=0, turn=0, beside=(), session=0, title=0, time=0
)  # every part taken away


def candidate(key: int, words: float, session: int = 1, turn: int = 1, **more: int) -> Candidate:
    return Candidate(key, session, turn, key, more.get("at", 0), more.get("kind", 0), {"words": words})


def only(**parts: object) -> Ranking:
    return msgspec.structs.replace(NOTHING, **parts)


def test_a_match_is_helped_by_the_best_other_one_of_its_turn() -> None:
    weak, strong, elsewhere = candidate(1, 2.0), candidate(2, 10.0), candidate(3, 2.0, turn=5)
    help_each_other([weak, strong, elsewhere], only(turn=0.5))
    assert (weak.parts["turn"], strong.parts["turn"]) == (5.0, 1.0)
    assert "turn" not in elsewhere.parts


def test_turns_beside_help_less_the_farther_they_are() -> None:
    helped = [candidate(turn, 1.0, turn=turn) for turn in range(1, 6)]
    best = candidate(9, 10.0, turn=6)
    help_each_other([*helped, best], only(beside=(0.3, 0.1)))
    assert [one.parts.get("beside", 0.0) for one in helped] == [0.0, 0.0, 0.0, 1.0, 3.0]


def test_another_session_helps_nobody() -> None:
    here, there = candidate(1, 3.0), candidate(2, 9.0, session=2)
    help_each_other([here, there], only(turn=0.5, beside=(0.5,)))
    assert here.parts == {"words": 3.0}


def test_a_session_speaks_with_its_three_best_matches() -> None:
    found = [candidate(key, float(key), turn=key * 10) for key in range(1, 6)]
    help_each_other(found, only(session=0.1))
    assert [one.parts["session"] for one in found] == [pytest.approx(1.2)] * 5


def test_twins_do_not_help_each_other() -> None:
    """Six answers alike to the letter stay equal, wherever they stand."""
    twins = [candidate(key, 4.0, turn=key) for key in range(1, 7)]
    help_each_other(twins, RANKING)
    assert len({one.total() for one in twins}) == 1


def test_meaning_is_not_handed_on_where_there_are_words() -> None:
    loud, other = candidate(1, 2.0), candidate(2, 3.0)
    loud.parts["meaning"] = 100.0
    help_each_other([loud, other], only(turn=0.5))
    assert other.parts["turn"] == 1.0


def test_what_was_said_comes_before_what_was_put_out() -> None:
    said, output = candidate(1, 5.0, kind=1), candidate(2, 5.0, kind=4)
    help_what_was_said([said, output], {0, 1}, only(said=3.0))
    assert in_order([output, said]) == [said, output]


def test_a_title_helps_by_its_share_of_the_question() -> None:
    titled, untitled = candidate(1, 5.0), candidate(2, 5.0, session=2)
    help_by_title([titled, untitled], {1: 0.5}, only(title=6.0))
    assert titled.parts["title"] == 3.0
    assert "title" not in untitled.parts


def test_the_time_that_is_asked_for_helps() -> None:
    then, long_ago = candidate(1, 5.0, at=1_000), candidate(2, 5.0, at=-(10**12))
    help_by_time([then, long_ago], [Window(0, 2_000)], only(time=7.0))
    assert then.parts["time"] == 7.0
    assert long_ago.total() == pytest.approx(5.0)


def test_a_part_that_is_taken_away_is_not_there() -> None:
    found = [candidate(1, 5.0), candidate(2, 3.0), candidate(3, 4.0, turn=2)]
    help_each_other(found, NOTHING)
    help_by_title(found, {1: 1.0}, NOTHING)
    help_by_time(found, [Window(0, 1)], NOTHING)
    help_what_was_said(found, {0}, NOTHING)
    assert all(one.parts.keys() == {"words"} for one in found)


def test_a_score_is_between_0_and_1_and_grows_with_the_sum() -> None:
    scores = [score_of(total) for total in (0.0, 0.1, 5.0, 50.0, 5_000.0)]
    assert scores == sorted(scores)
    assert scores[0] == 0.0 and scores[-1] < 1.0


def test_candidates_with_equal_shown_scores_are_in_the_order_of_their_times() -> None:
    """Rule 13: two sums that differ behind the last decimal that is shown are a tie."""
    older, newer = candidate(1, 10.000_001, at=1), candidate(2, 10.0, at=2)
    assert older.total() > newer.total()
    assert older.score() == newer.score()
    assert are_equal(older, msgspec.structs.replace(newer, at=1))
    assert in_order([older, newer]) == [newer, older]

"""The parts of a score: what makes one event a better answer than another."""

import msgspec
import pytest

from recollect.search.ranking import (
    RANKING,
    Candidate,
    Ranking,
    boost_by_neighbours,
    boost_by_time,
    boost_by_title,
    boost_conclusions,
    is_tie,
    sort_best_first,
    to_score,
)
from recollect.search.time_windows import TimeWindow

NOTHING = Ranking(
    presence=0, conclusion=0, name=1, meaning=0, turn=0, beside=(), session=0, title=0, time=0
)  # without any part


def candidate(key: int, words: float, session: int = 1, turn: int = 1, **more: int) -> Candidate:
    return Candidate(key, session, turn, key, more.get("at", 0), more.get("kind", 0), {"words": words})


def only(**parts: object) -> Ranking:
    return msgspec.structs.replace(NOTHING, **parts)


def test_a_match_is_boosted_by_the_best_other_match_of_its_turn() -> None:
    weak, strong, elsewhere = candidate(1, 2.0), candidate(2, 10.0), candidate(3, 2.0, turn=5)
    boost_by_neighbours([weak, strong, elsewhere], only(turn=0.5))
    assert (weak.parts["turn"], strong.parts["turn"]) == (5.0, 1.0)
    assert "turn" not in elsewhere.parts


def test_adjacent_turns_boost_less_with_distance() -> None:
    boosted = [candidate(turn, 1.0, turn=turn) for turn in range(1, 6)]
    best = candidate(9, 10.0, turn=6)
    boost_by_neighbours([*boosted, best], only(beside=(0.3, 0.1)))
    assert [one.parts.get("beside", 0.0) for one in boosted] == [0.0, 0.0, 0.0, 1.0, 3.0]


def test_another_session_does_not_boost() -> None:
    here, there = candidate(1, 3.0), candidate(2, 9.0, session=2)
    boost_by_neighbours([here, there], only(turn=0.5, beside=(0.5,)))
    assert here.parts == {"words": 3.0}


def test_a_session_boosts_by_its_three_best_matches() -> None:
    found = [candidate(key, float(key), turn=key * 10) for key in range(1, 6)]
    boost_by_neighbours(found, only(session=0.1))
    assert [one.parts["session"] for one in found] == [pytest.approx(1.2)] * 5


def test_identical_texts_do_not_boost_each_other() -> None:
    """Six identical answers stay equal, in any turn."""
    equal = [candidate(key, 4.0, turn=key) for key in range(1, 7)]
    boost_by_neighbours(equal, RANKING)
    assert len({one.total() for one in equal}) == 1


def test_a_neighbour_with_words_does_not_pass_on_its_similarity() -> None:
    loud, other = candidate(1, 2.0), candidate(2, 3.0)
    loud.parts["meaning"] = 100.0
    boost_by_neighbours([loud, other], only(turn=0.5))
    assert other.parts["turn"] == 1.0


def test_prompts_and_answers_come_before_tool_output() -> None:
    said, output = candidate(1, 5.0, kind=1), candidate(2, 5.0, kind=4)
    boost_conclusions([said, output], {0, 1}, only(conclusion=3.0))
    assert sort_best_first([output, said]) == [said, output]


def test_a_title_boosts_by_its_share_of_the_query() -> None:
    titled, untitled = candidate(1, 5.0), candidate(2, 5.0, session=2)
    boost_by_title([titled, untitled], {1: 0.5}, only(title=6.0))
    assert titled.parts["title"] == 3.0
    assert "title" not in untitled.parts


def test_a_time_that_the_query_names_boosts() -> None:
    then, long_ago = candidate(1, 5.0, at=1_000), candidate(2, 5.0, at=-(10**12))
    boost_by_time([then, long_ago], [TimeWindow(0, 2_000)], only(time=7.0))
    assert then.parts["time"] == 7.0
    assert long_ago.total() == pytest.approx(5.0)


def test_a_part_of_weight_0_is_left_out() -> None:
    candidates = [candidate(1, 5.0), candidate(2, 3.0), candidate(3, 4.0, turn=2)]
    boost_by_neighbours(candidates, NOTHING)
    boost_by_title(candidates, {1: 1.0}, NOTHING)
    boost_by_time(candidates, [TimeWindow(0, 1)], NOTHING)
    boost_conclusions(candidates, {0}, NOTHING)
    assert all(candidate_.parts.keys() == {"words"} for candidate_ in candidates)


def test_a_score_is_between_0_and_1_and_grows_with_the_sum() -> None:
    scores = [to_score(total) for total in (0.0, 0.1, 5.0, 50.0, 5_000.0)]
    assert scores == sorted(scores)
    assert scores[0] == 0.0 and scores[-1] < 1.0


def test_candidates_with_equal_shown_scores_are_in_the_order_of_their_times() -> None:
    """Rule 13: two sums that differ only after the last shown decimal are equal."""
    older, newer = candidate(1, 10.000_001, at=1), candidate(2, 10.0, at=2)
    assert older.total() > newer.total()
    assert older.score() == newer.score()
    assert is_tie(older, msgspec.structs.replace(newer, at=1))
    assert sort_best_first([older, newer]) == [newer, older]

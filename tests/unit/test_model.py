"""The types of observations: one spelling, and one vocabulary for all who name them."""

from collections.abc import Iterable

import pytest

from recollect.model import TYPES, observation_type
from recollect.observe.turn_type import CHINESE_VERBS, TYPE_OF_PREFIX, TYPE_OF_VERB
from recollect.session_context import BONUS_DAYS


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        *((word, word) for word in TYPES),
        ("bugfix", "bug-fix"),
        ("Bug Fix", "bug-fix"),
        ("bug_fix", "bug-fix"),
        ("bug--fix", "bug-fix"),
        ("BUG", "bug-fix"),
        ("fix:", "bug-fix"),
        (" Decision ", "decision"),
        ("Post-Mortem", "post-mortem"),
        (" -- ", ""),
        ("", ""),
    ],
)
def test_a_type_has_one_spelling(written: str, kept: str) -> None:
    assert observation_type(written) == kept
    assert observation_type(kept) == kept


@pytest.mark.parametrize(
    "named",
    [BONUS_DAYS, TYPE_OF_VERB.values(), CHINESE_VERBS, TYPE_OF_PREFIX.values()],
    ids=["hook", "verbs", "chinese", "commits"],
)
def test_whoever_names_types_names_those_of_the_vocabulary(named: Iterable[str]) -> None:
    assert {*named} <= {*TYPES}

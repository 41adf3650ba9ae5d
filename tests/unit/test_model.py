"""The types of observations have one spelling and one vocabulary."""

from collections.abc import Iterable

import pytest

from recollect.model import TYPES, observation_type
from recollect.observe.turn_type import CHINESE_VERBS, TYPE_OF_PREFIX, TYPE_OF_VERB
from recollect.session_context import BONUS_DAYS


@pytest.mark.parametrize(
    ("written", "stored"),
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
def test_a_type_has_one_spelling(written: str, stored: str) -> None:
    assert observation_type(written) == stored
    assert observation_type(stored) == stored


@pytest.mark.parametrize(
    "types",
    [BONUS_DAYS, TYPE_OF_VERB.values(), CHINESE_VERBS, TYPE_OF_PREFIX.values()],
    ids=["hook", "verbs", "chinese", "commits"],
)
def test_every_list_of_types_uses_the_vocabulary(types: Iterable[str]) -> None:
    assert {*types} <= {*TYPES}

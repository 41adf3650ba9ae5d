"""Conversations are in the order of the shown score; the newest of equal ones comes first."""

import pytest

from tests.conftest import Person
from tests.contract.memory_client import connect_memory, session_writer, write_session

pytestmark = pytest.mark.process

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04")


def test_conversations_of_equal_shown_scores_are_newest_first(person: Person) -> None:
    """Their scores differ only after the shown decimals: one text is a little longer than the other."""
    for number, day in enumerate(DAYS, 1):
        log = session_writer(number, "wharf")
        more = " and so on" * (20 + number)
        write_session(
            person, number, "wharf", day, [log.prompt(f"the bollard needs a hawser{more}"), log.says("It has one.")]
        )
    person.run("sync")
    with connect_memory(person) as memory:
        rows = memory.search_rows(["bollard", "hawser"])
        shown = [(row["score"], row["date"]) for row in rows]
        assert len({score for score, _ in shown}) < len(shown) == len(DAYS), "otherwise nothing is tested"
        assert shown == sorted(shown, reverse=True)

"""The archive that the tests of the history contract share."""

from collections.abc import Iterator

import pytest

from tests.contract.history_archive import CLAUDE, CODEX, serve_archive
from tests.contract.history_client import History

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    with serve_archive(tmp_path_factory.mktemp("history")) as client:
        yield client


def test_every_session_of_the_home_is_listed_once(history: History) -> None:
    """Rules 38 and 39: sub-agents, forks and resumed files are sessions; copies of records are not."""
    ids = [listed["id"] for listed in history.sessions()]
    assert len(ids) == len(set(ids)) == len(CODEX) + len(CLAUDE) + 2 + 4 + 2

"""The archive that the tests of the trace contract share."""

from collections.abc import Iterator

import pytest

from tests.contract.trace_archive import (
    CLAUDE,
    GULLS,
    NETS,
    PIER,
    serve_archive,
)
from tests.contract.trace_client import Trace

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with serve_archive(tmp_path_factory.mktemp("trace")) as client:
        yield client


def test_the_home_has_sessions_of_two_agents_and_ids_that_begin_alike(trace: Trace) -> None:
    assert len(trace.ids) == len(CLAUDE) + 2 + 2
    firsts = [session[0] for session in trace.ids.values()]
    assert any(firsts.count(letter) == 1 for letter in firsts), "one id is unique by its first character"
    assert any(firsts.count(letter) > 1 for letter in firsts), "and one is not"
    assert {trace.details(title)["provider"] for title in (NETS, PIER)} == {"claude-code", "codex"}


def test_the_archive_has_the_expected_number_of_gulls(trace: Trace) -> None:
    assert len(trace.places("gull")) == GULLS

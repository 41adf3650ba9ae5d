"""Fixtures that several contract tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.sources import all_sources
from tests.contract.source_cases import Machine, read_at_once, source_of


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine with the source of the current case, which is faster; without a case, with all sources."""
    case = request.getfixturevalue("case") if "case" in request.fixturenames else None
    machine = Machine(tmp_path / "machine", (source_of(case),) if case else all_sources())
    with machine.ingester:
        yield machine


@pytest.fixture
def archive_read_at_once(case: Path) -> list[str]:
    """The archive of a fixture when each of its logs is read at once."""
    return read_at_once(case)

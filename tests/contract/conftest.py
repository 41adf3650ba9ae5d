"""What several contract tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.sources import all_sources
from tests.contract.source_cases import Machine, read_whole, source_of


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Of a fixture's own source, whose logs are looked at over and over again; else of all."""
    known = request.getfixturevalue("case") if "case" in request.fixturenames else None
    machine = Machine(tmp_path / "machine", (source_of(known),) if known else all_sources())
    with machine.intake:
        yield machine


@pytest.fixture
def whole(case: Path) -> list[str]:
    """What a fixture becomes when each of its logs is read in one go."""
    return read_whole(case)

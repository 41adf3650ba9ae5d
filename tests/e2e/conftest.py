"""Fixtures that several end-to-end tests share."""

from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.hostile_text import write_hostile_log
from tests.e2e.node_packages import installed


@pytest.fixture(scope="session")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both generations of the official TypeScript client, and the scripts that use them."""
    return installed("typescript", tmp_path_factory.getbasetemp())


@pytest.fixture
def hostile_log(person: Person) -> Path:
    """A synced log whose text would control a terminal if it were shown unchanged."""
    return write_hostile_log(person)

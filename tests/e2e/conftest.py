"""What several end-to-end tests share."""

from pathlib import Path

import pytest

from tests.e2e.node_packages import installed


@pytest.fixture(scope="session")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both generations of the official TypeScript client, and the scripts that use them."""
    return installed("typescript", tmp_path_factory.getbasetemp())

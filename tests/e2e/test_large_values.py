"""A value of tens of megabytes takes at most a few times its size in memory, in every container."""

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.golden import FIXTURES
from tests.long_values import LongValue, long_values

SIZE = 40 << 20  # characters
MAX_FACTOR = 4  # times its size
POLL_S = 0.005
PROSE = " ".join(f"word{number * 7919 % 10_007} of line {number}" for number in range(5_000)) + "\n"

VALUES = {
    "an answer": ("claude-code/plain_turns", "<text>.text"),
    "the output of a tool": ("claude-code/parallel_tools_interleaved", "<tool_result>.content"),
    "the arguments of a tool": ("codex/plain_turns", ".arguments"),
    "a part of a document": ("amp/threads", "run<>.result<>.output"),
    "a row of a database": ("opencode/database", "<text>.text"),
}


@pytest.fixture(params=VALUES, ids=lambda name: name.replace(" ", "_"))
def value(request: pytest.FixtureRequest) -> LongValue:
    case, ending = VALUES[request.param]
    with tempfile.TemporaryDirectory() as folder:
        values = [value for value in long_values(FIXTURES / case, Path(folder)) if value.how == "longer"]
    return replace(next(value for value in values if value.shape.endswith(ending)), text=PROSE)


def peak_bytes(person: Person) -> int:
    """The peak memory of a first sync without mapped files, in bytes."""
    command = [sys.executable, "-m", "recollect", "sync", "--no-distil"]
    most = 0
    with subprocess.Popen(command, env=person.env, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most = max(most, _current_bytes(process.pid))
            time.sleep(POLL_S)
    assert process.returncode == 0
    return most


def _current_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon")), 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell held memory from mapped files")
def test_a_large_value_takes_at_most_four_times_its_size(tmp_path: Path, value: LongValue) -> None:
    small, large = Person(tmp_path / "small"), Person(tmp_path / "large")
    value.lay_out(small.home, len(PROSE))
    value.lay_out(large.home, SIZE)
    taken = peak_bytes(large) - peak_bytes(small)
    assert taken <= MAX_FACTOR * SIZE, f"{taken >> 20} MB for {SIZE >> 20}"

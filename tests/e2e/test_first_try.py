"""`make try`: what a new user sees first, with and without agents on the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.logs import Claude, write

ROOT = Path(__file__).parents[2]


def first_try(home: Path, path: Path) -> str:
    env = {"HOME": str(home), "PATH": str(path), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "try_it.py"], env=env, cwd=home, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_a_machine_without_sessions_shows_the_sample_and_is_unchanged(home: Path, programs: Path) -> None:
    shown = first_try(home, programs)
    assert "There are no agent sessions on this machine yet." in shown
    assert "$ recollect search" in shown and "The booking tests fail on CI" in shown
    assert "export PATH=" in shown and "any MCP client: a server on stdio" in shown
    assert "recollect setup" not in shown
    assert list(home.iterdir()) == []


def test_make_try_prints_the_command_that_connects_the_agents_found(home: Path, programs: Path) -> None:
    claude = Claude()
    write(
        home / ".claude" / "projects" / "-p" / f"{claude.session}.jsonl",
        [claude.prompt("the heron tests fail"), claude.says("ok")],
    )
    (programs / "codex").write_text("#!/bin/sh\n")
    (programs / "codex").chmod(0o755)
    shown = first_try(home, programs)
    program = Path(sys.executable).with_name("recollect")
    assert "the heron tests fail" in shown and "sample" not in shown
    assert f"  # Claude Code, Codex\n  {program} setup\n" in shown, "one has sessions, the other is installed"

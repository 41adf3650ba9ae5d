"""The recipe "add an agent format", followed to the letter: one module, one fixture, one line, and no test is edited."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project as somebody would clone it, without most of its fixtures."""
    project = tmp_path / "project"
    for folder in ("src", "scripts", "tests", "docs"):
        skipped = shutil.ignore_patterns("__pycache__", "node_modules", "fixtures")
        shutil.copytree(ROOT / folder, project / folder, ignore=skipped)
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, project / file)
    shutil.copytree(ROOT / "tests/fixtures/crush", project / "tests/fixtures/crush")
    return project


def run(project: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(project / "src")}
    return subprocess.run([sys.executable, *command], cwd=project, env=env, capture_output=True, text=True)


def test_a_new_source_is_begun_by_one_command_and_passes_every_contract(project: Path) -> None:
    made = run(project, "scripts/new_source.py", "night-heron", "Night Heron")
    assert made.returncode == 0, made.stderr
    assert "src/recollect/sources/night_heron.py" in made.stdout
    tested = run(project, "-m", "pytest", "tests/contract/test_sources.py", "-k", "night-heron")
    assert tested.returncode == 0, tested.stdout
    assert " passed" in tested.stdout
    table = (project / "docs/sources.md").read_text("utf-8")
    assert "| Night Heron | `night-heron` | `~/.night-heron/sessions` | JSONL |" in table


@pytest.mark.parametrize("name", ["Night Heron", "heron/../../x", "", "-heron"])
def test_a_name_that_is_none_is_refused_in_a_sentence(project: Path, name: str) -> None:
    done = run(project, "scripts/new_source.py", "--", name)
    assert done.returncode == 1
    assert "is no name for a source" in done.stderr


def test_a_source_that_exists_is_not_overwritten(project: Path) -> None:
    before = (project / "src/recollect/sources/crush.py").read_bytes()
    done = run(project, "scripts/new_source.py", "crush")
    assert done.returncode == 1
    assert "There is a source 'crush' already" in done.stderr
    assert (project / "src/recollect/sources/crush.py").read_bytes() == before

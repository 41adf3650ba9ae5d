"""`make new-source` creates a source that passes every contract: a module, a fixture and one line; no test is edited."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIMPLE = 20  # lines: the limit for a simple source


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone of the project, without most of its fixtures."""
    project = tmp_path / "project"
    for folder in ("src", "scripts", "tests", "docs"):
        skipped = shutil.ignore_patterns("__pycache__", "node_modules", "fixtures")
        shutil.copytree(ROOT / folder, project / folder, ignore=skipped)
    for file in ("pyproject.toml", "README.md", "Makefile"):
        shutil.copy(ROOT / file, project / file)
    shutil.copytree(ROOT / "tests/fixtures/crush", project / "tests/fixtures/crush")
    return project


def run(project: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, "PYTHONPATH": str(project / "src")}
    return subprocess.run([sys.executable, *command], cwd=project, env=env, capture_output=True, text=True)


def make(project: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run make with this interpreter instead of the project's own."""
    binaries = project / ".venv/bin"
    binaries.mkdir(parents=True)
    (binaries / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (binaries / "python").chmod(0o755)
    (project / ".venv/.made").touch()
    env = {**os.environ, "PYTHONPATH": str(project / "src")}
    command = ["make", "--silent", "--old-file=.venv/.made", "new-source", *words]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(("kind", "container"), [("lines", "JSONL"), ("document", "JSON"), ("database", "SQLite")])
def test_one_command_starts_a_new_source_that_passes_every_contract(project: Path, kind: str, container: str) -> None:
    started = run(project, "scripts/new_source.py", "night-heron", "--title", "Night Heron", "--kind", kind)
    assert started.returncode == 0, started.stderr
    assert "src/recollect/sources/night_heron.py" in started.stdout
    tested = run(project, "-m", "pytest", "tests/contract", "-k", "sources and night-heron")
    assert tested.returncode == 0, tested.stdout
    assert " passed" in tested.stdout
    table = (project / "docs/sources.md").read_text("utf-8")
    assert f"| Night Heron | `night-heron` | `~/.night-heron/sessions` | {container} |" in table
    golden = (project / "tests/fixtures/night-heron/plain_turns/expected.jsonl").read_text("utf-8")
    assert "Berth 4 is free." in golden
    assert len((project / "src/recollect/sources/night_heron.py").read_text("utf-8").splitlines()) < SIMPLE


def test_a_new_source_is_listed_before_recollect(project: Path) -> None:
    assert run(project, "scripts/new_source.py", "night-heron").returncode == 0
    listed = run(project, "-c", "from recollect.sources import BUILT_IN; print(*(s.name for s in BUILT_IN[-2:]))")
    assert listed.stdout.split() == ["night-heron", "recollect"]


def test_make_takes_the_title_and_the_kind_as_variables(project: Path) -> None:
    started = make(project, "night-heron", "TITLE=Night Heron", "KIND=database")
    assert started.returncode == 0, started.stderr
    module = (project / "src/recollect/sources/night_heron.py").read_text("utf-8")
    assert 'title="Night Heron"' in module
    assert "chat_database" in module


def test_make_without_a_name_says_how_to_give_one(project: Path) -> None:
    started = make(project)
    assert started.returncode != 0
    assert "A new source needs a name" in started.stderr
    assert "make new-source heron-cli" in started.stderr


@pytest.mark.parametrize("name", ["Night Heron", "heron/../../x", "-heron"])
def test_an_invalid_name_is_refused_in_a_sentence(project: Path, name: str) -> None:
    done = run(project, "scripts/new_source.py", "--", name)
    assert done.returncode == 1
    assert "is not a name for a source" in done.stderr
    assert "make new-source" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["heron", "--kind", "tape"], "'tape' is not a kind of log"),
        (["heron", "--title", '"quoted"'], "is not a title"),
        (["heron", "--colour", "grey"], "Cannot start a source"),
    ],
)
def test_an_invalid_option_is_refused_in_a_sentence(project: Path, wrong: list[str], reason: str) -> None:
    done = run(project, "scripts/new_source.py", *wrong)
    assert done.returncode == 1
    assert reason in done.stderr
    assert "make new-source" in done.stderr


@pytest.mark.parametrize("taken", ["crush", "codex"])
def test_a_source_that_exists_is_not_overwritten(project: Path, taken: str) -> None:
    before = (project / "src/recollect/sources/__init__.py").read_bytes()
    done = run(project, "scripts/new_source.py", taken)
    assert done.returncode == 1
    assert f"There is a source {taken!r} already" in done.stderr
    assert "make new-source" in done.stderr
    assert (project / "src/recollect/sources/__init__.py").read_bytes() == before

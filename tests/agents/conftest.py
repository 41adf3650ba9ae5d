"""An environment for agents: a home, a folder, a model, and one earlier session that contains an answer."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.places import ASKED, KNOWN, Place, programs
from tests.conftest import Person
from tests.logs import Claude, write
from tests.scripted_model import scripted_model

LONG_AGO = 1_760_000_000  # seconds since 1970: the log is not being written


@pytest.fixture
def place(person: Person, tmp_path: Path) -> Iterator[Place]:
    folder = programs()
    work = tmp_path / "work"
    work.mkdir()
    claude = Claude("22222222-2222-4222-8222-222222222222", str(work))
    log = write(
        person.claude_log(claude.session),
        [
            claude.prompt(ASKED),
            claude.calls("Read", "r1", file_path="birds.md"),
            claude.result("r1", "kingfisher: north bank"),
            claude.says(KNOWN),
        ],
    )
    os.utime(log, (LONG_AGO, LONG_AGO))
    person.run("sync")
    person.run("distil")
    with scripted_model() as model:
        yield Place(person, work, model, {**person.env, "PATH": f"{folder}{os.pathsep}{person.env['PATH']}"})

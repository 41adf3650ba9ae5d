"""The pages that show commands are run as they stand: every command works, and prints the lines that the page shows."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.terminals import on_a_terminal, plain

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if BLOCK.search(page.read_text("utf-8")))
COLUMNS = 120


def commands_of(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that it must print."""
    commands: list[tuple[str, list[str]]] = []
    for line in "".join(BLOCK.findall(page.read_text("utf-8"))).splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), []))
        elif line != "…":
            commands[-1][1].append(line)
    return commands


def squeezed(text: str) -> str:
    return " ".join(text.split())


def test_the_pages_with_commands_are_found() -> None:
    assert {"tutorial.md", "cost.md", "this-week.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path)
    shutil.copytree(ROOT / "scripts" / "sample", person.home, dirs_exist_ok=True)
    if page.name != "tutorial.md":
        person.sync()
    monkeypatch.chdir(tmp_path)
    for command, lines in commands_of(page):
        program, *arguments = shlex.split(command)
        assert program == "recollect", command
        printed = plain(on_a_terminal(person, *arguments, columns=COLUMNS, PAGER="cat", TZ="UTC"))
        assert "No such" not in printed and "Usage:" not in printed, f"{command}\n{printed}"
        for line in lines:
            assert squeezed(line) in squeezed(printed), f"{command}\ndoes not print\n{line}\nbut\n{printed}"

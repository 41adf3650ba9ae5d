"""`recollect files` lists files and shows one file's history, in lines that fit."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from recollect.surfaces.cli import recollect
from recollect.surfaces.cli.render_files import lines_text, shortened
from tests.conftest import Person
from tests.contract.library_archive import Library, fill
from tests.logs import Claude, write


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("files_table"))
    fill(person)
    return person


def shown(person: Person, *arguments: str, width: int = 80, code: int = 0) -> str:
    result = CliRunner().invoke(recollect, ["files", *arguments], env={**person.env, "COLUMNS": str(width)})
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_files_are_listed_by_project(person: Person, width: int) -> None:
    lines = shown(person, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if " " not in line.strip()] == ["app", "yard"]
    deck = next(line for line in lines if line.startswith("src/deck.py"))
    assert "changed" in deck and "+2 -1" in deck
    assert lines[-1] == "3 files. One file: recollect files PATH"
    assert shown(person, "-n", "1", width=width).splitlines()[-1].startswith("1 file; more with -n 200.")


def test_filters_and_a_path_select_files(person: Person) -> None:
    assert "src/deck.py" not in shown(person, "agent:codex")
    assert "src/deck.py" not in shown(person, "--operation", "created")
    history = shown(person, "deck.py", "agent:claude-code").splitlines()
    assert history[0] == "src/deck.py  app"
    assert [("changed" in line, "read" in line) for line in history[1:]] == [(True, False), (False, True)]
    assert shown(person, "deck.py", "agent:codex") == "No session that fits these filters touched the file.\n"
    assert "did you mean deck.py?" in shown(person, "decks.py", code=1)


def test_json_is_the_answer_of_the_operation(person: Person) -> None:
    library = Library(person)
    assert json.loads(shown(person, "--json"))["data"] == library.data("files")
    assert json.loads(shown(person, "deck.py", "--json"))["data"] == library.data("file_history", path="deck.py")


def test_a_file_of_the_current_folder_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "work" / "app"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / "src" / "deck.py").write_text("deck = 2\n")
    person = Person(tmp_path / "person")
    for number, cwd in enumerate((folder, tmp_path / "elsewhere")):
        claude = Claude(f"aaaaaaaa-000{number}-4000-8000-000000000001", str(cwd), start=number * 60)
        write(
            person.claude_log(claude.session, f"-{number}"),
            [
                claude.prompt("Write it"),
                claude.calls("Write", "t1", file_path=f"{cwd}/src/deck.py", content="deck = 2\n"),
                claude.result("t1", "File created"),
                claude.says("Written."),
            ],
        )
    person.sync()
    monkeypatch.chdir(folder / "src")
    assert shown(person, "deck.py").splitlines()[0] == "src/deck.py  app"
    monkeypatch.chdir(tmp_path)
    assert "2 files have this path or end with it" in shown(person, "deck.py")


def test_a_path_keeps_its_end() -> None:
    assert shortened("src/a.py", 20) == "src/a.py"
    assert shortened("packages/coding-agent/src/main.ts", 20) == "…/src/main.ts"
    assert shortened("a-file-with-a-very-long-name-that-does-not-fit.py", 20) == "…hat-does-not-fit.py"
    for width in range(2, 60):
        assert len(shortened("packages/coding-agent/src/main.ts", width)) <= width


@pytest.mark.parametrize(
    ("added", "removed", "text"), [(None, None, ""), (0, 0, ""), (1_234, 0, "+1,234"), (0, 2, "-2"), (3, 4, "+3 -4")]
)
def test_lines_are_signed(added: int | None, removed: int | None, text: str) -> None:
    assert lines_text(added, removed).plain == text

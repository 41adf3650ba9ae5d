"""Completion: what can stand at the cursor, and how bash gets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from recollect import __version__
from recollect.surfaces.cli import COMMANDS
from recollect.surfaces.cli.command_table import command_table
from recollect.surfaces.completion import TABLE, main
from recollect.surfaces.completion.candidates import TypedLine, candidates
from recollect.surfaces.completion.words import as_bash_reply, split_line
from tests.conftest import Person
from tests.contract.library_archive import fill


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(json.dumps(command_table()))
    return table


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("completion"))
    fill(person)
    return person


def texts(table: dict[str, Any], person: Person, *words: str) -> list[str] | None:
    found = candidates(table, TypedLine(words, person.state))
    return None if found is None else [text for text, _ in found]


COMPLETED: list[tuple[tuple[str, ...], list[str]]] = [
    (("lis",), ["list"]),
    (("list", "--agent", ""), ["codex", "claude-code"]),
    (("list", "--agent", "CL"), ["claude-code"]),
    (("list", "--agent", "-co"), ["-codex"]),
    (("list", "--agent=co"), ["--agent=codex"]),
    (("list", "--agent", "codex", "--project", "re"), ["reef"]),
    (("search", "tide", "branch:"), ["branch:main", "branch:signals"]),
    (("search", "-branch:s"), ["-branch:signals"]),
    (("list", "proj"), ["project:"]),
    (("list", "-proj"), ["-project:"]),
    (("list", "--stat"), ["--state"]),
    (("list", "--state", "wai"), ["waiting"]),
    (("list", "--sort", "-tok"), ["-tokens"]),
    (("list", "--model", "claude-opus"), ["claude-opus-4-6"]),
    (("list", "tool:ex"), ["tool:exec_command"]),
    (("list", "since:yes"), ["since:yesterday"]),
    (("open", "la"), ["last"]),
    (("open", "bbbbbb"), []),
    (("open", "aaaaaaaa-0001"), ["aaaaaaaa-0001-4000-8000-000000000001"]),
    (("list", "--realm", "ma"), ["main"]),
    (("trace", "sess"), ["session"]),
    (("export", "last", "--format", "ht"), ["html"]),
    (("completion", "z"), ["zsh"]),
    (("list", "--no-such", "x"), []),
    (("nosuch", "x"), []),
]


@pytest.mark.parametrize(("words", "expected"), COMPLETED, ids=[" ".join(words) for words, _ in COMPLETED])
def test_a_word_is_completed(table: dict[str, Any], person: Person, words: tuple[str, ...], expected: list[str]) -> None:
    found = texts(table, person, *words)
    assert found is not None
    assert [text for text in found if not text.startswith("--") or words[-1].startswith("--")] == expected


def test_every_command_and_every_option_is_known(table: dict[str, Any], person: Person) -> None:
    assert texts(table, person, "") == list(COMMANDS)
    options = texts(table, person, "list", "--")
    assert options is not None and {"--agent", "--no-failed", "--json", "--realm", "--limit"} <= set(options)
    assert "--json" not in (texts(table, person, "list", "--json", "--") or [])
    assert "--agent" in (texts(table, person, "list", "--agent", "codex", "--") or [])


def test_ids_are_those_of_the_newest_sessions_with_their_titles(table: dict[str, Any], person: Person) -> None:
    last, *found = candidates(table, TypedLine(["open", ""], person.state)) or []
    assert last[0] == "last"
    assert [about.partition(":")[0] for _, about in found[:2]] == ["codex reef", "codex yard"]
    assert all(len(text) == 8 for text, _ in found)
    for text, _ in found:
        assert texts(table, person, "open", text[:6]) == [text]


def test_files_are_left_to_the_shell(table: dict[str, Any], person: Person) -> None:
    assert texts(table, person, "sync", "./lo") is None
    assert texts(table, person, "export", "last", "-o", "") is None


def test_without_an_archive_there_are_no_names(table: dict[str, Any], tmp_path: Path) -> None:
    stranger = Person(tmp_path)
    assert texts(table, stranger, "list", "--agent", "") == []
    assert texts(table, stranger, "open", "") == ["last"]
    assert texts(table, stranger, "list", "--realm", "") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("recollect ", [""]),
        ("recollect", [""]),
        ("recollect li", ["li"]),
        ("recollect list ", ["list", ""]),
        ("recollect search 'two words' --pro", ["search", "two words", "--pro"]),
        ('recollect list --project "my a', ["list", "--project", "my a"]),
        ("recollect list agent:co", ["list", "agent:co"]),
        ("recollect search it\\'s ", ["search", "it's", ""]),
    ],
)
def test_a_line_is_split_as_the_shell_splits_it(line: str, words: list[str]) -> None:
    assert split_line(line) == words


def test_bash_gets_the_part_after_a_colon_and_quoted_words() -> None:
    assert as_bash_reply([("agent:codex", "")], "agent:co") == ["codex "]
    assert as_bash_reply([("agent:", "")], "ag") == ["agent:"]
    assert as_bash_reply([("--agent=codex", "")], "--agent=") == ["codex "]
    assert as_bash_reply([("my app", ""), ("$(x)", "")], "") == ["my\\ app ", "\\$\\(x\\) "]


def test_the_table_is_stored_and_made_again_for_another_version(
    person: Person, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", str(person.state))
    main(["bash", "recollect stat"])
    assert capsys.readouterr().out.split() == ["stats", "status"]
    stored = json.loads((person.state / TABLE).read_text("utf-8"))
    assert stored["made_by"].startswith(__version__)
    (person.state / TABLE).write_text('{"made_by": "another", "commands": {}}', "utf-8")
    main(["zsh", "wee"])
    assert capsys.readouterr().out == "week\tShow what agents did in the last 7 days, by project.\n"
    (person.state / TABLE).write_text("torn", "utf-8")
    main(["fish", "wee"])
    assert capsys.readouterr().out.startswith("week\t")

"""library/files, the files of a session, and the history of a file: filters, pages, and paths in every form."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.library_archive import ANCHOR, CUTTER, DINGHY, ESTUARY, NAMES, Library, fill, name_of
from tests.logs import Claude, write

DECK, VOYAGE, TIDE = "src/deck.py", "log/voyage.md", "src/tide.go"
ROWS = {  # what the sessions of the archive did: path, project, operation, lines added and removed, session
    (DECK, "app", "read", None, None, ANCHOR),
    (DECK, "app", "changed", 2, 1, ANCHOR),
    (VOYAGE, "yard", "created", 3, 0, CUTTER),
    (TIDE, "app", "changed", 2, 1, DINGHY),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("files"))
    fill(person)
    return Library(person)


def rows_of(library: Library, operation: str = "files", /, **arguments: Any) -> set[tuple[Any, ...]]:
    names = {session["id"]: name_of(session) for session in library.data("sessions")["sessions"]}
    return {
        (
            file["path"],
            file["project"],
            file["operation"],
            file["lines_added"],
            file["lines_removed"],
            names[file["session"]],
        )
        for file in library.data(operation, **arguments)["files"]
    }


def paged(library: Library, operation: str, **arguments: Any) -> list[Any]:
    files, cursor = [], None
    while True:
        answer = library.ask(operation, **arguments, **({"cursor": cursor} if cursor else {}))
        files += answer["data"]["files"]
        cursor = answer["page"]["next"]
        if cursor is None:
            assert answer["page"]["total"] == len(files)
            return files


def test_a_file_row_names_its_event(library: Library) -> None:
    """L1."""
    assert rows_of(library) == ROWS
    newest = library.data("files")["files"]
    assert [file["at"] for file in newest] == sorted((file["at"] for file in newest), reverse=True)
    edit = next(file for file in newest if file["path"] == DECK and file["operation"] == "changed")
    assert edit["at"] == "2026-02-01T00:00:04.000Z"
    events = library.data("events", id=edit["session"])["events"]
    (event,) = (event for event in events if event["id"] == edit["event"])
    assert (event["tool"], event["type"]) == ("Edit", "tool_call")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"operation": ["read"]}, {row for row in ROWS if row[2] == "read"}),
        ({"operation": ["-read"]}, {row for row in ROWS if row[2] != "read"}),
        ({"operation": ["created", "read"]}, {row for row in ROWS if row[2] in {"created", "read"}}),
        ({"project": ["yard"]}, {row for row in ROWS if row[1] == "yard"}),
        ({"project": ["-yard"]}, {row for row in ROWS if row[1] != "yard"}),
        ({"agent": ["codex"]}, {row for row in ROWS if row[5] in {DINGHY, ESTUARY}}),
        ({"file": ["*.py"]}, {row for row in ROWS if row[0] == DECK}),
        ({"file": ["-*.py"]}, {row for row in ROWS if row[0] != DECK}),
        ({"file": ["tide.go"], "project": ["app"]}, {row for row in ROWS if row[0] == TIDE}),
        ({"since": ["2026-02-01T00:00:03Z"], "until": ["2026-02-02"]}, {row for row in ROWS if row[2] in {"changed", "created"} and row[0] != TIDE}),
        ({"until": ["2026-02-01T00:00:03Z"]}, {row for row in ROWS if row[2] == "read"}),
        ({"query": "agent:claude-code file:*.md"}, {row for row in ROWS if row[0] == VOYAGE}),
        ({"query": f"{ANCHOR}"}, {row for row in ROWS if row[5] == ANCHOR}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_filters_select_files(library: Library, arguments: dict[str, Any], expected: set[tuple[Any, ...]]) -> None:
    """L2."""
    assert expected
    assert rows_of(library, **arguments) == expected


def test_a_wrong_operation_names_the_right_ones(library: Library) -> None:
    refusal = library.refusal("files", operation=["change"])
    assert refusal["code"] == "invalid_filter"
    assert "changed" in refusal["details"]["did_you_mean"]


@pytest.mark.parametrize("limit", [1, 2, 3, 200])
def test_pages_hold_each_file_once(library: Library, limit: int) -> None:
    """L4."""
    whole = library.data("files")["files"]
    assert len(whole) == len(ROWS)
    assert paged(library, "files", limit=limit) == whole
    for name in NAMES:
        session = library.session(name)["id"]
        assert paged(library, "session_files", id=session, limit=limit) == library.data("session_files", id=session)["files"]


def test_a_cursor_belongs_to_its_filters(library: Library) -> None:
    cursor = library.ask("files", limit=1)["page"]["next"]
    assert library.refusal("files", limit=1, operation=["read"], cursor=cursor)["code"] == "invalid_cursor"
    assert library.refusal("file_history", path=DECK, cursor=cursor)["code"] == "invalid_cursor"


def test_the_files_of_a_session_are_in_the_order_of_its_events(library: Library) -> None:
    answer = library.data("session_files", id=library.session(ANCHOR)["native_id"])
    assert answer["session"] == library.session(ANCHOR)["id"]
    assert [(file["path"], file["operation"]) for file in answer["files"]] == [(DECK, "read"), (DECK, "changed")]
    assert library.data("session", id=answer["session"])["files"] == answer["files"]
    assert library.session(ANCHOR)["files_changed"] == 1
    assert library.refusal("session_files", id="session:" + "0" * 32)["code"] == "not_found"


@pytest.mark.parametrize("path", [DECK, "deck.py", "./src/deck.py", "SRC/Deck.py", "/work/app/src/deck.py"])
def test_a_file_is_found_by_every_form_of_its_path(library: Library, path: str) -> None:
    assert rows_of(library, "file_history", path=path) == {row for row in ROWS if row[0] == DECK}
    changes = library.data("file_history", path=path, operation=["changed"])["files"]
    assert [(file["lines_added"], file["lines_removed"]) for file in changes] == [(2, 1)]


@pytest.mark.parametrize(("path", "near"), [("decks.py", ["deck.py"]), ("src/voyage.txt", ["voyage.md"])])
def test_an_unknown_path_names_the_near_ones(library: Library, path: str, near: list[str]) -> None:
    refusal = library.refusal("file_history", path=path)
    assert (refusal["code"], refusal["details"]["did_you_mean"]) == ("not_found", near)
    assert near[0] in refusal["message"]


def test_one_name_in_several_places_is_told_apart(tmp_path: Path) -> None:
    person = Person(tmp_path)
    for number, folder in enumerate(("/work/one", "/work/two")):
        claude = Claude(f"aaaaaaaa-000{number}-4000-8000-000000000001", folder, start=number * 60)
        write(
            person.claude_log(claude.session, folder.replace("/", "-")),
            [
                claude.prompt("Write it down"),
                claude.calls("Write", "t1", file_path=f"{folder}/notes.md", content="one\n"),
                claude.result("t1", "File created"),
                claude.says("Written."),
            ],
        )
    person.sync()
    library = Library(person)
    both = library.ask("file_history", path="notes.md")
    assert len(both["data"]["files"]) == 2
    assert "notes.md (one), notes.md (two)" in both["warnings"][0]
    assert [file["project"] for file in library.data("file_history", path="notes.md", project=["two"])["files"]] == ["two"]
    assert [file["project"] for file in library.data("file_history", path="/work/one/notes.md")["files"]] == ["one"]

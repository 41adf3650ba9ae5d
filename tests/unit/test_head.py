"""The head of a file is read whatever its name, size or damage."""

import json
import sqlite3
from pathlib import Path

import pytest

from recollect.sources import read_head
from recollect.sources.formats.head import LONG_LIST


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_the_first_lines_of_a_log(file: Path) -> None:
    file.write_text('\ufeff{"a": 1}\r\n\n{"b": 2}{"c": 3}\n{"torn": ')
    assert read_head(file).values == [{"a": 1}, {"b": 2}, {"c": 3}]


def test_a_document_over_many_lines(file: Path) -> None:
    file.write_text(json.dumps({"messages": [{"a": 1}] * 9_000}, indent=2))
    (document,) = read_head(file).values
    assert len(document["messages"]) == 9_000


def test_a_document_on_one_long_line(file: Path) -> None:
    file.write_text(json.dumps({"messages": ["x" * 100] * 9_000}))
    assert list(read_head(file).first()) == ["messages"]


def test_only_the_first_of_many_lines_are_read(file: Path) -> None:
    file.write_text('{"a": 1}\n' * 100_000)
    assert len(read_head(file).values) == 40


def test_the_tables_of_a_database(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE threads (id)")
    db.close()
    assert read_head(file).tables == {"threads"}


@pytest.mark.parametrize(
    "content", [b"# aider chat", b"{half a document", b"SQLite format 3\0 and rubbish", b"", b"\xff\xfe"]
)
def test_other_content_has_no_values(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    head = read_head(file)
    assert (head.values, head.tables, head.first()) == ([], frozenset(), {})


def test_the_text_of_a_file_is_available(file: Path) -> None:
    file.write_text("\n# aider chat started at")
    assert read_head(file).text == "# aider chat started at"


def test_only_the_first_items_of_a_long_list_are_read(file: Path) -> None:
    file.write_text('[{"mapping": {}},\n {"mapping": {"words": "' + "x" * LONG_LIST + '"}}]')
    assert read_head(file).values == [[{"mapping": {}}]]


@pytest.mark.parametrize("cut", range(23, 60))
def test_a_truncated_document_is_read_up_to_its_end(file: Path, cut: int) -> None:
    document = {"sessionId": "s, {", "list": [1, {"a": "]"}, []], "more": {"b": None}}
    file.write_text(json.dumps(document, indent=1)[:cut])
    assert read_head(file).first()["sessionId"] == "s, {"

"""The text index: removed documents are deleted from its files, not only hidden from answers."""

import shutil
from pathlib import Path

from recollect.index.filters import Filters
from recollect.index.place import Place
from recollect.index.text import TEXT, TextClause, TextDocument, TextIndex, TextWriter

ARCHIVE = "an archive"


def entry(key: int, text: str) -> TextDocument:
    return TextDocument(Place(key=key, session=1, turn=1, seq=key, at=key, kind=0), source="codex", project="", text=text)


def documents(realm: Path, word: str) -> list[int]:
    found = TextIndex(realm, ARCHIVE).snapshot().search([TextClause([word])], Filters(), 50, lambda: None)
    return sorted(hit.key for hit in found)


def test_an_event_that_is_removed_is_no_longer_in_the_index(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path, ARCHIVE)
    writer.add([entry(key, "anchor") for key in range(1, 6)])
    writer.commit()
    writer.remove("key", [2, 4])
    writer.commit()
    assert documents(tmp_path, "anchor") == [1, 3, 5]
    writer.remove_above(3)
    writer.commit()
    writer.close()
    assert documents(tmp_path, "anchor") == [1, 3]
    assert TextIndex(tmp_path, ARCHIVE).snapshot().document_count() == 2


def test_an_interrupted_commit_is_repeated(tmp_path: Path) -> None:
    """The engine wrote the list of deleted documents, and was killed before it could commit."""
    writer = TextWriter(tmp_path, ARCHIVE)
    writer.add([entry(key, "anchor") for key in range(1, 6)])
    writer.commit()
    writer.close()
    before = tmp_path / "before"
    shutil.copytree(TEXT.folder(tmp_path), before)
    rewrite_above(tmp_path, 3)
    (left,) = TEXT.folder(tmp_path).glob("*.del")
    shutil.copy(left, before)
    shutil.rmtree(TEXT.folder(tmp_path))
    before.rename(TEXT.folder(tmp_path))
    rewrite_above(tmp_path, 3)
    assert documents(tmp_path, "anchor") == [1, 2, 3]
    assert documents(tmp_path, "again") == [4, 5]


def rewrite_above(realm: Path, key: int) -> None:
    """Replace the documents above a key, as a sync does. A rebuilt index would not contain `anchor`."""
    writer = TextWriter(realm, ARCHIVE)
    writer.remove_above(key)
    writer.add([entry(number, "again") for number in range(key + 1, 6)])
    writer.commit()
    writer.close()

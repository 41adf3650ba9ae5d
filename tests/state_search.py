"""Searches every byte of a folder for a text, also inside compressed bodies, databases and search indexes."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import tantivy
import zstandard

from recollect.index import ngrams
from recollect.index.text import TEXT

ZSTD = b"\x28\xb5\x2f\xfd"  # the first bytes of a compressed body
MAX_FRAME = 64 << 20
SQLITE = b"SQLite format 3\0"


def places_of(text: str, folder: Path) -> list[str]:
    """Where a text is found in the files of a folder: the file, and how it was found. Case does not matter."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(folder))
            if text.lower() in name.lower():
                found.append(f"{name}: its name")
            found += [f"{name}: {how}" for how in sorted({how for how, raw in _contents(path) if _has(raw, text)})]
    return found + _terms(text, folder)


def _has(raw: bytes, text: str) -> bool:
    lower = raw.lower()
    return any(text.lower().encode(encoding) in lower for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    raw = path.read_bytes()
    yield "raw bytes", raw
    yield from (("a compressed body", frame) for frame in _frames(raw))
    if raw.startswith(SQLITE):
        yield from _cells(path)


def _frames(raw: bytes) -> Iterator[bytes]:
    """The content of every compressed frame among these bytes, also of one that is cut off."""
    place = raw.find(ZSTD)
    while place >= 0:
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        parts = []
        for start in range(place, min(len(raw), place + MAX_FRAME), 512):
            try:
                parts.append(decompressor.decompress(raw[start : start + 512]))
            except zstandard.ZstdError:
                break
            if decompressor.eof:
                break
        yield b"".join(parts)
        place = raw.find(ZSTD, place + 1)


def _cells(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every cell of a database, and the words of its full-text indexes."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    for table, sql in tables:
        for row in db.execute(f"SELECT * FROM {table}"):
            for cell in row:
                raw = cell if isinstance(cell, bytes) else str(cell).encode()
                yield f"a row of {table}", raw
                yield from ((f"a compressed cell of {table}", frame) for frame in _frames(raw))
        if "fts5" in (sql or ""):
            db.execute(f"CREATE VIRTUAL TABLE temp.words_of_{table} USING fts5vocab(main, {table}, 'row')")
            for (word,) in db.execute(f"SELECT term FROM temp.words_of_{table}"):
                yield f"a word of {table}", word.encode()
    db.close()


def _terms(text: str, folder: Path) -> list[str]:
    """The search indexes that have words with this beginning, or an n-gram of it, even of deleted documents."""
    found = []
    for layout, field, prefix in ((TEXT, "text", text.lower()), (ngrams.NGRAMS, ngrams.NAME, text.lower()[: ngrams.NGRAM])):
        for index in folder.rglob(layout.folder(Path()).name):
            searcher = tantivy.Index.open(str(index)).searcher()
            if searcher.terms_with_prefix(field, prefix):
                found.append(f"{index.relative_to(folder)}: a term")
    return found

"""The expected result of every fixture: expected.jsonl is the archive after a sync of tests/fixtures/<source>/<case>/home.

In such a home, logs outside their agent's folders are in `named/` and are synced by name. `x.db.sql` is a script that creates
the database `x.db`.

python tests/golden.py --write [SOURCE]     rewrite all of them, or those of one source; read the diff before you commit
"""

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.ingest import sync
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader, archive_path

FIXTURES = Path(__file__).parent / "fixtures"
NAMED = "named"
NOW = 1_780_000_000  # seconds: the file time of every log, for records without a time


def use_utc() -> None:
    """Set this machine's time zone to UTC: some agents write local times without a zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()


def cases() -> list[Path]:
    return sorted(path.parent for path in FIXTURES.glob("*/*/home"))


def lay_out(case: Path, home: Path) -> None:
    """Copy a fixture to a home folder. Every file has the same file time, for records without a time."""
    shutil.copytree(case / "home", home, dirs_exist_ok=True)
    for script in list(home.rglob("*.sql")):
        run(script.with_suffix(""), statements(script.read_text("utf-8")))
        script.unlink()
    for path in home.rglob("*"):
        os.utime(path, (NOW, NOW))


def statements(script: str) -> list[str]:
    """The complete statements of a script."""
    complete, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            complete.append(pending)
            pending = ""
    assert not pending.strip(), f"the script ends inside a statement: {pending}"
    return complete


def run(database: Path, script: list[str]) -> None:
    db = sqlite3.connect(database, isolation_level=None)
    for statement in script:
        db.execute(statement)
    db.close()


def synced_archive(case: Path, folder: Path) -> list[str]:
    """Every session, turn and event of a fixture, one JSON line each, after a sync of its home."""
    home, realm = folder / "home", folder / "realm"
    lay_out(case, home)
    sync(realm, Settings(home=folder), all_sources(), {"HOME": str(home)})
    if (home / NAMED).exists():
        sync(realm, Settings(home=folder), all_sources(), {"HOME": str(home)}, [home / NAMED])
    return list(contents(realm, home))


def contents(realm: Path, home: Path) -> Iterator[str]:
    """The archive of a realm as lines, without the path of the home folder."""
    for line in _contents(realm, home):
        yield line.replace(str(home), "~")


def _contents(realm: Path, home: Path) -> Iterator[str]:
    reader = Reader(archive_path(realm))
    try:
        for session in reader.sessions_overlapping(-(2**62), 2**62, None, newest_first=False, after=None, limit=10_000):
            yield _line(session=_session(reader, session, home))
            for turn in reader.turns(session.key):
                fields = {name: getattr(turn, name) for name in turn.__struct_fields__ if name not in HIDDEN_OF_TURNS}
                yield _line(turn=_if_estimated(fields))
                for event in reader.events_of_turn(session.key, turn.ordinal):
                    fields = {name: getattr(event, name) for name in EVENT_FIELDS}
                    yield _line(event=_if_estimated({"id": event.id.hex(), **fields, "body": event.text()}))
                    for path, operation, added, removed in reader.db.execute(FILES, (event.key,)):
                        yield _line(file={"path": path, "operation": operation, "added": added, "removed": removed})
        for source, reason, count, path, line, excerpt in reader.problems():
            place = str(Path(path).relative_to(home))
            yield _line(
                problem={
                    "source": source,
                    "reason": reason,
                    "count": count,
                    "path": place,
                    "line": line,
                    "excerpt": excerpt,
                }
            )
        for source, covered in reader.coverage().items():
            yield _line(tally={"source": source, "lines": covered["lines"], **dict(sorted(covered["tally"].items()))})
    finally:
        reader.close()


FILES = """
    SELECT file_path.path, operation, added, removed FROM file_change JOIN file_path ON file_path.key = file_change.path
     WHERE event = ? ORDER BY 1, 2"""
HIDDEN_OF_TURNS = {"session", "usage"}  # a key that differs every time; the session has the sum of the usage
EVENT_FIELDS = ("turn", "seq", "kind", "at", "line", "tool", "model", "answers", "exit_code", "failed", "own", "estimated")


def _session(reader: Reader, session: Any, home: Path) -> dict[str, Any]:
    hidden = {"key", "id", "path"}
    fields = {name: getattr(session, name) for name in session.__struct_fields__ if name not in hidden}
    parent = reader.parent(session.id)
    path = str(Path(session.path).relative_to(home))
    return _if_estimated({"id": session.id.hex(), "path": path, "parent": parent.hex() if parent else None, **fields})


def _if_estimated(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, without `estimated` if it is false."""
    return fields if fields["estimated"] else {name: value for name, value in fields.items() if name != "estimated"}


def _line(**record: Any) -> str:
    return json.dumps(record, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", required=True)
    parser.add_argument("source", nargs="?")
    chosen = parser.parse_args().source
    use_utc()
    for case in cases():
        if chosen not in {None, case.parent.name}:
            continue
        with tempfile.TemporaryDirectory() as folder:
            (case / "expected.jsonl").write_text(
                "".join(line + "\n" for line in synced_archive(case, Path(folder))), "utf-8"
            )
        sys.stdout.write(f"{case.relative_to(FIXTURES)}\n")


if __name__ == "__main__":
    main()

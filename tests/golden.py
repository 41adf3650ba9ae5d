"""The expected result of every fixture: tests/fixtures/<source>/<case>/home is synced, expected.jsonl is what it became.

python tests/golden.py --write     write all of them anew; read the diff before you commit it
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.ingest import sync
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader, archive_of

FIXTURES = Path(__file__).parent / "fixtures"


def cases() -> list[Path]:
    return sorted(path.parent for path in FIXTURES.glob("*/*/home"))


def became(case: Path, realm: Path) -> list[str]:
    """Every session, turn and event of a fixture, one JSON line each, after a sync of its home."""
    home = case / "home"
    sync(realm, Settings(home=realm), all_sources(), {"HOME": str(home)})
    return list(contents(realm, home))


def contents(realm: Path, home: Path) -> Iterator[str]:
    reader = Reader(archive_of(realm))
    try:
        for session in reader.window(-(2**62), 2**62, None, newest_first=False, after=None, limit=10_000):
            yield _line(session=_session(reader, session, home))
            for turn in reader.turns(session.key):
                yield _line(turn={name: getattr(turn, name) for name in turn.__struct_fields__ if name != "session"})
                for event in reader.events_of_turn(session.key, turn.ordinal):
                    fields = {name: getattr(event, name) for name in EVENT_FIELDS}
                    yield _line(event={"id": event.id.hex(), **fields, "body": event.text()})
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


EVENT_FIELDS = ("turn", "seq", "kind", "at", "line", "tool", "model", "answers", "exit_code", "failed", "own")


def _session(reader: Reader, session: Any, home: Path) -> dict[str, Any]:
    hidden = {"key", "id", "path"}
    fields = {name: getattr(session, name) for name in session.__struct_fields__ if name not in hidden}
    parent = reader.parent(session.id)
    path = str(Path(session.path).relative_to(home))
    return {"id": session.id.hex(), "path": path, "parent": parent.hex() if parent else None, **fields}


def _line(**record: Any) -> str:
    return json.dumps(record, ensure_ascii=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    for case in cases():
        with tempfile.TemporaryDirectory() as realm:
            (case / "expected.jsonl").write_text("".join(line + "\n" for line in became(case, Path(realm))), "utf-8")
        sys.stdout.write(f"{case.relative_to(FIXTURES)}\n")


if __name__ == "__main__":
    main()

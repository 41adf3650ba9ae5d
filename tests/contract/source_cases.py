"""The fixtures of every source, and a machine on which their logs are written and read."""

import json
import os
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recollect.ingest import Ingester, SyncReport
from recollect.settings import Settings
from recollect.sources import BUILT_IN, Format, Lines, Source, all_sources
from tests.golden import NAMED, NOW, cases, contents, run, statements
from tests.tallies import assert_tallies

LINE = re.compile(rb"[^\n]*\n|[^\n]+")


def parametrize_cases(chosen: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", chosen, ids=lambda case: f"{case.parent.name}/{case.name}")


every_source = pytest.mark.parametrize("source", BUILT_IN, ids=lambda source: source.name)
every_case = parametrize_cases(cases())


class Machine:
    """A home folder to which tests add logs, and the realm that reads it."""

    def __init__(self, folder: Path, sources: tuple[Source, ...]) -> None:
        self.home, self.realm = folder / "home", folder / "realm"
        self.home.mkdir(parents=True)
        self.writes = 0
        self.ingester = Ingester(self.realm, Settings(home=folder), sources, {"HOME": str(self.home)})

    def sync(self) -> SyncReport:
        """Sync the logs in their agents' folders, and the other logs by name."""
        report = self.ingester.sync()
        if (self.home / NAMED).exists():
            named = self.ingester.sync([self.home / NAMED])
            for name in ("files", "files_read", "bytes", "lines", "events", "sessions", "problems"):
                setattr(report, name, getattr(report, name) + getattr(named, name))
            report.unreadable += named.unreadable + named.unrecognised
        return report

    def write(self, log: Path, content: bytes, age: int = NOW) -> None:
        path = self.place_of(log)
        if log.suffix == ".sql":
            path.unlink(missing_ok=True)
            run(path, statements(content.decode()))
        else:
            path.write_bytes(content)
        os.utime(path, (age, age))

    def append(self, log: Path, content: bytes) -> None:
        path = self.place_of(log)
        if log.suffix == ".sql":
            run(path, [content.decode()] if content else [])
        else:
            with path.open("ab") as stream:
                stream.write(content)
        self.writes += 1
        os.utime(path, ns=(NOW * 10**9, NOW * 10**9 + self.writes))  # later, but by less than a millisecond

    def place_of(self, log: Path) -> Path:
        path = self.home / (log.with_suffix("") if log.suffix == ".sql" else log)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def archive(self) -> list[str]:
        """Every session, turn, event and problem, without the counts of lines read."""
        archive = [line for line in contents(self.realm, self.home) if not line.startswith('{"tally"')]
        assert [line for line in archive if "could not be understood" in line] == []
        assert_tallies(self.ingester.archive.db)
        return archive


def source_of(case: Path) -> Source:
    return next(source for source in all_sources() if source.name == case.parent.name)


@cache
def read_at_once(case: Path) -> list[str]:
    with TemporaryDirectory() as folder:
        machine = Machine(Path(folder), (source_of(case),))
        with machine.ingester:
            for log in logs_of(case):
                machine.write(log, (case / "home" / log).read_bytes())
            machine.sync()
            return machine.archive()


def logs_of(case: Path) -> list[Path]:
    """A fixture's files in the order of their first times: an original before its copy, a parent before its child."""
    home = case / "home"
    files = [path.relative_to(home) for path in home.rglob("*") if path.is_file()]
    return sorted(files, key=lambda log: (_first_time(home / log), str(log)))


def _first_time(path: Path) -> str:
    if path.suffix == ".jsonl":
        for line in path.read_bytes().split(b"\n"):
            try:
                return str(json.loads(line)["timestamp"])
            except (ValueError, TypeError, KeyError):
                continue
    return "~"  # sorts after every time


def lines_of(path: Path) -> list[bytes]:
    """The lines of a log with their line ends. A compressed log is one part; a database has its statements."""
    content = path.read_bytes()
    if path.suffix == ".sql":
        return [statement.encode() for statement in statements(content.decode())]
    return [content] if path.suffix == ".zst" else LINE.findall(content)


def expected_archive(case: Path) -> list[str]:
    """The stored expected archive of a fixture."""
    return (case / "expected.jsonl").read_text("utf-8").split("\n")[:-1]


def has_children(case: Path) -> bool:
    return '"parent": "' in (case / "expected.jsonl").read_text("utf-8")


def is_lines(case: Path) -> bool:
    """Whether a fixture consists of logs that only ever grow."""
    return all(format_of(source_of(case), log) is Lines for log in logs_of(case))


def format_of(source: Source, log: Path) -> type[Format] | None:
    """The format in which a source reads a file of this name; the more specific one if two match."""
    formats = [format for format in source.formats if log.name.endswith(format.endings)]
    return type(max(formats, key=lambda format: max(map(len, format.endings)))) if formats else None


def is_database(case: Path) -> bool:
    return any(log.suffix == ".sql" for log in logs_of(case))


def one_per_format(cases_: list[Path]) -> list[Path]:
    """The largest case of every source and format: enough for damage tests; all cases are compared with their archives."""
    largest: dict[tuple[str, frozenset[object]], Path] = {}
    for case in sorted(cases_, key=lambda case: (case / "expected.jsonl").stat().st_size):
        source, logs = source_of(case), logs_of(case)
        largest[source.name, frozenset((format_of(source, log), log.suffix) for log in logs)] = case
    return sorted(largest.values())


only_lines = parametrize_cases([case for case in cases() if is_lines(case)])
only_databases = parametrize_cases([case for case in cases() if is_database(case)])
only_documents = parametrize_cases([case for case in cases() if any(log.suffix == ".json" for log in logs_of(case))])
no_databases = parametrize_cases([case for case in cases() if not is_database(case)])
one_of_each = parametrize_cases(one_per_format(cases()))
with_children = parametrize_cases(one_per_format([case for case in cases() if has_children(case)]))
one_of_each_file = parametrize_cases(one_per_format([case for case in cases() if not is_database(case)]))

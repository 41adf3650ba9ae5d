"""What every source promises, tried on all of its fixtures. A new source brings a folder of them and changes nothing here."""

import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from recollect.ingest import Ingester, Report, sync
from recollect.ingest.discover import recognise
from recollect.settings import Settings
from recollect.sources import BUILT_IN, Format, Lines, Source, all_sources, read_head
from recollect.store import Reader, archive_of
from tests.conftest import Person
from tests.golden import NAMED, NOW, became, cases, contents, lay_out, run, statements
from tests.logs import Claude, append, write

CUTS = 8  # places per log where it is cut; the property tests look for others
SHUFFLES = 2
ODDITIES = 5  # times that a fixture is altered
ODD = [None, True, 0, -1, 1.5, 10**30, "", "odd", "2026-13-99", [], [None], [[]], ["odd"], {}, {"odd": 1}, {"type": "odd"}]
STATES = 8  # of a document on its way
LINE = re.compile(rb"[^\n]*\n|[^\n]+")
AGE = re.compile(rf"\b{NOW // 100}\d\d000\b")  # of a log, in milliseconds
VARIABLES = {"claude-code": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}


def _these(chosen: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", chosen, ids=lambda case: f"{case.parent.name}/{case.name}")


every_source = pytest.mark.parametrize("source", BUILT_IN, ids=lambda source: source.name)
every_case = _these(cases())


class Machine:
    """A home folder that fills up with logs, and the realm that follows it."""

    def __init__(self, folder: Path, sources: tuple[Source, ...]) -> None:
        self.home, self.realm = folder / "home", folder / "realm"
        self.home.mkdir(parents=True)
        self.writes = 0
        self.intake = Ingester(self.realm, Settings(home=folder), sources, {"HOME": str(self.home)})

    def sync(self) -> Report:
        """A sync of what is in its agent's places, and of what is not, by name."""
        report = self.intake.sync()
        if (self.home / NAMED).exists():
            more = self.intake.sync([self.home / NAMED])
            for name in ("files", "files_read", "bytes", "lines", "events", "sessions", "problems"):
                setattr(report, name, getattr(report, name) + getattr(more, name))
            report.unreadable += more.unreadable + more.unrecognised
        return report

    def write(self, log: Path, content: bytes, age: int = NOW) -> None:
        path = self._made(log)
        if log.suffix == ".sql":
            path.unlink(missing_ok=True)
            run(path, statements(content.decode()))
        else:
            path.write_bytes(content)
        os.utime(path, (age, age))

    def append(self, log: Path, content: bytes) -> None:
        path = self._made(log)
        if log.suffix == ".sql":
            run(path, [content.decode()] if content else [])
        else:
            with path.open("ab") as stream:
                stream.write(content)
        self.writes += 1
        os.utime(path, ns=(NOW * 10**9, NOW * 10**9 + self.writes))  # later, though not by a millisecond

    def _made(self, log: Path) -> Path:
        path = self.home / (log.with_suffix("") if log.suffix == ".sql" else log)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def archive(self) -> list[str]:
        """Every session, turn, event and problem, but not how many lines were read to get there."""
        archive = [line for line in contents(self.realm, self.home) if not line.startswith('{"tally"')]
        assert [line for line in archive if "could not be understood" in line] == []
        return archive


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """Of a fixture's own source, whose logs are looked at over and over again; else of all."""
    known = request.getfixturevalue("case") if "case" in request.fixturenames else None
    machine = Machine(tmp_path / "machine", (source_of(known),) if known else all_sources())
    with machine.intake:
        yield machine


def source_of(case: Path) -> Source:
    return next(source for source in all_sources() if source.name == case.parent.name)


@cache
def _whole(case: Path) -> list[str]:
    with TemporaryDirectory() as folder:
        machine = Machine(Path(folder), (source_of(case),))
        with machine.intake:
            for log in logs_of(case):
                machine.write(log, (case / "home" / log).read_bytes())
            machine.sync()
            return machine.archive()


@pytest.fixture
def whole(case: Path) -> list[str]:
    """What a fixture becomes when each of its logs is read in one go."""
    return _whole(case)


def logs_of(case: Path) -> list[Path]:
    """A fixture's files in the order in which they were begun: an original before its copy, a parent before its child."""
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
    """The lines of a log with their ends. A compressed log is never written but whole; a database, by its statements."""
    content = path.read_bytes()
    if path.suffix == ".sql":
        return [statement.encode() for statement in statements(content.decode())]
    return [content] if path.suffix == ".zst" else LINE.findall(content)


def has_children(case: Path) -> bool:
    return '"parent": "' in (case / "expected.jsonl").read_text("utf-8")


def is_lines(case: Path) -> bool:
    """Whether a fixture consists of logs that only ever grow."""
    return all(_format_of(source_of(case), log) is Lines for log in logs_of(case))


def _format_of(source: Source, log: Path) -> type[Format] | None:
    """How a source keeps a file of this name; the more particular format is meant where two would do."""
    formats = [format for format in source.formats if log.name.endswith(format.endings)]
    return type(max(formats, key=lambda format: max(map(len, format.endings)))) if formats else None


def is_database(case: Path) -> bool:
    return any(log.suffix == ".sql" for log in logs_of(case))


only_lines = _these([case for case in cases() if is_lines(case)])
only_databases = _these([case for case in cases() if is_database(case)])
only_documents = _these([case for case in cases() if any(log.suffix == ".json" for log in logs_of(case))])
no_databases = _these([case for case in cases() if not is_database(case)])


# ---- what it becomes


@every_source
def test_every_source_has_fixtures(source: Source) -> None:
    assert [case for case in cases() if case.parent.name == source.name]


def test_every_fixture_is_of_a_source_that_exists() -> None:
    assert {case.parent.name for case in cases()} <= {source.name for source in all_sources()}


@every_case
def test_a_fixture_becomes_what_was_expected(case: Path, tmp_path: Path) -> None:
    assert became(case, tmp_path) == (case / "expected.jsonl").read_text("utf-8").split("\n")[:-1]


@every_case
def test_a_fixture_has_the_events_of_its_own_source_only(case: Path, tmp_path: Path) -> None:
    became(case, tmp_path)
    reader = Reader(archive_of(tmp_path / "realm"))
    assert set(reader.counts()) == {case.parent.name}
    reader.close()


# ---- whose it is


@every_case
def test_the_logs_of_a_fixture_are_recognised_wherever_they_lie(case: Path, tmp_path: Path) -> None:
    lay_out(case, tmp_path / "home")
    taken = {path: recognise(read_head(path), all_sources()) for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert case.parent.name in {whose[0].name for whose in taken.values() if whose}
    assert {whose[0].name for whose in taken.values() if whose} <= {case.parent.name}


# ---- ids


@every_case
def test_ids_do_not_depend_on_where_the_home_folder_is(case: Path, tmp_path: Path) -> None:
    assert became(case, tmp_path / "elsewhere" / "deeper") == became(case, tmp_path)


@every_case
def test_reading_everything_again_gives_the_same_ids(case: Path, machine: Machine, whole: list[str]) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    machine.sync()
    machine.intake.archive.drop_cursors()
    again = machine.sync()
    assert again.bytes > 0
    assert machine.archive() == whole


# ---- pieces


@every_case
def test_a_second_sync_reads_nothing_and_writes_nothing(case: Path, machine: Machine) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    first = machine.sync()
    changes = machine.intake.archive.db.total_changes
    second = machine.sync()
    assert first.bytes > 0
    assert second.files >= first.files  # now that it knows a project's folder, it may look there too
    assert (second.files_read, second.bytes, second.events) == (0, 0, 0)
    assert machine.intake.archive.db.total_changes == changes


@every_case
def test_a_log_that_grows_line_by_line_is_the_same_as_one_read_whole(case: Path, machine: Machine, whole: list[str]) -> None:
    for log in logs_of(case):
        for line in lines_of(case / "home" / log):
            machine.append(log, line)
            machine.sync()
    assert machine.archive() == whole


@only_lines
def test_a_log_that_is_read_while_its_lines_are_being_written_is_the_same(
    case: Path, machine: Machine, whole: list[str]
) -> None:
    for log in logs_of(case):
        for line in lines_of(case / "home" / log):
            size = len(line)
            cuts = {0, size} if log.suffix == ".zst" else {0, size // 2, max(size - 10, size // 2), size - 1, size}
            for start, end in pairwise(sorted(cuts)):
                machine.append(log, line[start:end])
                machine.sync()
    assert machine.archive() == whole


@_these([case for case in cases() if not (case / "home" / NAMED).exists()])
def test_a_log_that_is_named_as_changed_is_read(case: Path, machine: Machine, whole: list[str]) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    machine.intake.sync_changed(path for path in machine.home.rglob("*") if path.is_file())
    assert machine.archive() == whole


@no_databases
@pytest.mark.parametrize("seen", [0, -20], ids=["empty", "nearly whole"])
def test_a_log_whose_first_line_was_still_being_written_is_the_same(
    case: Path, seen: int, machine: Machine, whole: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        machine.write(log, lines_of(case / "home" / log)[0][:seen])
        machine.sync()
        machine.write(log, content)
        machine.sync()
    assert machine.archive() == whole


@_these([case for case in cases() if has_children(case)])
def test_a_parent_and_its_children_may_grow_side_by_side(case: Path, machine: Machine, whole: list[str]) -> None:
    logs = logs_of(case)
    for lines in zip_longest(*(lines_of(case / "home" / log) for log in logs), fillvalue=b""):
        for log, line in zip(logs, lines, strict=True):
            machine.append(log, line)
            machine.sync()
    assert machine.archive() == whole


@_these([case for case in cases() if has_children(case)])
@pytest.mark.parametrize("lines", [1, 3, 5])
def test_children_may_come_after_any_line_of_their_parent(
    case: Path, lines: int, machine: Machine, whole: list[str]
) -> None:
    parent, *children = logs_of(case)
    written = lines_of(case / "home" / parent)
    for part in (written[:lines], written[lines:]):
        for line in part:
            machine.append(parent, line)
            machine.sync()
        for child in children:
            machine.write(child, (case / "home" / child).read_bytes())
        machine.sync()
    assert machine.archive() == whole


@_these([case for case in cases() if len(logs_of(case)) > 1])
def test_it_does_not_matter_which_log_was_written_last(case: Path, machine: Machine, whole: list[str]) -> None:
    for age, log in enumerate(reversed(logs_of(case))):
        machine.write(log, (case / "home" / log).read_bytes(), NOW + age)
    machine.sync()
    # A record without a time has the age of its log, which is all that may differ.
    aged, same = (sorted(AGE.sub(f"{NOW}000", line) for line in lines) for lines in (machine.archive(), whole))
    assert aged == same


def test_a_session_that_another_log_named_keeps_its_name_when_it_goes_on(person: Person) -> None:
    claude = Claude()
    records = [claude.prompt("first words"), claude.says("answer"), claude.prompt("more"), claude.says("more")]
    naming = {"type": "summary", "summary": "The name", "leafUuid": records[1]["uuid"]}
    write(person.claude_log("22222222-2222-4222-8222-222222222222"), [naming])
    log = person.claude_log(claude.session)
    for record in records:
        append(log, record)
        person.sync()
    assert '"title": "The name"' in "\n".join(contents(person.realm, person.home))


def test_a_title_that_is_overwritten_in_place_is_read_again(machine: Machine) -> None:
    case = next(case for case in cases() if (case.parent.name, case.name) == ("omp", "steered_and_ended"))
    (log,) = logs_of(case)
    content = (case / "home" / log).read_bytes()
    machine.write(log, content)
    machine.sync()
    before = machine.archive()
    machine.write(log, content.replace(b'"Ring the owls","source":"auto"', b'"Owls in gloves","source":"user"', 1))
    machine.sync()
    assert [line.replace("Owls in gloves", "Ring the owls") for line in machine.archive()][1:] == before[1:]
    assert '"title": "Owls in gloves"' in machine.archive()[0]


# ---- damage


@no_databases
def test_a_log_cut_anywhere_never_raises_and_heals_when_it_is_whole_again(
    case: Path, machine: Machine, whole: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        for cut in (*random.Random(case.name).choices(range(len(content)), k=CUTS), None):
            machine.write(log, content[:cut])
            machine.sync()
    assert machine.archive() == whole


@only_lines
def test_a_log_that_was_replaced_by_a_longer_one_is_read_anew(case: Path, machine: Machine, whole: list[str]) -> None:
    for log in logs_of(case):
        lines = lines_of(case / "home" / log)
        machine.write(log, b"".join(lines[:1] + lines[2:-1]))
        machine.sync()
        machine.write(log, b"".join(lines))
        machine.sync()
    assert machine.archive() == whole


@pytest.mark.parametrize(  # a log that is only known by its content is none with rubbish in it
    "name", sorted({case.parent.name for case in cases() if is_lines(case) and not (case / "home" / "named").exists()})
)
def test_rubbish_behind_a_record_does_not_cost_the_record(name: str, machine: Machine) -> None:
    case = next(case for case in cases() if case.parent.name == name and len(logs_of(case)) == 1)
    (log,) = logs_of(case)
    machine.write(log, (case / "home" / log).read_bytes().replace(b"\n", b" and rubbish\n"))
    machine.sync()
    *stored, problem = machine.archive()
    assert [_body(line) for line in stored] == [_body(line) for line in _whole(case)]
    assert "not JSON" in problem


def _body(line: str) -> str | None:
    return json.loads(line).get("event", {}).get("body")


@no_databases
@pytest.mark.parametrize("seed", range(SHUFFLES))
def test_shuffled_lines_never_raise(case: Path, machine: Machine, seed: int) -> None:
    chance = random.Random(seed)
    for log in logs_of(case):
        lines = lines_of(case / "home" / log)
        chance.shuffle(lines)
        machine.write(log, b"".join(lines))
    report = machine.sync()
    assert report.lines > 0 or report.unreadable or report.problems
    machine.archive()


@every_case
@pytest.mark.parametrize("seed", range(SHUFFLES))
def test_junk_between_the_bytes_never_raises(case: Path, machine: Machine, seed: int) -> None:
    chance = random.Random(seed)
    lay_out(case, machine.home)
    for path in sorted(path for path in machine.home.rglob("*") if path.is_file()):
        content = bytearray(path.read_bytes())
        for _ in range(30):
            place = chance.randrange(len(content))
            content[place : place + chance.randrange(4)] = chance.randbytes(chance.randrange(6))
        path.write_bytes(bytes(content))
    machine.sync()
    machine.archive()


@every_case
def test_odd_values_anywhere_never_raise(case: Path, machine: Machine) -> None:
    """Every value of a record may be of another type tomorrow."""
    chance = random.Random(case.name)
    for _ in range(ODDITIES):
        for log in logs_of(case):
            content = (case / "home" / log).read_bytes()
            machine.write(log, content)
            if log.suffix == ".sql":
                _make_odd(machine._made(log), chance)
            else:
                machine.write(log, _odd(content, chance))
        machine.sync()
    machine.archive()


def _odd(content: bytes, chance: random.Random) -> bytes:
    """A document, or lines, with some values replaced by others of any type."""
    try:
        return json.dumps(_altered(json.loads(content), chance)).encode()
    except ValueError:
        pass
    lines = []
    for line in content.split(b"\n"):
        try:
            lines.append(json.dumps(_altered(json.loads(line), chance)).encode())
        except ValueError:
            lines.append(line)
    return b"\n".join(lines)


def _altered(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {name: _altered(item, chance) for name, item in value.items()}
    return [_altered(item, chance) for item in value] if isinstance(value, list) else value


def _make_odd(database: Path, chance: random.Random) -> None:
    """Change some cells of a database: JSON in them from within, others as a whole."""
    db = sqlite3.connect(database, isolation_level=None)
    db.execute("PRAGMA ignore_check_constraints = ON")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT NULL")]
    for table in tables:
        columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
        for row in db.execute(f'SELECT rowid, * FROM "{table}"').fetchall():
            for column, cell in zip(columns, row[1:], strict=True):
                odd = _odd_cell(cell, chance)
                if odd != cell:
                    with suppress(sqlite3.IntegrityError):  # a key that must be a number
                        db.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE rowid = ?', (odd, row[0]))
    db.close()


def _odd_cell(cell: Any, chance: random.Random) -> Any:
    if chance.random() < 0.02:
        return chance.choice([0, -1, 1.5, "", "odd", b"\xff\x00"])
    if isinstance(cell, str) and cell.startswith(("{", "[")):
        return _odd(cell.encode(), chance).decode()
    return cell


@only_databases
def test_a_database_cut_anywhere_never_raises_and_heals_when_it_is_whole_again(
    case: Path, machine: Machine, whole: list[str]
) -> None:
    lay_out(case, machine.home)
    for path in [machine.home / log.with_suffix("") for log in logs_of(case) if log.suffix == ".sql"]:
        content = path.read_bytes()
        for cut in (*random.Random(case.name).choices(range(len(content)), k=CUTS), None):
            path.write_bytes(content[:cut])
            os.utime(path, (NOW, NOW))
            machine.sync()
    assert machine.archive() == whole


# ---- what is rewritten


@only_documents
def test_a_document_that_is_written_anew_with_every_step_is_the_same_as_one_read_whole(
    case: Path, machine: Machine, whole: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        for state in (*_states(content), content) if log.suffix == ".json" else [content]:
            machine.write(log, state)
            machine.sync()
    assert machine.archive() == whole


def _states(content: bytes) -> list[bytes]:
    """A document on its way: with more and more of its longest list."""
    try:
        document = json.loads(content)
    except ValueError:
        return []
    longest = max(_lists(document), key=len, default=[])
    items = longest[:]
    states = []
    for size in range(1, len(items)):
        longest[:] = items[:size]
        states.append(json.dumps(document).encode())
    return states[:: max(1, len(states) // STATES)]


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        if any(isinstance(item, dict) for item in value):
            yield value
        for item in value:
            yield from _lists(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _lists(item)


@only_databases
def test_a_database_in_use_is_read_with_its_write_ahead_log(case: Path, machine: Machine, whole: list[str]) -> None:
    """Its owner has it open all the while, and has checkpointed nothing."""
    owners = []
    for log in logs_of(case):
        if log.suffix != ".sql":
            machine.write(log, (case / "home" / log).read_bytes())
            continue
        path = machine._made(log)
        owner = sqlite3.connect(path, isolation_level=None)
        owners.append(owner)
        owner.execute("PRAGMA journal_mode = WAL")
        owner.execute("PRAGMA wal_autocheckpoint = 0")
        for statement in statements((case / "home" / log).read_text("utf-8")):
            owner.execute(statement)
            machine.sync()
        for part in path.parent.glob(f"{path.name}*"):
            os.utime(part, (NOW, NOW))
    machine.sync()
    assert machine.archive() == whole
    for owner in owners:
        owner.close()


@every_case
def test_a_log_that_was_deleted_leaves_its_sessions(case: Path, machine: Machine, whole: list[str]) -> None:
    lay_out(case, machine.home)
    machine.sync()
    for path in sorted(path for path in machine.home.rglob("*") if path.is_file()):
        path.unlink()
    machine.sync()
    assert machine.archive() == whole


# ---- homes


@every_source
def test_logs_are_looked_for_under_home(source: Source) -> None:
    assert all(home.is_relative_to("/somebody") for home in source.homes({"HOME": "/somebody"}))


@pytest.mark.parametrize("name", VARIABLES)
def test_an_agent_that_was_told_to_live_elsewhere_is_found_there(name: str, tmp_path: Path) -> None:
    variable, usual = VARIABLES[name]
    case = next(case for case in cases() if case.parent.name == name and case.name == "plain_turns")
    shutil.copytree(case / "home" / usual, tmp_path / "elsewhere")
    (tmp_path / "home").mkdir()
    env = {"HOME": str(tmp_path / "home"), variable: str(tmp_path / "elsewhere")}
    report = sync(tmp_path / "realm", Settings(home=tmp_path), all_sources(), env)
    assert (report.files, report.sessions) == (1, 1)


def test_claude_code_may_have_several_homes(tmp_path: Path) -> None:
    both = [case for case in cases() if case.parent.name == "claude-code"][:2]
    folders = ",".join(str(case / "home" / ".claude") for case in both)
    files = sum(len(list(case.rglob("projects/*/*.jsonl"))) for case in both)
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": folders}
    assert sync(tmp_path / "realm", Settings(home=tmp_path), all_sources(), env).files == files

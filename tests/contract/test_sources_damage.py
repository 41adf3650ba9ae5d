"""Damaged logs never raise, and are read completely as soon as their files are complete."""

import json
import os
import random
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.contract.source_cases import (
    Machine,
    is_lines,
    lines_of,
    logs_of,
    no_databases,
    one_of_each,
    one_of_each_file,
    only_databases,
    only_lines,
    read_at_once,
)
from tests.golden import NOW, cases, lay_out

CUTS = 8  # places per log where it is cut; the property tests cut elsewhere
SHUFFLES = 2
ODDITIES = 5  # times that a fixture is altered
ODD: list[Any] = [
    None, True, 0, -1, 1.5, 10**30, "", "odd", "2026-13-99", [], [None], [[]], ["odd"], {}, {"odd": 1}, {"type": "odd"},
]  # fmt: skip


@no_databases
def test_a_log_truncated_anywhere_never_raises_and_recovers_when_it_is_complete_again(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        for cut in (*random.Random(case.name).choices(range(len(content)), k=CUTS), None):
            machine.write(log, content[:cut])
            machine.sync()
    assert machine.archive() == archive_read_at_once


@only_lines
def test_a_log_that_was_replaced_by_a_longer_one_is_read_again(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        lines = lines_of(case / "home" / log)
        machine.write(log, b"".join(lines[:1] + lines[2:-1]))
        machine.sync()
        machine.write(log, b"".join(lines))
        machine.sync()
    assert machine.archive() == archive_read_at_once


@pytest.mark.parametrize(  # a log that is recognised only by its content is not recognised with rubbish in it
    "name", sorted({case.parent.name for case in cases() if is_lines(case) and not (case / "home" / "named").exists()})
)
def test_rubbish_after_a_record_does_not_lose_the_record(name: str, machine: Machine) -> None:
    case = next(case for case in cases() if case.parent.name == name and len(logs_of(case)) == 1)
    (log,) = logs_of(case)
    machine.write(log, (case / "home" / log).read_bytes().replace(b"\n", b" and rubbish\n"))
    machine.sync()
    *stored, problem = machine.archive()
    assert [_body(line) for line in stored] == [_body(line) for line in read_at_once(case)]
    assert "not JSON" in problem


def _body(line: str) -> str | None:
    body: str | None = json.loads(line).get("event", {}).get("body")
    return body


@one_of_each_file
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


@one_of_each
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


@one_of_each
def test_odd_values_anywhere_never_raise(case: Path, machine: Machine) -> None:
    """Every value of a record may have another type in a later version."""
    chance = random.Random(case.name)
    for _ in range(ODDITIES):
        for log in logs_of(case):
            content = (case / "home" / log).read_bytes()
            machine.write(log, content)
            if log.suffix == ".sql":
                _make_odd(machine.place_of(log), chance)
            else:
                machine.write(log, _odd(content, chance))
        machine.sync()
    machine.archive()


def _odd(content: bytes, chance: random.Random) -> bytes:
    """A document or lines, with some values replaced by values of any type."""
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
    """Change some cells of a database: values inside JSON cells, and other cells completely."""
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
def test_a_database_truncated_anywhere_never_raises_and_recovers_when_it_is_complete_again(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    lay_out(case, machine.home)
    for path in [machine.home / log.with_suffix("") for log in logs_of(case) if log.suffix == ".sql"]:
        content = path.read_bytes()
        for cut in (*random.Random(case.name).choices(range(len(content)), k=CUTS), None):
            path.write_bytes(content[:cut])
            os.utime(path, (NOW, NOW))
            machine.sync()
    assert machine.archive() == archive_read_at_once

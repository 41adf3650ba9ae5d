"""Logs that are read while they grow or are rewritten give the same archive as logs that are read at once."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.source_cases import (
    Machine,
    every_case,
    lines_of,
    logs_of,
    one_of_each_file,
    only_databases,
    only_documents,
    only_lines,
    parametrize_cases,
    with_children,
)
from tests.golden import NAMED, NOW, cases, contents, lay_out, statements
from tests.logs import Claude, append, write

STATES = 8  # versions of a growing document
AGE = re.compile(rf"\b{NOW // 100}\d\d000\b")  # of a log, in milliseconds


# ---- pieces


@every_case
def test_a_second_sync_reads_nothing_and_writes_nothing(case: Path, machine: Machine) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    first = machine.sync()
    changes = machine.ingester.archive.db.total_changes
    second = machine.sync()
    assert first.bytes > 0
    assert second.files >= first.files  # it now knows a project's folder, so it may look there too
    assert (second.files_read, second.bytes, second.events) == (0, 0, 0)
    assert machine.ingester.archive.db.total_changes == changes


@every_case
def test_a_log_that_grows_line_by_line_gives_the_same_as_one_read_at_once(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        for line in lines_of(case / "home" / log):
            machine.append(log, line)
            machine.sync()
    assert machine.archive() == archive_read_at_once


@only_lines
def test_a_log_that_is_read_while_its_lines_are_written_gives_the_same(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        for line in lines_of(case / "home" / log):
            size = len(line)
            cuts = {0, size} if log.suffix == ".zst" else {0, size // 2, max(size - 10, size // 2), size - 1, size}
            for start, end in pairwise(sorted(cuts)):
                machine.append(log, line[start:end])
                machine.sync()
    assert machine.archive() == archive_read_at_once


@parametrize_cases([case for case in cases() if not (case / "home" / NAMED).exists()])
def test_a_log_that_is_named_as_changed_is_read(case: Path, machine: Machine, archive_read_at_once: list[str]) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    machine.ingester.sync_changed(path for path in machine.home.rglob("*") if path.is_file())
    assert machine.archive() == archive_read_at_once


@one_of_each_file
@pytest.mark.parametrize("length", [0, -20], ids=["empty", "nearly whole"])
def test_a_log_that_is_read_before_its_first_line_is_complete_gives_the_same(
    case: Path, length: int, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        machine.write(log, lines_of(case / "home" / log)[0][:length])
        machine.sync()
        machine.write(log, content)
        machine.sync()
    assert machine.archive() == archive_read_at_once


@with_children
def test_a_parent_and_its_children_may_grow_side_by_side(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    logs = logs_of(case)
    for lines in zip_longest(*(lines_of(case / "home" / log) for log in logs), fillvalue=b""):
        for log, line in zip(logs, lines, strict=True):
            machine.append(log, line)
            machine.sync()
    assert machine.archive() == archive_read_at_once


@with_children
@pytest.mark.parametrize("lines", [1, 3, 5])
def test_children_may_come_after_any_line_of_their_parent(
    case: Path, lines: int, machine: Machine, archive_read_at_once: list[str]
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
    assert machine.archive() == archive_read_at_once


@parametrize_cases([case for case in cases() if len(logs_of(case)) > 1])
def test_it_does_not_matter_which_log_was_written_last(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for age, log in enumerate(reversed(logs_of(case))):
        machine.write(log, (case / "home" / log).read_bytes(), NOW + age)
    machine.sync()
    # A record without a time has the file time of its log; only that may differ.
    aged, same = (
        sorted(AGE.sub(f"{NOW}000", line) for line in lines) for lines in (machine.archive(), archive_read_at_once)
    )
    assert aged == same


def test_a_session_that_another_log_titled_keeps_its_title_when_it_grows(person: Person) -> None:
    claude = Claude()
    records = [claude.prompt("first words"), claude.says("answer"), claude.prompt("more"), claude.says("more")]
    naming = {"type": "summary", "summary": "The name", "leafUuid": records[1]["uuid"]}
    write(person.claude_log("22222222-2222-4222-8222-222222222222"), [naming])
    log = person.claude_log(claude.session)
    for record in records:
        append(log, record)
        person.sync()
    assert '"title": "The name"' in "\n".join(contents(person.realm, person.home))


def test_a_title_that_is_overwritten_in_the_file_is_read_again(machine: Machine) -> None:
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


# ---- rewritten logs


@only_documents
def test_a_document_that_is_rewritten_at_every_step_gives_the_same_as_one_read_at_once(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    for log in logs_of(case):
        content = (case / "home" / log).read_bytes()
        for state in (*_states(content), content) if log.suffix == ".json" else [content]:
            machine.write(log, state)
            machine.sync()
    assert machine.archive() == archive_read_at_once


def _states(content: bytes) -> list[bytes]:
    """The versions of a growing document, with more and more of its longest list."""
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
def test_a_database_in_use_is_read_with_its_write_ahead_log(
    case: Path, machine: Machine, archive_read_at_once: list[str]
) -> None:
    """Its owner still has it open and has not checkpointed it."""
    owners = []
    for log in logs_of(case):
        if log.suffix != ".sql":
            machine.write(log, (case / "home" / log).read_bytes())
            continue
        path = machine.place_of(log)
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
    assert machine.archive() == archive_read_at_once
    for owner in owners:
        owner.close()


@every_case
def test_the_sessions_of_a_deleted_log_stay(case: Path, machine: Machine, archive_read_at_once: list[str]) -> None:
    lay_out(case, machine.home)
    machine.sync()
    for path in sorted(path for path in machine.home.rglob("*") if path.is_file()):
        path.unlink()
    machine.sync()
    assert machine.archive() == archive_read_at_once

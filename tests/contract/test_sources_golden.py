"""The fixtures of every source give the expected archive and ids, and are found in their folders.

A new source brings a folder of fixtures and changes nothing here.
"""

import shutil
from pathlib import Path

import pytest

from recollect.ingest import sync
from recollect.ingest.discover import recognise
from recollect.settings import Settings
from recollect.sources import Source, all_sources, read_head
from recollect.store import Reader, archive_path
from tests.contract.source_cases import Machine, every_case, every_source, expected_archive, logs_of
from tests.golden import cases, lay_out, synced_archive

VARIABLES = {"claude-code": ("CLAUDE_CONFIG_DIR", ".claude"), "codex": ("CODEX_HOME", ".codex")}


# ---- archives


@every_source
def test_every_source_has_fixtures(source: Source) -> None:
    assert [case for case in cases() if case.parent.name == source.name]


def test_every_fixture_belongs_to_an_existing_source() -> None:
    assert {case.parent.name for case in cases()} <= {source.name for source in all_sources()}


@every_case
def test_a_fixture_gives_the_expected_archive_with_events_of_its_own_source_only(case: Path, tmp_path: Path) -> None:
    assert synced_archive(case, tmp_path) == expected_archive(case)
    reader = Reader(archive_path(tmp_path / "realm"))
    assert set(reader.counts()) == {case.parent.name}
    reader.close()


# ---- recognition


@every_case
def test_the_logs_of_a_fixture_are_recognised_in_any_folder(case: Path, tmp_path: Path) -> None:
    lay_out(case, tmp_path / "home")
    taken = {path: recognise(read_head(path), all_sources()) for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert case.parent.name in {whose[0].name for whose in taken.values() if whose}
    assert {whose[0].name for whose in taken.values() if whose} <= {case.parent.name}


# ---- ids


@every_case
def test_ids_do_not_depend_on_where_the_home_folder_is(case: Path, tmp_path: Path) -> None:
    assert synced_archive(case, tmp_path / "elsewhere" / "deeper") == expected_archive(case)


@every_case
def test_reading_everything_again_gives_the_same_ids(case: Path, machine: Machine, archive_read_at_once: list[str]) -> None:
    for log in logs_of(case):
        machine.write(log, (case / "home" / log).read_bytes())
    machine.sync()
    machine.ingester.archive.drop_cursors()
    again = machine.sync()
    assert again.bytes > 0
    assert machine.archive() == archive_read_at_once


# ---- homes


@every_source
def test_logs_are_looked_for_under_home(source: Source) -> None:
    assert all(home.is_relative_to("/somebody") for home in source.homes({"HOME": "/somebody"}))


@pytest.mark.parametrize("name", VARIABLES)
def test_an_agent_with_a_configured_folder_is_found_there(name: str, tmp_path: Path) -> None:
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

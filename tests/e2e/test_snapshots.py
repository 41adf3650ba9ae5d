"""Documents that are rewritten and databases in use: read when they change and only then, leaving no files beside them."""

import json
import os
import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from recollect.ingest import Ingester
from recollect.sources import all_sources
from recollect.store import Reader, archive_path
from tests.conftest import Person
from tests.e2e.archives import archived, events, found, sessions, texts, undisturbed
from tests.e2e.crush_database import SCHEMA, Crush
from tests.e2e.processes import until, watching
from tests.logs import Claude, write


@pytest.fixture
def crush(person: Person) -> Iterator[Crush]:
    owner = Crush(person.home / "harbour" / ".crush" / "crush.db")
    _list_projects(person, owner.path.parent)
    yield owner
    owner.kill()


def _list_projects(person: Person, *folders: Path) -> None:
    listed = person.home / ".local/share/crush/projects.json"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(json.dumps({"projects": [{"path": str(it.parent), "data_dir": str(it)} for it in folders]}))


def traces(folder: Path) -> dict[str, tuple[int, int, str]]:
    """The names, sizes, dates and contents of a folder, which a reader must not change."""
    return {
        path.name: (path.stat().st_size, path.stat().st_mtime_ns, blake2b(path.read_bytes()).hexdigest())
        for path in folder.iterdir()
    }


def problems(person: Person) -> list[str]:
    return [problem["reason"] for problem in person.json("doctor")["problems"]]


# ---- databases: no trace, no wait


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_reading_a_database_in_use_leaves_no_file_beside_it(person: Person, journal: str) -> None:
    owner = Crush(person.home / "harbour" / ".crush" / "crush.db", journal)
    _list_projects(person, owner.path.parent)
    owner.begins()
    owner.says("where is the pilot boat")
    before = traces(owner.path.parent)
    person.sync()
    assert texts(person) == ["where is the pilot boat"]
    assert traces(owner.path.parent) == before
    owner.kill()


def test_a_database_whose_owner_died_is_read_with_its_write_ahead_log_and_unchanged(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("only in the log of writes")
    crush.kill()
    before = traces(crush.path.parent)
    assert set(before) == {"crush.db", "crush.db-wal", "crush.db-shm"}
    person.sync()
    assert texts(person) == ["only in the log of writes"]
    assert traces(crush.path.parent) == before


def test_a_copied_database_without_the_index_of_its_write_ahead_log_is_read(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("only in the log of writes")
    crush.kill()
    crush.path.with_name("crush.db-shm").unlink()
    before = traces(crush.path.parent)
    person.sync()
    assert texts(person) == ["only in the log of writes"]
    assert traces(crush.path.parent) == before


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_an_owner_can_write_while_its_database_is_read(person: Person, journal: str) -> None:
    owner = Crush(person.home / "harbour" / ".crush" / "crush.db", journal)
    _list_projects(person, owner.path.parent)
    owner.begins()
    owner.says("first")
    with Ingester(person.realm, person.settings(), all_sources(), person.env) as intake:
        for number in range(20):
            intake.sync()
            assert "database is locked" not in owner.do(f"UPDATE sessions SET cost = {number} WHERE id = 's-1'")
        owner.says("last")
        intake.sync()
    assert texts(person) == ["first", "last"]
    owner.kill()


def test_uncommitted_rows_are_not_read(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("committed")
    crush.do("BEGIN IMMEDIATE")
    crush.says("not yet")
    person.sync()
    assert texts(person) == ["committed"]
    crush.do("COMMIT")
    person.sync()
    assert texts(person) == ["committed", "not yet"]


# ---- databases: what can be wrong with one


@pytest.fixture
def beside(person: Person) -> Claude:
    """A log of another agent, which must be read whatever happens to the database."""
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("meanwhile")])
    return claude


def test_a_locked_database_is_reported_and_read_later(person: Person, crush: Crush, beside: Claude) -> None:
    crush.begins()
    crush.says("behind a lock")
    crush.do("PRAGMA locking_mode = EXCLUSIVE")
    crush.do("BEGIN EXCLUSIVE")
    person.sync()
    assert texts(person) == ["meanwhile"]
    assert problems(person) == ["is locked by the agent that writes it"]
    crush.do("COMMIT")
    crush.close()
    person.sync()
    assert sorted(texts(person)) == ["behind a lock", "meanwhile"]
    assert problems(person) == []


@pytest.mark.parametrize("garbage", [b"not a database at all" * 400, b"SQLite format 3\0" + b"\xff" * 8_000])
def test_a_damaged_database_is_reported_and_its_stored_events_stay(
    person: Person, crush: Crush, beside: Claude, garbage: bytes
) -> None:
    crush.begins()
    crush.says("before the damage")
    crush.close()
    person.sync()
    crush.path.write_bytes(garbage)
    person.sync()
    assert sorted(texts(person)) == ["before the damage", "meanwhile"]
    assert problems(person) == ["is damaged: not a valid SQLite database"]
    assert person.sync().files_read == 0  # until it changes


def test_an_unknown_schema_is_reported(person: Person, crush: Crush, beside: Claude) -> None:
    crush.do("ALTER TABLE sessions RENAME COLUMN message_count TO number_of_messages")
    person.sync()
    assert texts(person) == ["meanwhile"]
    (problem,) = problems(person)
    assert problem.startswith("has a schema that is not known: no such column: message_count")


def test_a_database_with_more_columns_than_are_known_is_read(person: Person, crush: Crush) -> None:
    crush.do("ALTER TABLE messages ADD COLUMN mood TEXT")
    crush.do("ALTER TABLE sessions DROP COLUMN summary_message_id")
    crush.do("INSERT INTO sessions VALUES ('s-1', NULL, 'Later', 1, 0, 0, 0.0, 1755600000, 1755600000)")
    part = '[{"type":"text","data":{"text":"from the future"}}]'
    crush.do(f"INSERT INTO messages VALUES ('m-1', 's-1', 'user', '{part}', '', 1, 1, NULL, NULL, 'calm')")
    person.sync()
    assert texts(person) == ["from the future"]


# ---- databases: no more work than needed


def test_only_the_sessions_of_a_database_that_changed_are_read(person: Person, crush: Crush) -> None:
    for number in range(30):
        crush.begins(f"s-{number}")
        crush.says(f"prompt {number}", f"s-{number}")
    assert (person.sync().lines, person.sync().files_read) == (60, 0)
    crush.says("one more", "s-7")
    again = person.sync()
    assert (again.files_read, again.lines, again.events) == (1, 3, 1)


def test_a_checkpoint_changes_files_but_no_session(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("said once")
    person.sync()
    crush.do("PRAGMA wal_checkpoint(TRUNCATE)")
    again = person.sync()
    assert (again.files_read, again.lines, again.events) == (1, 0, 0)


def test_a_message_that_grows_within_one_second_is_noticed(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("h", role="assistant")
    person.sync()
    crush.do("""UPDATE messages SET parts = '[{"type":"text","data":{"text":"hoopoe"}}]' WHERE id = 'm-1'""")
    person.sync()
    assert texts(person) == ["hoopoe"]
    assert len(found(person, "hoopoe")) == 1


def test_a_session_deleted_from_a_database_stays(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("do not forget me")
    person.sync()
    crush.do("DELETE FROM messages")
    crush.do("DELETE FROM sessions")
    person.sync()
    assert texts(person) == ["do not forget me"]


def test_databases_in_the_folders_where_agents_worked_are_found(person: Person, tmp_path: Path) -> None:
    said = Claude(cwd=str(tmp_path / "harbour"))
    write(person.claude_log(said.session), [said.prompt("in the harbour")])
    owner = Crush(tmp_path / "harbour" / ".crush" / "crush.db")
    owner.begins()
    owner.says("in the same harbour")
    person.sync()
    person.sync()
    assert sorted(texts(person)) == ["in the harbour", "in the same harbour"]
    owner.kill()


# ---- documents


def gemini(person: Person, session: str, *messages: dict[str, Any], project: str = "harbour") -> Path:
    path = person.home / ".gemini/tmp" / project / "chats" / f"session-2026-01-10T20-00-{session}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"sessionId": session, "projectHash": "ab", "startTime": "2026-01-10T20:00:00.000Z", "messages": messages}
    path.write_text(json.dumps(document))
    return path


def message(number: int, text: str, kind: str = "user", **more: Any) -> dict[str, Any]:
    stamp = f"2026-01-10T20:{number // 60:02d}:{number % 60:02d}.000Z"
    return {"id": f"m{number}", "timestamp": stamp, "type": kind, "content": text, **more}


def test_only_what_changed_in_a_document_is_written(person: Person) -> None:
    messages = [message(number, f"prompt {number}") for number in range(200)]
    gemini(person, "one", *messages)
    person.sync()
    keys = {event.key for event in events(person)}
    messages[100]["content"] = "something else"
    gemini(person, "one", *messages, message(200, "prompt 200"))
    assert person.sync().events == 2
    now = {event.key for event in events(person)}
    assert (len(now - keys), len(keys - now)) == (2, 1)
    assert archived(person) == undisturbed(person)


def test_a_document_rewritten_with_the_same_content_changes_nothing(person: Person) -> None:
    path = gemini(person, "one", message(1, "still here"))
    person.sync()
    with Ingester(person.realm, person.settings(), all_sources(), person.env) as intake:
        os.utime(path, ns=(1, 1))
        before = intake.archive.db.total_changes
        report = intake.sync()
        assert (report.files_read, report.events) == (1, 0)
        assert intake.archive.db.total_changes - before == 1  # its cursor


def test_an_incomplete_document_is_reported_and_its_stored_events_stay(person: Person) -> None:
    path = gemini(person, "one", message(1, "whole"))
    gemini(person, "two", message(1, "beside"))
    person.sync()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    person.sync()
    assert sorted(texts(person)) == ["beside", "whole"]
    assert problems(person) == ["not JSON, or incomplete"]
    path.write_bytes(whole)
    person.sync()
    assert problems(person) == []


def test_a_message_removed_from_its_document_is_not_found(person: Person) -> None:
    gemini(person, "one", message(1, "kept"), message(2, "hoopoe"))
    person.sync()
    gemini(person, "one", message(1, "kept"))
    person.sync()
    assert (texts(person), found(person, "hoopoe")) == (["kept"], [])


def test_an_emptied_document_keeps_its_stored_events(person: Person) -> None:
    gemini(person, "one", message(1, "kept"))
    person.sync()
    gemini(person, "one")
    person.sync()
    assert texts(person) == ["kept"]


def test_the_same_ids_in_two_sessions_are_two_events(person: Person) -> None:
    gemini(person, "one", message(1, "of the first"))
    gemini(person, "two", message(1, "of the second"))
    person.sync()
    assert sorted(texts(person)) == ["of the first", "of the second"]
    assert len({event.id for event in events(person)}) == 2


def test_of_a_session_in_two_places_the_longer_one_is_stored(person: Person) -> None:
    shorter = [message(1, "first")]
    longer = [message(1, "first"), message(2, "second")]
    gemini(person, "one", *shorter, project="harbour")
    person.sync()
    gemini(person, "one", *longer, project="elsewhere")
    person.sync()
    os.utime(gemini(person, "one", *shorter, project="harbour"), ns=(5, 5))
    person.sync()
    assert texts(person) == ["first", "second"]
    assert len(sessions(person)) == 1


@pytest.mark.parametrize(
    "stamp", [1_768_075_200, 1_768_075_200.0, 1_768_075_200_000, 1_768_075_200_000_000, "2026-01-10T20:00:00Z"]
)
def test_a_time_is_understood_in_any_unit(person: Person, stamp: object) -> None:
    gemini(person, "one", {**message(1, "when"), "timestamp": stamp})
    person.sync()
    assert [event.at for event in events(person)] == [1_768_075_200_000]


def test_a_record_without_a_time_gets_the_time_of_the_first_sync(person: Person) -> None:
    undated = [{**message(number, f"prompt {number}"), "timestamp": None} for number in range(3)]
    os.utime(gemini(person, "one", *undated[:2]), (1_700_000_000, 1_700_000_000))
    person.sync()
    os.utime(gemini(person, "one", *undated), (1_700_000_100, 1_700_000_100))
    assert person.sync().events == 1
    assert [event.at // 1000 for event in events(person)] == [1_700_000_000, 1_700_000_000, 1_700_000_100]


def test_secrets_in_a_document_are_redacted_before_it_is_compared(person: Person) -> None:
    secret = "ghp_" + "a1B2" * 9
    path = gemini(person, "one", message(1, f"my token is {secret}"))
    person.sync()
    os.utime(path, ns=(1, 1))
    gemini(person, "one", message(1, f"my token is {secret}"), message(2, "more"))
    assert person.sync().events == 1
    assert secret not in "\n".join(archived(person))


# ---- live


def test_a_watcher_follows_documents_and_databases(person: Person, crush: Crush) -> None:
    crush.begins()
    gemini(person, "one", message(1, "old"))
    with watching(person), person.mcp() as client:

        def finds(word: str) -> bool:
            return bool(client.call("search_sessions", query=word).get("data", {}).get("result_count") == 1)

        until(lambda: finds("old"))
        gemini(person, "one", message(1, "old"), message(2, "hoopoe"))
        until(lambda: finds("hoopoe"))
        crush.says("wryneck")
        until(lambda: finds("wryneck"))


def test_a_watcher_of_databases_alone_follows_them(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("old")
    with watching(person), person.mcp() as client:

        def finds(word: str) -> bool:
            return bool(client.call("search_sessions", query=word).get("data", {}).get("result_count") == 1)

        until(lambda: finds("old"))
        crush.says("wryneck")
        until(lambda: finds("wryneck"))


# ---- by name


def test_a_sync_of_a_named_file_says_which_format_it_recognised(person: Person, tmp_path: Path) -> None:
    copy = tmp_path / "backup.txt"
    gemini(person, "one", message(1, "from a backup")).rename(copy)
    done = person.run("sync", str(copy))
    assert done.stdout.startswith(f"{copy}: Gemini CLI\n")
    assert texts(person) == ["from a backup"]


def test_unknown_files_of_a_named_folder_are_counted_and_some_listed(person: Person, tmp_path: Path) -> None:
    strangers = tmp_path / "strangers"
    strangers.mkdir()
    for number in range(13):
        (strangers / f"{number:02d}.json").write_text('{"nothing": "of ours"}')
    done = person.run("sync", str(strangers), check=False)
    assert done.returncode == 1
    assert done.stderr.count("not a log of a known agent") == 10
    assert "! and 3 more such files" in done.stderr
    assert len(person.json("sync", str(strangers))["unrecognised"]) == 13


def test_an_incomplete_named_document_is_recognised(person: Person, tmp_path: Path) -> None:
    half = tmp_path / "half.json"
    whole = gemini(person, "one", message(1, "never to be read"), message(2, "nor this")).read_bytes()
    half.write_bytes(whole[:-20])
    done = person.run("sync", str(half))
    assert f"{half}: Gemini CLI" in done.stdout
    assert problems(person) == ["not JSON, or incomplete"]


def test_a_sync_refuses_named_pipes_and_devices(person: Person, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    done = person.run("sync", str(tmp_path / "pipe.jsonl"), "/dev/zero", check=False)
    assert done.returncode == 1
    assert done.stderr.count("neither a file nor a folder") == 2


def test_databases_can_be_opened_by_name(person: Person, tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "store.db")
    db.executescript(SCHEMA)
    db.close()
    done = person.run("sync", str(tmp_path / "store.db"))
    assert "store.db: Crush" in done.stdout
    assert len(sessions(person)) == 2


# ---- what the person does not want to be read


def test_one_session_of_a_database_can_be_excluded(person: Person, tmp_path: Path) -> None:
    script = (
        Path(__file__).parents[1] / "fixtures/opencode/database/home/.local/share/opencode/opencode.db.sql"
    ).read_text()
    database = person.home / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    db = sqlite3.connect(database)
    db.executescript(script)
    folders = {folder for (folder,) in db.execute("SELECT directory FROM session")}
    db.execute("UPDATE session SET directory = '/home/sam/diary' WHERE id = (SELECT min(id) FROM session)")
    db.commit()
    db.close()
    person.sync(exclude=["/home/sam/diary"])
    assert {session.cwd for session in sessions(person)} <= folders
    assert sessions(person)


def test_a_session_that_is_excluded_later_is_emptied_when_it_changes(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("a secret thought")
    person.sync()
    crush.says("and another")
    person.sync(exclude_projects=["harbour"])
    assert texts(person) == []
    assert found(person, "thought") == []


def test_a_watcher_follows_logs_in_project_folders(person: Person, tmp_path: Path) -> None:
    project = tmp_path / "reeds"
    project.mkdir()
    history = project / ".aider.chat.history.md"
    history.write_text("\n# aider chat started at 2026-01-10 09:00:00\n\n#### where is the bittern  \n\nIn the reeds.\n")
    said = Claude(cwd=str(project))
    write(person.claude_log(said.session), [said.prompt("who knows this folder")])
    person.sync()
    with watching(person), person.mcp() as client:

        def finds(word: str) -> bool:
            return bool(client.call("search_sessions", query=word).get("data", {}).get("result_count") == 1)

        until(lambda: finds("bittern"))
        with history.open("a") as stream:
            stream.write("\n#### and the wryneck  \n\nIn the orchard.\n")
        until(lambda: finds("wryneck"))


def test_a_completely_read_document_counts_as_read(person: Person, crush: Crush) -> None:
    crush.begins()
    crush.says("all of it")
    gemini(person, "one", message(1, "all of it"))
    gemini(person, "two", message(1, "cut")).write_bytes(b'{"sessionId": "two", "projectHash": "ab", "messages": [')
    person.sync()
    reader = Reader(archive_path(person.realm))
    covered = reader.coverage()
    reader.close()
    assert covered["crush"]["read"] == covered["crush"]["bytes"] > 0
    assert 0 < covered["gemini-cli"]["read"] < covered["gemini-cli"]["bytes"]


# ---- named in doctor


def test_records_without_a_time_are_counted(person: Person) -> None:
    gemini(person, "one", {**message(1, "when"), "timestamp": "soon"}, message(2, "then"))
    person.sync()
    assert person.json("doctor")["lines"]["gemini-cli"]["undated"] == 1
    assert "1 without a time" in person.run("doctor").stdout


def test_an_id_of_two_sessions_is_reported(person: Person) -> None:
    for number in (1, 2):
        owner = Crush(person.home / f"harbour{number}" / ".crush" / "crush.db")
        owner.begins(f"s-{number}")
        owner.says(f"words of {number}", f"s-{number}")
        owner.close()
    _list_projects(person, *(person.home / f"harbour{number}" / ".crush" for number in (1, 2)))
    person.sync()
    assert sorted(texts(person)) == ["words of 1", "words of 2"]
    assert problems(person) == ["another session has the same id; stored under an id of its own"]
    assert person.sync().events == 0

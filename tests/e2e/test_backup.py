"""Backups while logs are read and turns run, and backups to a disk that fills up."""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.distil import distil
from recollect.errors import StoreFault
from recollect.live import LiveRealm
from recollect.live.turn_runner import TurnRequest
from recollect.realms.backup import back_up
from recollect.realms.manifest import Backend
from recollect.realms.restore import restore
from recollect.settings import Settings
from tests.conftest import Person
from tests.e2e.processes import until, watching
from tests.forgotten_home import KEEPER, VICTIM, ForgottenHome, answers, ask_realm, comparable, echo
from tests.logs import Claude, append, write

BUSY = "6e6e6e6e-4444-4111-8111-0123456789ab"  # a log that grows all the time
ROUNDS = 3


@pytest.fixture(params=[Backend.SQLITE, Backend.JSONL])
def home(person: Person, request: pytest.FixtureRequest) -> Iterator[ForgottenHome]:
    opened = ForgottenHome(person, request.param)
    yield opened
    opened.realm.close()


def test_a_backup_during_syncs_and_turns_restores_to_the_same_answers(home: ForgottenHome, tmp_path: Path) -> None:
    """Each backup has every session of before, unchanged, and of those that grow a beginning: whole turns."""
    person, end = home.person, threading.Event()
    log = Claude(BUSY, "/work/busy", start=3_000)
    path = write(person.claude_log(BUSY, "-work-busy"), [log.prompt("Begin")])
    backups: list[Path] = []

    def write_on() -> None:
        while not end.is_set():
            append(path, log.prompt(f"prompt {log.clock}"), log.says(f"answer {log.clock}"))
            end.wait(0.01)

    def run_turns() -> None:
        while not end.is_set():
            home.realm.live.run(home.live, turn())

    with watching(person):
        threads = [threading.Thread(target=work) for work in (write_on, run_turns)]
        for thread in threads:
            thread.start()
        try:
            for number in range(ROUNDS):
                events = len(events_of(home.realm, BUSY))
                until(lambda events=events: len(events_of(home.realm, BUSY)) > events)  # type: ignore[misc]
                backups.append(tmp_path / f"backup-{number}")
                person.run("backup", str(backups[-1]))
        finally:
            end.set()
            for thread in threads:
                thread.join(60)
    home.sync()
    distil_all(home.realm, person)
    expected = comparable(answers(home.realm, (KEEPER, VICTIM), ("ladders", "wheel")))
    for backup in backups:
        settings = Settings(home=tmp_path / f"new-{backup.name}")
        restore(settings, backup)
        realm = LiveRealm(settings, "main")
        distil_all(realm, person)
        assert comparable(answers(realm, (KEEPER, VICTIM), ("ladders", "wheel"))) == expected
        for session in (BUSY, home.live.hex()):
            restored, present = events_of(realm, session), events_of(home.realm, session)
            assert 0 < len(restored) <= len(present)
            assert restored == present[: len(restored)]
        messages = ask_realm(realm, "library_events", id=home.live.hex(), limit=200)["data"]["events"]
        assert [event["type"] for event in messages].count("user_input") == [event["type"] for event in messages].count(
            "assistant_response"
        )
        realm.close()


def distil_all(realm: LiveRealm, person: Person) -> None:
    """Publish and distil everything in this process, so that no answer starts a process that does."""
    assert realm.publisher.catch_up(20)
    until(lambda: distil(realm.folder, realm.settings, person.env, lambda: False))  # another process may be at it


def turn() -> TurnRequest:
    return TurnRequest(
        prompt="again", runner=echo, runner_name="command", command=None, stored_command=None, options={}, generation=0
    )


def events_of(realm: LiveRealm, session: str) -> list[tuple[Any, ...]]:
    """(id, type, text) of all events of a session; none if it is not stored yet."""
    found: list[tuple[Any, ...]] = []
    if not any(one["native_id"] == session for one in ask_realm(realm, "library_sessions")["data"]["sessions"]):
        session = session if len(session) == 32 else ""
    while session:
        page = ask_realm(realm, "library_events", id=session, **{"from": len(found)}, limit=200)["data"]["events"]
        found += [(event["id"], event["type"], event["text"]) for event in page]
        if len(page) < 200:
            break
    return found


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 40 megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m,mode=700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small disk can only be mounted by a superuser")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    (folder / "large").write_bytes(bytes(shutil.disk_usage(folder).free - 16_384))


def test_a_full_disk_leaves_no_backup_behind(person: Person, small_disk: Path) -> None:
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("tie the boat"), log.says("done")])
    person.sync()

    def fill_once(what: str, done: int, total: int) -> None:
        if not (small_disk / "large").exists():
            fill(small_disk)

    with pytest.raises(StoreFault, match=r"The disk of .* is full. No backup was written"):
        back_up(person.settings(), small_disk / "backup", on_step=fill_once)
    assert [path.name for path in small_disk.iterdir()] == ["large"]
    (small_disk / "large").write_bytes(bytes(30 << 20))
    with pytest.raises(StoreFault, match=r"needs up to .* MB.*No backup was written"):
        back_up(person.settings(), small_disk / "backup")
    assert [path.name for path in small_disk.iterdir()] == ["large"]


def test_a_restore_to_a_full_disk_changes_nothing(person: Person, small_disk: Path, tmp_path: Path) -> None:
    log = Claude()
    write(person.claude_log(log.session), [log.prompt("tie the boat"), log.says("done")])
    person.sync()
    back_up(person.settings(), tmp_path / "backup")
    with pytest.raises(StoreFault, match=r"Restoring needs about .* MB.*Nothing was changed"):
        restore(Settings(home=small_disk), tmp_path / "backup")
    assert list(small_disk.rglob("*")) == []

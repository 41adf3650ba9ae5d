"""`recollect sync` while another process writes: it waits until it can write, or names the process that reads the logs."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Person
from tests.e2e.processes import running, until, watching
from tests.logs import Claude, append, write

SENTENCE = "Recollect is already syncing (process {}). New log lines appear by themselves.\n"


def found(person: Person, word: str) -> bool:
    return bool(person.json("search", word)["data"]["results"])


def test_a_sync_beside_a_watcher_reads_all_earlier_lines(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with watching(person) as watcher:
        append(log, claude.prompt("a young wryneck"))
        done = person.run("sync")
        assert done.stderr == SENTENCE.format(watcher.pid)
        assert found(person, "wryneck")
        append(log, claude.prompt("a lost bustard"))
        until(lambda: found(person, "bustard"))  # the watcher continues
        report = person.json("sync")
        assert (report["files"], report["unreadable"]) == (1, [])


def test_named_files_outside_the_agents_folders_are_read_beside_a_watcher(person: Person, tmp_path: Path) -> None:
    claude = Claude()
    away = write(tmp_path / "away" / f"{claude.session}.jsonl", [claude.prompt("a hidden wryneck")])
    with watching(person) as watcher:
        done = person.run("sync", str(away))
        who = f"Recollect is already syncing (process {watcher.pid}). The named files are read next.\n"
        assert (done.returncode, done.stderr) == (0, who)
        assert found(person, "wryneck")
        assert watcher.poll() is None


def test_a_sync_waits_for_another_one(person: Person) -> None:
    """Several at once, as when several shells start: all succeed, and every line is read once."""
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt(f"wryneck number {number}") for number in range(500)])
    command = [sys.executable, "-m", "recollect", "sync", "--json"]
    pipe = subprocess.PIPE
    syncs = [subprocess.Popen(command, env=person.env, stdout=pipe, stderr=pipe) for _ in range(4)]
    assert [sync.wait(timeout=60) for sync in syncs] == [0, 0, 0, 0]
    for sync in syncs:
        sync.communicate()
    assert person.json("status")["events"] == 500


def test_a_sync_that_cannot_write_names_the_writer_and_its_logs_are_read_later(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with running(person, "watch", "--quiet") as writer:
        until(lambda: (person.realm / "write.lock").exists() and found(person, "hoopoe"))
        writer.send_signal(signal.SIGSTOP)  # it neither reads nor releases the lock
        (person.realm / "watch.lock").rename(person.realm / "away.lock")  # it looks as if no process watches
        append(person.claude_log(claude.session), claude.prompt("a young wryneck"))
        done, told = person.run("sync"), person.json("sync")
        assert (done.stdout, done.stderr) == ("", SENTENCE.format(writer.pid))
        assert told["warnings"] == [SENTENCE.format(writer.pid).strip()]
        writer.kill()
        writer.wait()
    until(lambda: found(person, "wryneck"))


@pytest.mark.parametrize("command", [("doctor", "--repair"), ("rebuild",)])
def test_a_repair_can_run_beside_a_watcher(person: Person, command: tuple[str, ...]) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("an old hoopoe")])
    with watching(person) as watcher:
        until(lambda: found(person, "hoopoe"))
        person.run(*command)
        assert found(person, "hoopoe")
        assert watcher.poll() is None

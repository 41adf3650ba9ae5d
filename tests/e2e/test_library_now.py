"""library/now: what runs is told by evidence, and never by hope (L11)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.operations.library import states
from tests.conftest import Person
from tests.contract.library_archive import Library
from tests.logs import Claude, write

PROGRAM = "import signal, sys; print('up', flush=True); signal.pause()"


@pytest.fixture
def agents(tmp_path: Path) -> "Iterator[Agents]":
    with Agents(tmp_path) as running:
        yield running


class Agents:
    """A person's sessions of Claude Code, and processes that look like Claude Code."""

    def __init__(self, folder: Path) -> None:
        self.person = Person(folder)
        self.folder = folder
        self.processes: list[subprocess.Popen[str]] = []
        self.program = folder / "bin" / "claude"
        self.program.parent.mkdir()
        self.program.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
        self.program.chmod(0o755)

    def __enter__(self) -> "Agents":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()

    def session(self, number: int, *, ago: timedelta, is_complete: bool) -> Path:
        """Write a session whose newest line is so old. Returns its working folder."""
        work = self.folder / f"work{number}"
        work.mkdir()
        log = Claude(f"aaaaaaaa-000{number}-4000-8000-00000000000{number}", str(work))
        at = (datetime.now(UTC) - ago).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [log.prompt(f"work {number}", timestamp=at)]
        lines += (
            [log.says("Done.", timestamp=at)]
            if is_complete
            else [log.calls("Bash", "t1", command="make") | {"timestamp": at}]
        )
        path = write(self.person.claude_log(log.session, f"-work{number}"), lines)
        seconds = time.time() - ago.total_seconds()
        os.utime(path, (seconds, seconds))
        return work

    def start(self, work: Path, *arguments: str) -> "subprocess.Popen[str]":
        """Start the agent in a folder, as if it had been there all the time."""
        command = [str(self.program), *arguments]
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True)
        assert process.stdout and process.stdout.readline() == "up\n"
        self.processes.append(process)
        return process

    def states(self) -> dict[str, str]:
        """The state of each session by its title, among all that are recent."""
        self.person.sync()
        states.SCAN.refresh()
        data: Any = Library(self.person).data("now", all=True)
        return {session["title"]: session["state"] for session in data["sessions"]}


MINUTE = timedelta(minutes=1)


def test_a_session_without_a_process_does_not_run(agents: Agents) -> None:
    agents.session(1, ago=MINUTE, is_complete=True)
    agents.session(2, ago=MINUTE, is_complete=False)
    assert agents.states() == {"work 1": "ended", "work 2": "died"}
    assert Library(agents.person).data("now")["sessions"] == []


def test_a_process_shows_whether_a_session_works_or_waits(agents: Agents) -> None:
    agents.start(agents.session(1, ago=timedelta(0), is_complete=True))
    agents.start(agents.session(2, ago=timedelta(0), is_complete=False))
    assert agents.states() == {"work 1": "waiting", "work 2": "working"}
    now = Library(agents.person).data("now")["sessions"]
    assert {session["doing"] for session in now} == {"Done.", 'Bash(command="make")'}


def test_a_stopped_process_is_idle_and_a_killed_one_is_gone(agents: Agents) -> None:
    work = agents.session(1, ago=MINUTE, is_complete=False)
    process = agents.start(work, "--resume", "aaaaaaaa-0001-4000-8000-000000000001")
    assert agents.states() == {"work 1": "working"}
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    assert agents.states() == {"work 1": "idle"}
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
    assert agents.states() == {"work 1": "died"}


def test_a_process_in_another_folder_is_no_evidence(agents: Agents) -> None:
    agents.session(1, ago=MINUTE, is_complete=False)
    elsewhere = agents.folder / "elsewhere"
    elsewhere.mkdir()
    agents.start(elsewhere)
    assert agents.states() == {"work 1": "died"}


def test_a_process_that_began_after_the_last_line_is_another_session(agents: Agents) -> None:
    work = agents.session(1, ago=timedelta(minutes=5), is_complete=False)
    agents.start(work)
    assert agents.states() == {"work 1": "died"}


def test_a_process_that_resumes_a_session_by_its_id_is_its_process(agents: Agents) -> None:
    agents.session(1, ago=timedelta(minutes=5), is_complete=True)
    elsewhere = agents.folder / "elsewhere"
    elsewhere.mkdir()
    agents.start(elsewhere, "--resume", "aaaaaaaa-0001-4000-8000-000000000001")
    assert agents.states() == {"work 1": "waiting"}


def test_yesterdays_session_is_not_listed(agents: Agents) -> None:
    agents.session(1, ago=timedelta(hours=25), is_complete=False)
    assert agents.states() == {}
    assert Library(agents.person).data("sessions")["sessions"][0]["state"] == "died"

"""Runs processes of the real program, and waits for their effects."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.conftest import Person

PATIENCE_S = 20.0  # much longer than anything takes on a busy machine: reaching it is a failure
Value = TypeVar("Value")


def until(condition: Callable[[], Value], seconds: float = PATIENCE_S) -> Value:
    """Wait until a condition is true. Returns its value; fails the test if it never is."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"this did not come true within {seconds:.0f} s"
        time.sleep(0.01)
    return value


@contextmanager
def running(person: Person, *arguments: str, **more: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command in the background. It is always killed afterwards."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
    command = [sys.executable, "-m", "recollect", *arguments]
    with subprocess.Popen(command, env=person.env, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def watching(person: Person) -> Iterator["subprocess.Popen[bytes]"]:
    """`recollect watch`, from the moment it is the writer."""
    with running(person, "watch", "--quiet") as process:
        until(lambda: is_writer(process, person))
        yield process


def is_writer(process: "subprocess.Popen[bytes]", person: Person) -> bool:
    """Whether a process holds the realm's lock, which contains the number of its holder."""
    lock = person.realm / "write.lock"
    return lock.exists() and lock.read_text() == str(process.pid)


def inside(person: Person, prelude: str, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process that first runs some lines of Python, to count or limit something."""
    code = f"import sys\nsys.argv[0] = 'recollect'\n{prelude}\nfrom recollect.surfaces.cli import main\nmain()\n"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=person.env, capture_output=True, text=True, check=check, timeout=120)


def rests(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process has finished its first work and now waits, judged by its processor time."""
    before = _ticks(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.3)
    return before > 0 and before == _ticks(process)


def _ticks(process: "subprocess.Popen[bytes]") -> int:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])  # utime and stime, counting from the process's state


def is_alive(pid: int) -> bool:
    """Whether a process still runs; it may be another one's child. A zombie does not run."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [int(child) for child, parent in map(str.split, listed.splitlines()) if int(parent) == pid]

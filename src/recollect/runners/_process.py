"""A child process and all that it starts: begun in a group of its own, and ended with everything in it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from recollect.errors import BadRequest, ProviderFault
from recollect.model import path_text
from recollect.runners._runner import Assignment
from recollect.settings import TOKEN

GRACE_S = 2.0  # seconds between asking a program to end and ending it
STRAY_GRACE_S = 0.5  # the same of what it left behind: a turn that is interrupted has five seconds for everything
MARK = "RECOLLECT_TURN"  # the variable by which whatever a turn starts can be known, wherever it went
INTERPRETER = 256  # bytes of a script's first line that the system looks at
COMPLAINT = 4_096  # bytes of standard error that are kept: its end says what went wrong
STEP_S = 0.02
PARENT, GROUP = 1, 2  # of a line of /proc/<pid>/stat behind the name: who started it, and its group
BEGAN = 19  # and when, in ticks since the machine started

File: TypeAlias = tuple[int, int]  # what tells a file from all others: its device and its number there


@contextmanager
def running(given: Assignment) -> Iterator["subprocess.Popen[bytes]"]:
    """The program of a turn, with pipes to it, for as long as we are inside: then it is ended with all that it started.
    One that has ended by itself may leave something running on purpose, unless the turn is cancelled."""
    process = _start(given)
    pipes = {_file(os.fstat(stream.fileno())) for stream in (process.stdout, process.stderr) if stream is not None}
    try:
        given.started(process.pid)
        yield process
    finally:
        if process.poll() is None or given.cancel.is_set():
            stop(process)
        if given.cancel.is_set():
            stop_strays(given.mark, pipes)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _start(given: Assignment) -> "subprocess.Popen[bytes]":
    """Begin a program, or say why not. Nothing of it reaches our own terminal."""
    command, folder, pipe = given.command, given.folder, subprocess.PIPE
    if not command:
        raise BadRequest("this runner needs a command: a program and its arguments", field="command")
    try:
        return subprocess.Popen(
            command,
            cwd=_real(folder),
            env=_environment(given.mark),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except FileNotFoundError as reason:
        missing = _missing(command[0], _real(folder)) if _real(folder).is_dir() else f"The folder {folder} is not there."
        raise ProviderFault(missing, command=list(command)) from reason
    except OSError as reason:
        raise ProviderFault(f"{command[0]!r} cannot be run: {reason.strerror or reason}.", command=list(command)) from reason
    except ValueError as reason:  # a zero byte inside
        raise BadRequest(f"command cannot be run: {reason}", field="command") from reason


def _missing(program: str, folder: Path) -> str:
    """What is not there of a program: itself, or what its first line says that it is run by."""
    found = str(folder / program) if "/" in program else shutil.which(program)
    if found is None or not Path(found).is_file():
        return f"There is no program {program!r}."
    with Path(found).open("rb") as file:
        first = file.readline(INTERPRETER)
    if not first.startswith(b"#!"):
        return f"{program!r} cannot be run: what this system needs to run it is not there."
    interpreter = first[2:].decode("utf-8", "replace").strip(" \t\n")  # a return is part of its name
    return f"{program!r} cannot be run: its interpreter {interpreter!r} is not there."


def _environment(mark: str) -> dict[str, str]:
    """Ours, with the turn's mark and without what opens our own server: an agent is none of its callers."""
    ours = {name: value for name, value in os.environ.items() if name != TOKEN}
    return {**ours, MARK: mark} if mark else ours


def _real(folder: Path) -> Path:
    """A folder whose name is not UTF-8 is kept as text that only resembles it. We know it again where we stand in it."""
    with suppress(FileNotFoundError):  # where we stood is gone
        here = Path.cwd()
        return here if path_text(here) == str(folder) else folder
    return folder


def ending(code: int) -> str:
    """How a program ended, by its exit code."""
    return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"


def sentence(program: str, did: str, complaint: str) -> str:
    """What a program did, with the last line of what it complained of."""
    *_, last = ["", *complaint.strip().splitlines()]
    shown = "".join(sign for sign in last if sign.isprintable())  # no colours, no bells
    return f"{program!r} {did}{f': {shown}' if shown else '.'}"


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it started: first by asking, soon by force."""
    stop_group(process.pid, process.poll)
    process.wait()


def stop_group(group: int, reap: Callable[[], object] = lambda: None) -> None:
    """End what is left of a process group, and what left the group but was started in it. `reap` buries a child of ours."""
    reap()
    if not _exists(group):
        return
    members = _members(group)
    _tell(group, members, signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        reap()
        members |= _members(group)
        if not any(map(is_alive, members)):
            return
        time.sleep(STEP_S)
    _tell(group, members, signal.SIGKILL)


def stop_strays(mark: str, pipes: Collection[File] = ()) -> None:
    """End what a turn started and its programs let go of: what left their group has mostly kept their environment, or at
    least the pipes that they wrote to."""
    strays = _strays(mark, pipes)
    _tell_each(strays, signal.SIGTERM)
    until = time.monotonic() + STRAY_GRACE_S
    while any(map(is_alive, strays)) and time.monotonic() < until:
        time.sleep(STEP_S)
    _tell_each(_strays(mark, pipes), signal.SIGKILL)


def _strays(mark: str, pipes: Collection[File]) -> set[int]:
    word = f"{MARK}={mark}".encode()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or another person's
            if word in (entry / "environ").read_bytes().split(b"\0") or (pipes and _writes_to(entry, pipes)):
                found.add(int(entry.name))
    return found


def _writes_to(process: Path, pipes: Collection[File]) -> bool:
    """Whether one of them is the standard output or error of a process."""
    for number in ("1", "2"):
        with suppress(FileNotFoundError):  # closed
            if _file((process / "fd" / number).stat()) in pipes:
                return True
    return False


def _file(known: os.stat_result) -> File:
    return known.st_dev, known.st_ino


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _tell(group: int, members: set[int], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    _tell_each(members, number)


def _tell_each(processes: set[int], number: int) -> None:
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def is_alive(pid: int) -> bool:
    fields = _stat(pid)
    if fields is not None:
        return fields[0] != "Z"
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def began(pid: int) -> str:
    """What tells a process from a later one of the same number; empty where the system does not say."""
    fields = _stat(pid)
    return fields[BEGAN] if fields else ""


def _members(group: int) -> set[int]:
    """The processes of a group, all that they started, and what those started, as far as it can still be seen."""
    children: dict[int, list[int]] = {}
    waiting = [group]
    for entry in Path("/proc").glob("[0-9]*"):
        if (fields := _stat(int(entry.name))) is not None:
            children.setdefault(int(fields[PARENT]), []).append(int(entry.name))
            if int(fields[GROUP]) == group:
                waiting.append(int(entry.name))
    found: set[int] = set()
    while waiting:
        process = waiting.pop()
        if process not in found:
            found.add(process)
            waiting += children.get(process, [])
    return found


def _stat(pid: int) -> list[str] | None:
    """What Linux knows of a process, from its state on: the name before it may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None

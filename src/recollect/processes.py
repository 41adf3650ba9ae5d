"""Processes of this machine: whether one lives, when it began, and ending it with everything it started."""

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

GRACE_S = 2.0  # seconds between asking a program to end and ending it
DETACHED_GRACE_S = 0.5  # the same of what it left behind: a turn that is interrupted has five seconds for everything
TURN_MARK = "RECOLLECT_TURN"  # the variable by which whatever a turn starts can be known, wherever it went
STEP_S = 0.02
PARENT, GROUP = 1, 2  # of a line of /proc/<pid>/stat behind the name: who started it, and its group
START_TIME = 19  # and when, in ticks since the machine started

File: TypeAlias = tuple[int, int]  # what tells a file from all others: its device and its number there


def stop_group(group: int, reap: Callable[[], object] = lambda: None) -> None:
    """End what is left of a process group, and what left the group but was started in it. `reap` buries a child of ours."""
    reap()
    if not _exists(group):
        return
    members = _members(group)
    _signal_group(group, members, signal.SIGTERM)
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        reap()
        members |= _members(group)
        if not any(map(is_alive, members)):
            return
        time.sleep(STEP_S)
    _signal_group(group, members, signal.SIGKILL)


def stop_detached(mark: str, pipes: Collection[File] = ()) -> None:
    """End what a turn started and its programs let go of: what left their group has mostly kept their environment, or at
    least the pipes that they wrote to."""
    strays = _detached(mark, pipes)
    _signal(strays, signal.SIGTERM)
    until = time.monotonic() + DETACHED_GRACE_S
    while any(map(is_alive, strays)) and time.monotonic() < until:
        time.sleep(STEP_S)
    _signal(_detached(mark, pipes), signal.SIGKILL)


def _detached(mark: str, pipes: Collection[File]) -> set[int]:
    word = f"{TURN_MARK}={mark}".encode()
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
            if file_identity((process / "fd" / number).stat()) in pipes:
                return True
    return False


def file_identity(known: os.stat_result) -> File:
    return known.st_dev, known.st_ino


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal_group(group: int, members: set[int], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    _signal(members, number)


def _signal(processes: set[int], number: int) -> None:
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


def start_time(pid: int) -> str:
    """What tells a process from a later one of the same number; empty where the system does not say."""
    fields = _stat(pid)
    return fields[START_TIME] if fields else ""


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

"""Functions for processes of this machine: check if one is alive, find its start time, end it with its descendants."""

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

GRACE_S = 2.0  # seconds between SIGTERM and SIGKILL
DETACHED_GRACE_S = 0.5  # the same for detached processes: an interrupted turn has five seconds in total
TURN_MARK = "RECOLLECT_TURN"  # environment variable that identifies all processes of a turn
STEP_S = 0.02
PARENT, GROUP = 1, 2  # fields of /proc/<pid>/stat after the name: parent and process group
START_TIME = 19  # when it started, in ticks since boot

File: TypeAlias = tuple[int, int]  # device and inode


def stop_group(group: int, reap: Callable[[], object] = lambda: None) -> None:
    """End a process group and all descendants, also those that left the group. `reap` collects an ended child process."""
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
    """End the detached processes of a turn: those with its mark in their environment, and those that write to its pipes."""
    processes = _detached(mark, pipes)
    _signal(processes, signal.SIGTERM)
    until = time.monotonic() + DETACHED_GRACE_S
    while any(map(is_alive, processes)) and time.monotonic() < until:
        time.sleep(STEP_S)
    _signal(_detached(mark, pipes), signal.SIGKILL)


def _detached(mark: str, pipes: Collection[File]) -> set[int]:
    variable = f"{TURN_MARK}={mark}".encode()
    processes = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # the process ended, or belongs to another user
            if variable in (entry / "environ").read_bytes().split(b"\0") or (pipes and _writes_to(entry, pipes)):
                processes.add(int(entry.name))
    return processes


def _writes_to(process: Path, pipes: Collection[File]) -> bool:
    """Whether a process has one of these pipes as standard output or error."""
    for number in ("1", "2"):
        with suppress(FileNotFoundError):  # closed
            if device_and_inode((process / "fd" / number).stat()) in pipes:
                return True
    return False


def device_and_inode(status: os.stat_result) -> File:
    return status.st_dev, status.st_ino


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
    """Whether a process exists and is not a zombie."""
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
    """When a process started, to distinguish it from a later one with the same pid; empty if unknown."""
    fields = _stat(pid)
    return fields[START_TIME] if fields else ""


def _members(group: int) -> set[int]:
    """The processes of a group and all their descendants that /proc shows."""
    children: dict[int, list[int]] = {}
    pending = [group]
    for entry in Path("/proc").glob("[0-9]*"):
        if (fields := _stat(int(entry.name))) is not None:
            children.setdefault(int(fields[PARENT]), []).append(int(entry.name))
            if int(fields[GROUP]) == group:
                pending.append(int(entry.name))
    members: set[int] = set()
    while pending:
        process = pending.pop()
        if process not in members:
            members.add(process)
            pending += children.get(process, [])
    return members


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/<pid>/stat after the name, which may contain any character; None if they cannot be read."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None

"""Finds the running programs of agents on this machine, and the folders that they work in."""

import os
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

from msgspec import Struct

STALE_S = 1.0  # how long a scan of all processes is used again
STOPPED_STATES = ("T", "t")  # in /proc/<pid>/stat
STARTED_FIELD = 18  # the start in /proc/<pid>/stat, in ticks since boot, counted after the state
SCRIPT_ARGUMENTS = 3  # a program that a runtime starts is among its first arguments: `node --flag /usr/bin/gemini`

# The names of agents' programs, by source. A source that is not here runs inside an editor or on a server.
PROGRAMS: dict[str, frozenset[str]] = {
    source: frozenset(names.split())
    for source, names in {
        "aider": "aider",
        "amp": "amp",
        "claude-code": "claude",
        "codex": "codex",
        "copilot-cli": "copilot",
        "crush": "crush",
        "cursor": "cursor-agent",
        "droid": "droid",
        "gemini-cli": "gemini",
        "goose": "goose goosed",
        "gptme": "gptme",
        "grok": "grok",
        "hermes": "hermes",
        "iflow": "iflow",
        "kimi": "kimi",
        "kiro": "kiro-cli kiro",
        "omp": "omp",
        "mini-swe-agent": "mini mini-swe-agent",
        "opencode": "opencode",
        "openhands": "openhands",
        "pi": "pi",
        "qwen-code": "qwen",
        "swe-agent": "sweagent",
        "vibe": "vibe",
    }.items()
}


class ProcessState(StrEnum):
    ALIVE = "alive"
    STOPPED = "stopped"
    GONE = "gone"
    UNKNOWN = "unknown"  # processes of this agent cannot be seen from here


class Program(Struct, frozen=True):
    """A running program of an agent."""

    pid: int
    names: frozenset[str]  # of the program and of the scripts among its first arguments
    arguments: str
    folder: str
    started_at: int  # milliseconds since 1970
    is_stopped: bool

    def state(self) -> ProcessState:
        return ProcessState.STOPPED if self.is_stopped else ProcessState.ALIVE


class ProgramScan:
    """The running programs of all agents, read again when they are older than a second."""

    def __init__(self) -> None:
        self._at = -STALE_S
        self._programs: list[Program] = []

    def programs(self) -> list[Program]:
        if time.monotonic() - self._at > STALE_S:
            self.refresh()
        return self._programs

    def refresh(self) -> None:
        """Scan all processes now."""
        self._programs = list(_running())
        self._at = time.monotonic()

    def resuming(self, source: str, native_id: str) -> list[Program]:
        """The programs of an agent that have the id of a session among their arguments."""
        return [program for program in self._of(source) if native_id and native_id in program.arguments]

    def working_in(self, source: str, folder: str | None) -> list[Program]:
        """The programs of an agent that were started in a folder."""
        return [program for program in self._of(source) if folder is not None and _is_same(program.folder, folder)]

    def _of(self, source: str) -> list[Program]:
        names = PROGRAMS.get(source, frozenset())
        return [program for program in self.programs() if program.names & names]


def can_see(source: str) -> bool:
    """Whether the processes of an agent can be found on this machine."""
    return source in PROGRAMS and sys.platform == "linux"


def _is_same(first: str, second: str) -> bool:
    return first == second or first == os.path.realpath(second)


def _running() -> Iterator[Program]:
    known = frozenset().union(*PROGRAMS.values())
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            names = frozenset(_name(part) for part in command[:SCRIPT_ARGUMENTS])
            if not names & known:
                continue
            state, *fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            started_at = booted_at() + int(fields[STARTED_FIELD]) * 1_000 // os.sysconf("SC_CLK_TCK")
            folder = str((entry / "cwd").readlink())
        except (OSError, IndexError):  # it has ended, or belongs to another user
            continue
        if state != "Z":
            arguments = b" ".join(command).decode("utf-8", "replace")
            yield Program(int(entry.name), names, arguments, folder, started_at, state in STOPPED_STATES)


@cache
def booted_at() -> int:
    """When this machine was started, in milliseconds since 1970."""
    lines = Path("/proc/stat").read_text().splitlines()
    return next(int(line.split()[1]) * 1_000 for line in lines if line.startswith("btime "))


def _name(argument: bytes) -> str:
    """The name of a program without its folder and ending: `/usr/bin/gemini.js` is gemini."""
    name = argument.decode("utf-8", "replace").rpartition("/")[2]
    return name.removesuffix(".js").removesuffix(".mjs").removesuffix(".cjs").removesuffix(".py")

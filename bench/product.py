"""Runs Recollect as a person does: in its own process, with a home folder and a state folder.

Only a few variables of the environment are passed on, so that your own logs are not read.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import IO

import msgspec
from client import Client
from report import Measure, MeasureError

INHERITED = ("PATH", "PYTHONPATH", "LANG", "TMPDIR")  # variables from the caller's environment
POLL_S = 0.02  # between two readings of memory; also the resolution of the measured seconds
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes in ru_maxrss
MB = 1_000_000
NO_OPS = 3  # repetitions


class CommandFailed(MeasureError):
    def __init__(self, command: Sequence[str], code: int, output: str) -> None:
        super().__init__(f"{' '.join(command)} ended with {code}: {output[-2000:].strip()}")


class UnexpectedOutput(MeasureError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"Unexpected output of `sync --json`: {reason}")


@dataclass(frozen=True, slots=True)
class Run:
    seconds: float
    peak_bytes: int
    output: str


class SyncReport(msgspec.Struct):
    """The last object that `recollect sync --json` prints; only the fields used here."""

    events: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Installation:
    """A home folder with logs, a state folder, and the Python that runs Recollect."""

    home: Path
    state: Path
    python: str = sys.executable

    def environment(self) -> dict[str, str]:
        return {**inherited_environment(), "HOME": str(self.home), "RECOLLECT_HOME": str(self.state)}

    def command(self, *arguments: str) -> list[str]:
        return [self.python, "-m", "recollect", *arguments]

    def server(self) -> Client:
        return Client(self.command("mcp", "--no-sync"), self.environment())


def inherited_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def first_sync(installation: Installation, events: int, title: str = "sync") -> list[Measure]:
    run = sync(installation)
    synced = sync_report(run)
    read_note = f"{synced.bytes / MB:,.0f} of {folder_bytes(installation.home) / MB:,.0f} MB read"
    return [
        Measure(title, (synced.events / run.seconds,), "events/s", events, f"{synced.events:,} events"),
        Measure(f"{title}, bytes", (synced.bytes / MB / run.seconds,), "MB/s", events, read_note),
        Measure(f"{title}, peak memory", (run.peak_bytes / MB,), "MB", events, "of all its processes"),
        Measure(f"{title}, state / logs", (folder_bytes(installation.state) / synced.bytes,), "", events),
    ]


def sync_report(run: Run) -> SyncReport:
    """The last JSON object of the output, on one or several lines."""
    last = "{" + f"\n{run.output}".rpartition("\n{")[2]
    try:
        report = msgspec.json.decode(last, type=SyncReport)
    except msgspec.MsgspecError as error:
        raise UnexpectedOutput(f"{error} in {last[:200]!r}") from None
    if not report.bytes:
        raise UnexpectedOutput("it read no logs")
    return report


def no_op_sync(installation: Installation, events: int, title: str = "no-op sync") -> list[Measure]:
    seconds = median(sync(installation).seconds for _ in range(NO_OPS))
    return [Measure(title, (seconds,), "s", events)]


def mcp_start(installation: Installation, events: int, repetitions: int) -> list[Measure]:
    return [Measure("MCP start to tools/list", (median(starts(installation, repetitions)),), "s", events)]


def starts(installation: Installation, repetitions: int) -> Iterator[float]:
    for _ in range(repetitions):
        began = time.perf_counter()
        with installation.server() as server:
            server.tools()
            yield time.perf_counter() - began


def sync(installation: Installation) -> Run:
    """Sync without distilling, which is measured separately."""
    return run(installation.command("sync", "--json", "--no-distil"), installation.environment())


@contextmanager
def watching(installation: Installation) -> Iterator["subprocess.Popen[bytes]"]:
    """`recollect watch` in the background."""
    command, environment = installation.command("watch"), installation.environment()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watch:
        try:
            yield watch
        finally:
            watch.send_signal(signal.SIGINT)
            try:
                watch.wait(timeout=20)
            except subprocess.TimeoutExpired:
                watch.kill()


def run(command: Sequence[str], environment: Mapping[str, str]) -> Run:
    """Run a command to its end. Returns its seconds, its output, and the peak memory of it and its children."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, env=dict(environment), stdout=output, stderr=errors)
        peak = watch_memory(process)
        seconds = time.perf_counter() - began
        if process.returncode:
            raise CommandFailed(command, process.returncode, content_of(errors) or content_of(output))
        return Run(seconds, peak, content_of(output))


def watch_memory(process: subprocess.Popen[bytes]) -> int:
    """The sum of the peak memory of the process and all its children. Shared memory counts for each."""
    peaks: dict[int, int] = {}
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            return max(sum(peaks.values()), usage.ru_maxrss * MAXRSS_UNIT)
        for pid in process_tree(process.pid):
            peaks[pid] = max(peaks.get(pid, 0), peak_memory(pid))
        time.sleep(POLL_S)


def process_tree(pid: int) -> Iterator[int]:
    """The process and its descendants. Without /proc only the process itself; then wait4 gives the peak."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in proc_text(children).split():
            yield from process_tree(int(child))


def peak_memory(pid: int) -> int:
    for line in proc_text(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def proc_text(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # the process has ended meanwhile
        return ""


def content_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

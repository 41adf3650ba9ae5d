"""Logs of every agent: the speed of syncing a folder with all of them, and the cost of an idle watcher."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from signal import SIGINT

from product import MB, Installation, folder_bytes, proc_text, run, sync_report, watching
from report import Measure, MeasureError

ROOT = Path(__file__).parents[1]
SETTLE_S = 5  # after the first sync, before the idle time is measured
IDLE_S = 90  # contains at least one sync of all logs
TICKS = 100  # of a second: the kernel's unit of processor time
CALLS = re.compile(r"^\s*100\.00\s+\S+\s+\S+\s+(\d+)", re.MULTILINE)


class NotAvailable(MeasureError):
    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not on this machine.")


def named_folder(folder: Path, scratch: Path) -> list[Measure]:
    """The speed of `recollect sync FOLDER`, which recognises every file by its content."""
    (scratch / "home").mkdir()
    here = Installation(scratch / "home", scratch / "state")
    first = run(here.command("sync", str(folder), "--json"), here.environment())
    again = run(here.command("sync", str(folder), "--json"), here.environment())
    size = folder_bytes(folder) / MB
    synced = sync_report(first)
    return [
        Measure("every agent, named folder", (synced.events / first.seconds,), "events/s", 0, f"{synced.events:,} events"),
        Measure("every agent, named folder, bytes", (size / first.seconds,), "MB/s", 0, f"{size:,.0f} MB of files"),
        Measure("every agent, named folder, peak memory", (first.peak_bytes / MB,), "MB", 0),
        Measure("every agent, named folder, again", (again.seconds,), "s", 0, "every file is opened to recognise it"),
    ]


def idle_watcher(scratch: Path) -> list[Measure]:
    """The cost of `recollect watch` while no log changes, with logs of every source in the home folder."""
    home = scratch / "every-agent"
    sources = lay_out_fixtures(home)
    here = Installation(home, scratch / "state")
    with watching(here) as watcher:
        time.sleep(SETTLE_S)
        before = processor_s(watcher.pid)
        time.sleep(IDLE_S)
        spent = processor_s(watcher.pid) - before
        calls = system_calls(watcher.pid)
    note = f"{sources} sources"
    return [
        Measure("watching, idle", (spent * 3600 / IDLE_S,), "CPU s/hour", 0, note),
        Measure("watching, idle, system calls", (calls * 60 / IDLE_S,), "/min", 0, note),
    ]


def lay_out_fixtures(home: Path) -> int:
    """Copy the logs of all fixtures into one home, to the places of their agents. Returns the number of sources."""
    sys.path.insert(0, str(ROOT))
    from tests.golden import cases, lay_out

    for case in cases():
        databases = [script.relative_to(case / "home").with_suffix("") for script in case.rglob("*.sql")]
        if not any((home / database).exists() for database in databases):  # each database once
            lay_out(case, home)
    for path in home.rglob("*"):
        os.utime(path)  # as if the agents had written today
    return len({case.parent.name for case in cases()})


def processor_s(pid: int) -> float:
    fields = proc_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    if not fields:
        raise NotAvailable("/proc")
    return (int(fields[11]) + int(fields[12])) / TICKS


def system_calls(pid: int) -> int:
    """The number of system calls of a process and its threads in `IDLE_S` seconds, counted by strace."""
    if shutil.which("strace") is None:
        raise NotAvailable("strace")
    with subprocess.Popen(["strace", "-c", "-f", "-p", str(pid)], stderr=subprocess.PIPE, text=True) as tracer:
        time.sleep(IDLE_S)
        tracer.send_signal(SIGINT)
        _, summary = tracer.communicate(timeout=20)
    total = CALLS.search(summary)
    if total is None:
        raise MeasureError(f"Unexpected output of strace: {summary[-200:].strip()}")
    return int(total[1])

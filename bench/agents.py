"""Every agent at once: a folder with logs of all of them read by name, and what it costs to watch them all in silence."""

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
SETTLE_S = 5  # after the first sync, before silence is measured
SILENCE_S = 90  # at least one look at everything falls into it
TICKS = 100  # of a second: the kernel's unit of processor time
CALLS = re.compile(r"^\s*100\.00\s+\S+\s+\S+\s+(\d+)", re.MULTILINE)


class NotHere(MeasureError):
    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is not on this machine.")


def by_name(folder: Path, scratch: Path) -> list[Measure]:
    """`recollect sync FOLDER`: every file is recognised by what is in it."""
    (scratch / "home").mkdir()
    here = Installation(scratch / "home", scratch / "state")
    first = run(here.command("sync", str(folder), "--json"), here.environment())
    again = run(here.command("sync", str(folder), "--json"), here.environment())
    size = folder_bytes(folder) / MB
    synced = sync_report(first)
    return [
        Measure("every agent, by name", (synced.events / first.seconds,), "events/s", 0, f"{synced.events:,} events"),
        Measure("every agent, by name, bytes", (size / first.seconds,), "MB/s", 0, f"{size:,.0f} MB of files"),
        Measure("every agent, by name, peak memory", (first.peak_bytes / MB,), "MB", 0),
        Measure("every agent, by name, again", (again.seconds,), "s", 0, "every file is looked into to recognise it"),
    ]


def silence(scratch: Path) -> list[Measure]:
    """What `recollect watch` costs while nothing happens, with logs of every source in its place."""
    home = scratch / "everybody"
    sources = lay_out_fixtures(home)
    here = Installation(home, scratch / "state")
    with watching(here) as watcher:
        time.sleep(SETTLE_S)
        before = processor_s(watcher.pid)
        time.sleep(SILENCE_S)
        spent = processor_s(watcher.pid) - before
        calls = system_calls(watcher.pid)
    note = f"{sources} sources"
    return [
        Measure("watching in silence", (spent * 3600 / SILENCE_S,), "CPU s/hour", 0, note),
        Measure("watching in silence, system calls", (calls * 60 / SILENCE_S,), "/min", 0, note),
    ]


def lay_out_fixtures(home: Path) -> int:
    """The logs of all fixtures in one home, where their agents would keep them; how many sources that were."""
    sys.path.insert(0, str(ROOT))
    from tests.golden import cases, lay_out

    for case in cases():
        databases = [script.relative_to(case / "home").with_suffix("") for script in case.rglob("*.sql")]
        if not any((home / database).exists() for database in databases):  # one of each will do
            lay_out(case, home)
    for path in home.rglob("*"):
        os.utime(path)  # at work today
    return len({case.parent.name for case in cases()})


def processor_s(pid: int) -> float:
    fields = proc_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    if not fields:
        raise NotHere("/proc")
    return (int(fields[11]) + int(fields[12])) / TICKS


def system_calls(pid: int) -> int:
    """All system calls of a process and its threads within the time, counted by strace."""
    if shutil.which("strace") is None:
        raise NotHere("strace")
    with subprocess.Popen(["strace", "-c", "-f", "-p", str(pid)], stderr=subprocess.PIPE, text=True) as tracer:
        time.sleep(SILENCE_S)
        tracer.send_signal(SIGINT)
        _, said = tracer.communicate(timeout=20)
    counted = CALLS.search(said)
    if counted is None:
        raise MeasureError(f"strace said: {said[-200:].strip()}")
    return int(counted[1])

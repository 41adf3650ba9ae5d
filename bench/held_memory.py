"""The peak memory of a first sync at two sizes: anonymous memory, and mapped files.

    python bench/held_memory.py [--events 100000 400000] [--cache DIR]

Anonymous memory (RssAnon) must not grow with the logs. Mapped files (RssFile) may, because the system can reclaim them.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from generate import cached_home
from product import MB, CommandFailed, Installation, proc_text

POLL_S = 0.01
KINDS = ("RssAnon", "RssFile")


def peaks(installation: Installation) -> dict[str, float]:
    """The peak of each kind of memory in a first sync, in MB."""
    command = installation.command("sync", "--no-distil")
    process = subprocess.Popen(command, env=installation.environment(), stdout=subprocess.DEVNULL)
    highest = dict.fromkeys(KINDS, 0.0)
    while process.poll() is None:
        for line in proc_text(Path(f"/proc/{process.pid}/status")).splitlines():
            name, _, value = line.partition(":")
            if name in highest:
                highest[name] = max(highest[name], int(value.split()[0]) * 1024 / MB)
        time.sleep(POLL_S)
    if process.returncode:
        raise CommandFailed(command, process.returncode, "")
    return highest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs=2, default=[100_000, 400_000])
    parser.add_argument("--cache", type=Path, help="keep the generated logs in this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        cache = arguments.cache or Path(temporary)
        sizes = []
        for events in arguments.events:
            with tempfile.TemporaryDirectory() as state:
                sizes.append(peaks(Installation(cached_home(cache, events), Path(state))))
            print(f"{events:,} events: " + ", ".join(f"{name} {mb:,.0f} MB" for name, mb in sizes[-1].items()), flush=True)
    ratios = (f"{name} x {sizes[1][name] / sizes[0][name]:.2f}" for name in KINDS)
    print(f"{arguments.events[1] / arguments.events[0]:.1f} times the events: {', '.join(ratios)}")


if __name__ == "__main__":
    main()

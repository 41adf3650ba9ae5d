"""What `recollect hook stop` leaves behind: a process that reads the transcripts which have grown, then ends.

`recollect sync` does the reading. One that finds another at work waits for it, as that one may not read these transcripts.
"""

import fcntl
import json
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from recollect import OURS
from recollect.errors import ErrorKind
from recollect.store.lock import is_held
from recollect.surfaces.hook.command import QUEUE

TURN = "hooks.lock"  # whose turn it is among those who read for a hook
PATIENCE_S = 10.0  # whoever else writes for longer is a watcher, or a first import: both read every log anyway
PAUSE_S = 0.1


def read(realm: Path, name: str, transcripts: list[str]) -> None:
    """Read these transcripts and the queued ones; without any name, all logs on this machine."""
    until = time.monotonic() + PATIENCE_S
    realm.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (realm / TURN).open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        waiting = queued(realm)
        paths = _with_sub_agents({*transcripts, *waiting}) if transcripts else []
        command = [*OURS, "sync", "--json", "--realm", name, "--", *paths]
        while _is_free(realm, until):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if not _was_busy(done.stdout):
                return


def queued(realm: Path) -> set[str]:
    """The transcripts that tools were called in, taken from the queue. What is noted from now on begins a new one."""
    taken = realm / f"{QUEUE}.{os.getpid()}"
    try:
        (realm / QUEUE).rename(taken)
        lines = taken.read_bytes().splitlines()
        taken.unlink()
    except OSError:  # there is no queue
        return set()
    found = set()
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):  # a line that was cut off when the disk was full
            found.add(json.loads(line)["transcript_path"])
    return {path for path in found if path and Path(path).exists()}


def _with_sub_agents(transcripts: set[str]) -> list[str]:
    """Sub-agents of Claude Code write into a folder beside their parent's transcript, which has its name."""
    folders = {path.removesuffix(".jsonl") for path in transcripts} - transcripts
    return sorted(transcripts | {folder for folder in folders if Path(folder).is_dir()})


def _is_free(realm: Path, until: float) -> bool:
    """Whether nobody writes this realm, now or soon."""
    while is_held(realm):
        if time.monotonic() > until:
            return False
        time.sleep(PAUSE_S)
    return True


def _was_busy(answer: bytes) -> bool:
    try:
        return bool(json.loads(answer)["error"]["code"] == ErrorKind.STORE_BUSY)
    except (ValueError, KeyError, TypeError):
        return False

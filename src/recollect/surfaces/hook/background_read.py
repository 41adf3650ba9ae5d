"""The process that `recollect hook stop` starts: reads the transcripts that have grown, then ends.

`recollect sync` reads. While another process writes, this one waits, because the other may not read these transcripts.
"""

import fcntl
import json
import subprocess
import time
from pathlib import Path

from recollect import SELF_COMMAND
from recollect.errors import ErrorKind
from recollect.store.lock import is_held
from recollect.surfaces.hook.queue import take_all

LOCK = "hooks.lock"  # held by the process that reads now
PATIENCE_S = 10.0  # seconds: a writer that takes longer is a watcher or a first import: both read every log anyway
PAUSE_S = 0.1


def read(realm: Path, name: str, transcripts: list[str]) -> None:
    """Read these transcripts and the queued ones. Without transcripts, read all logs on this machine."""
    deadline = time.monotonic() + PATIENCE_S
    realm.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (realm / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        queued = take_all(str(realm))
        paths = _with_sub_agents({*transcripts, *queued}) if transcripts else []
        command = [*SELF_COMMAND, "sync", "--json", "--realm", name, "--", *paths]
        while _is_free(realm, deadline):
            result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
            if not _was_busy(result.stdout):
                return


def _with_sub_agents(transcripts: set[str]) -> list[str]:
    """The transcripts and the folders of their sub-agents. Claude Code names that folder like the parent's transcript."""
    folders = {path.removesuffix(".jsonl") for path in transcripts} - transcripts
    return sorted(transcripts | {folder for folder in folders if Path(folder).is_dir()})


def _is_free(realm: Path, deadline: float) -> bool:
    """Wait until no process writes this realm; False if that takes too long."""
    while is_held(realm):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE_S)
    return True


def _was_busy(answer: bytes) -> bool:
    try:
        return bool(json.loads(answer)["error"]["code"] == ErrorKind.STORE_BUSY)
    except (ValueError, KeyError, TypeError):
        return False

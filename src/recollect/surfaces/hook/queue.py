"""The queue between `post-tool-use` and `stop`: one line for every transcript that has grown.

The queue is only a hint: with it, `stop` also reads what other agents wrote. The logs themselves are complete.
"""
# ruff: noqa: PTH103, PTH104, PTH108, PTH110, PTH118, PTH123

import os
import time

from recollect.folders import HOOK_QUEUE
from recollect.light_json import parse, quote

MAX_QUEUE_BYTES = 1_000_000  # above this size the queue starts over
MAX_LINE_BYTES = 16_000  # four paths of the maximum length


def append(folder: str, transcript: str) -> None:
    """Add a transcript to the queue of a realm's folder, in one write."""
    line = f'{{"transcript_path": {quote(transcript)}, "at": "{time.time():.3f}"}}\n'.encode()
    if len(line) > MAX_LINE_BYTES:
        raise ValueError("the host sent a path that is too long")
    handle = _open(folder)
    try:
        if os.fstat(handle).st_size > MAX_QUEUE_BYTES:
            os.ftruncate(handle, 0)
        os.write(handle, line)
    finally:
        os.close(handle)


def _open(folder: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT  # other hooks append at the same time
    try:
        return os.open(os.path.join(folder, HOOK_QUEUE), flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, HOOK_QUEUE), flags, 0o600)


def take_all(folder: str) -> set[str]:
    """The queued transcripts that still exist. The queue is empty afterwards."""
    path = os.path.join(folder, HOOK_QUEUE)
    claimed = f"{path}.{os.getpid()}"
    try:
        os.rename(path, claimed)  # later hooks start a new file
        with open(claimed, "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
        os.unlink(claimed)
    except OSError:  # there is no queue
        return set()
    return {path for path in map(_path, lines) if path and os.path.exists(path)}


def _path(line: str) -> str:
    try:
        entry = parse(line)
    except ValueError:  # the line is incomplete: the disk was full
        return ""
    path = entry.get("transcript_path") if isinstance(entry, dict) else None
    return path if isinstance(path, str) else ""

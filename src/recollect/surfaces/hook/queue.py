"""The queue between `post-tool-use` and `stop`: one line for every transcript that has grown.

It is a hint, so that `stop` reads what other agents wrote as well. The logs themselves are complete.
"""
# ruff: noqa: PTH103, PTH104, PTH108, PTH110, PTH118, PTH123

import os
import time

from recollect.light_json import parse, quote

QUEUE = "hooks.queue"
QUEUE_BYTES = 1_000_000  # then the queue starts over
LINE_BYTES = 16_000  # four paths of the greatest length


def append(folder: str, transcript: str) -> None:
    """Add a transcript to the queue of a realm's folder, in one write."""
    line = f'{{"transcript_path": {quote(transcript)}, "at": "{time.time():.3f}"}}\n'.encode()
    if len(line) > LINE_BYTES:
        raise ValueError("the host sent a path that is too long")
    handle = _open(folder)
    try:
        if os.fstat(handle).st_size > QUEUE_BYTES:
            os.ftruncate(handle, 0)
        os.write(handle, line)
    finally:
        os.close(handle)


def _open(folder: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT  # other hooks append at the same time
    try:
        return os.open(os.path.join(folder, QUEUE), flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, QUEUE), flags, 0o600)


def take_all(folder: str) -> set[str]:
    """The queued transcripts that still exist. The queue is empty afterwards."""
    path = os.path.join(folder, QUEUE)
    taken = f"{path}.{os.getpid()}"
    try:
        os.rename(path, taken)  # hooks that come later begin a new file
        with open(taken, "rb") as file:
            lines = file.read().decode("utf-8", "replace").splitlines()
        os.unlink(taken)
    except OSError:  # there is no queue
        return set()
    return {path for path in map(_path, lines) if path and os.path.exists(path)}


def _path(line: str) -> str:
    try:
        entry = parse(line)
    except ValueError:  # the disk was full in the middle of a line
        return ""
    path = entry.get("transcript_path") if isinstance(entry, dict) else None
    return path if isinstance(path, str) else ""

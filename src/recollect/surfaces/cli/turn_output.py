"""What the commands that run turns share: their input, and the answer as it arrives."""

import shlex
import sys
from typing import Any

import click
import msgspec

from recollect.operations import Reply
from recollect.surfaces.cli.render import plain
from recollect.surfaces.transport.write_queue import WriteQueue, write_all

DRAIN_S = 1.0  # seconds to print the rest of an interrupted answer


class AnswerPrinter:
    """Prints the answer on standard output as it arrives. Prints nothing with --json.

    Text for a slow reader is never dropped. A turn's limit on its output bounds the queue.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet or sys.stdout is None
        self._last = "\n"
        self._write_queue = WriteQueue(lambda text: write_all(sys.stdout.fileno(), text))

    def on_event(self, event: dict[str, Any]) -> None:
        if event["type"] == "text_delta" and event["delta"] and not self._is_quiet:
            self._last = event["delta"][-1]
            self._print(plain(event["delta"]))

    def is_unread(self) -> bool:
        """Whether printing failed: the reader closed the pipe, or the disk is full."""
        return self._write_queue.fault is not None

    def close(self, seconds: float | None) -> None:
        """Print the rest of the queue within these seconds; None sets no limit."""
        if self._last != "\n":
            self._print("\n")
        self._write_queue.close(seconds)
        if self._write_queue.fault is not None and not isinstance(self._write_queue.fault, BrokenPipeError):
            raise self._write_queue.fault

    def _print(self, text: str) -> None:
        self._write_queue.put_response(text.encode(sys.stdout.encoding, "replace"))


def failed_session(reply: Reply) -> str | None:
    """The session of a turn that failed."""
    answer = msgspec.json.decode(reply.text)
    details = answer.get("error", answer).get("details", {})
    session: str | None = details.get("session_id")
    return session


def read_stdin() -> str:
    """All of standard input. Bytes that are not UTF-8 are replaced."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin is not None else ""


def split_command(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as reason:
        raise click.UsageError(f"Cannot parse --command {command!r}: {reason}.") from reason

"""The child process of a turn: started in its own process group, and ended with everything in it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from recollect.errors import BadRequest, ProviderFault
from recollect.live.runners.runner import Assignment
from recollect.model import path_text
from recollect.processes import TURN_MARK, device_and_inode, stop_detached, stop_group
from recollect.settings import TOKEN

FIRST_LINE_SIZE = 256  # bytes of a script's first line that the system reads
STDERR_SIZE = 4_096  # bytes of standard error that are stored: its end says what went wrong


@contextmanager
def running_process(assignment: Assignment) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the program of a turn with pipes, and end it with everything it started when the block ends.

    A program that ended by itself may leave processes running on purpose, unless the turn is cancelled.
    """
    process = _start(assignment)
    pipes = {
        device_and_inode(os.fstat(stream.fileno())) for stream in (process.stdout, process.stderr) if stream is not None
    }
    try:
        assignment.on_process_started(process.pid)
        yield process
    finally:
        if process.poll() is None or assignment.cancel.is_set():
            stop(process)
        if assignment.cancel.is_set():
            stop_detached(assignment.mark, pipes)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _start(assignment: Assignment) -> "subprocess.Popen[bytes]":
    """Start a program, or raise the reason why it cannot start. Its output never reaches our own terminal."""
    command, folder, pipe = assignment.command, assignment.folder, subprocess.PIPE
    if not command:
        raise BadRequest("this runner needs a command: a program and its arguments", field="command")
    try:
        return subprocess.Popen(
            command,
            cwd=_actual_folder(folder),
            env=_environment(assignment.mark),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
    except FileNotFoundError as reason:
        missing = (
            _describe_missing(command[0], _actual_folder(folder))
            if _actual_folder(folder).is_dir()
            else f"The folder {folder} does not exist."
        )
        raise ProviderFault(missing, command=list(command)) from reason
    except OSError as reason:
        raise ProviderFault(f"{command[0]!r} cannot be run: {reason.strerror or reason}.", command=list(command)) from reason
    except ValueError as reason:  # a zero byte inside
        raise BadRequest(f"command cannot be run: {reason}", field="command") from reason


def _describe_missing(program: str, folder: Path) -> str:
    """What is missing: the program itself, or the interpreter that its first line names."""
    path = str(folder / program) if "/" in program else shutil.which(program)
    if path is None or not Path(path).is_file():
        return f"There is no program {program!r}."
    with Path(path).open("rb") as file:
        first_line = file.readline(FIRST_LINE_SIZE)
    if not first_line.startswith(b"#!"):
        return f"{program!r} cannot be run: its loader or a library is missing on this system."
    interpreter = first_line[2:].decode("utf-8", "replace").strip(" \t\n")  # a carriage return is part of its name
    return f"{program!r} cannot be run: its interpreter {interpreter!r} does not exist."


def _environment(mark: str) -> dict[str, str]:
    """Our environment with the turn's mark, and without our server's token: an agent must not call it."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    return {**environment, TURN_MARK: mark} if mark else environment


def _actual_folder(folder: Path) -> Path:
    """The folder on disk. A name that is not UTF-8 is stored as similar text, by which the working directory is found."""
    with suppress(FileNotFoundError):  # the working directory was deleted
        current = Path.cwd()
        return current if path_text(current) == str(folder) else folder
    return folder


def describe_exit(code: int) -> str:
    """How a program ended, by its exit code."""
    return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"


def failure_message(program: str, action: str, stderr: str) -> str:
    """What a program did, with the last line of its standard error."""
    *_, last = ["", *stderr.strip().splitlines()]
    shown = "".join(character for character in last if character.isprintable())  # no escape sequences
    return f"{program!r} {action}{f': {shown}' if shown else '.'}"


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a program and everything it started: first with SIGTERM, soon after with SIGKILL."""
    stop_group(process.pid, process.poll)
    process.wait()

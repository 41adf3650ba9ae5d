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
from recollect.processes import TURN_MARK, file_identity, stop_detached, stop_group
from recollect.settings import TOKEN

INTERPRETER = 256  # bytes of a script's first line that the system reads
STDERR_SIZE = 4_096  # bytes of standard error that are kept: its end says what went wrong


@contextmanager
def running_process(assignment: Assignment) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the program of a turn with pipes, and end it with everything it started when the block ends.

    A program that ended by itself may leave processes running on purpose, unless the turn is cancelled.
    """
    process = _start(assignment)
    pipes = {file_identity(os.fstat(stream.fileno())) for stream in (process.stdout, process.stderr) if stream is not None}
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
    """Start a program, or raise why not. Its output never reaches our own terminal."""
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
            else f"The folder {folder} is not there."
        )
        raise ProviderFault(missing, command=list(command)) from reason
    except OSError as reason:
        raise ProviderFault(f"{command[0]!r} cannot be run: {reason.strerror or reason}.", command=list(command)) from reason
    except ValueError as reason:  # a zero byte inside
        raise BadRequest(f"command cannot be run: {reason}", field="command") from reason


def _describe_missing(program: str, folder: Path) -> str:
    """What is missing: the program itself, or the interpreter that its first line names."""
    found = str(folder / program) if "/" in program else shutil.which(program)
    if found is None or not Path(found).is_file():
        return f"There is no program {program!r}."
    with Path(found).open("rb") as file:
        first = file.readline(INTERPRETER)
    if not first.startswith(b"#!"):
        return f"{program!r} cannot be run: what this system needs to run it is not there."
    interpreter = first[2:].decode("utf-8", "replace").strip(" \t\n")  # a return is part of its name
    return f"{program!r} cannot be run: its interpreter {interpreter!r} is not there."


def _environment(mark: str) -> dict[str, str]:
    """Our environment with the turn's mark, and without our server's token: an agent must not call it."""
    ours = {name: value for name, value in os.environ.items() if name != TOKEN}
    return {**ours, TURN_MARK: mark} if mark else ours


def _actual_folder(folder: Path) -> Path:
    """The folder on disk. A name that is not UTF-8 is stored approximately; the working directory is recognised by it."""
    with suppress(FileNotFoundError):  # the working directory was deleted
        here = Path.cwd()
        return here if path_text(here) == str(folder) else folder
    return folder


def describe_exit(code: int) -> str:
    """How a program ended, by its exit code."""
    return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"


def failure_message(program: str, action: str, stderr: str) -> str:
    """What a program did, with the last line of its standard error."""
    *_, last = ["", *stderr.strip().splitlines()]
    shown = "".join(sign for sign in last if sign.isprintable())  # no escape sequences
    return f"{program!r} {action}{f': {shown}' if shown else '.'}"


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a program and everything it started: first by SIGTERM, soon by SIGKILL."""
    stop_group(process.pid, process.poll)
    process.wait()

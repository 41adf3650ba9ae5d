"""A pseudo-terminal that programs take for a person's terminal."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

from tests.conftest import Person

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_a_terminal(person: Person, *arguments: str, columns: int = 120, typed: str = "", **environment: str) -> str:
    """The complete output of a command on a terminal, with control sequences. `typed` is what the person types."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {**person.env, "TERM": "xterm-256color", **environment}
    env = {name: value for name, value in env.items() if name not in {"COLUMNS", "LINES"}}
    command = [sys.executable, "-m", "recollect", *arguments]
    with subprocess.Popen(command, env=env, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        os.write(leader, typed.encode())
        shown = b"".join(iter(lambda: _read(leader), b""))
        os.close(leader)
        process.wait(60)
    return shown.decode().replace("\r\n", "\n")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # Linux reports a closed terminal in this way
        return b""


def plain(shown: str) -> str:
    return CONTROL.sub("", shown)

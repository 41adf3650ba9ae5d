"""Finds the command that starts this program, with absolute paths: agents start it without a person's PATH."""
# ruff: noqa: PTH100, PTH113 - `pathlib` cannot make a path absolute without following links

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

NAMES = ("recollect", "recollect-agents")  # of the program, and of the package in `uvx recollect-agents mcp`
TEMPORARY = re.compile(r"/uv/(?:archive|builds|environments)-v\d+/|/pipx/\.cache/|/_npx/")  # not permanent
HOOK = re.compile(r"(?P<program>.*\brecollect\b.*?)\s+hook\s+(?P<event>[a-z-]+)(?P<options>(?:\s.*)?)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ProgramCommand:
    words: tuple[str, ...]
    """The program and its first arguments."""
    home: str | None = None
    """The state folder, if RECOLLECT_HOME names it: agents may start the program without that variable."""

    def hook(self, event: str, options: str = "") -> str:
        """The command line of a hook, for a shell."""
        return f"{shlex.join(self.words)} hook {event}{options}"

    @property
    def is_temporary(self) -> bool:
        """Whether the program is in an environment that a tool deletes some day."""
        return TEMPORARY.search(self.words[0]) is not None


def this_program(env: Mapping[str, str]) -> ProgramCommand:
    """The command that agents should run: the installed script, else this interpreter with the module."""
    home = env.get("RECOLLECT_HOME")
    state = str(Path(home).expanduser().absolute()) if home else None
    script = _script(sys.argv[0]) or _script(str(Path(sys.executable).with_name("recollect")))
    words = (script,) if script else (os.path.abspath(sys.executable), "-P", "-m", "recollect")
    program = ProgramCommand(words, state)
    if program.is_temporary and (installed := shutil.which("recollect", path=env.get("PATH"))):
        installed = os.path.abspath(installed)
        return program if TEMPORARY.search(installed) else ProgramCommand((installed,), state)
    return program


def _script(path: str) -> str | None:
    """The absolute path of a program named `recollect`. Links stay: an upgrade replaces what they point to."""
    absolute = os.path.abspath(path)
    is_program = PurePath(absolute).name == "recollect" and os.path.isfile(absolute) and os.access(absolute, os.X_OK)
    return absolute if is_program else None


def runs_recollect(words: Sequence[Any]) -> bool:
    """Whether a command runs this program, in any installation."""
    return any(isinstance(word, str) and PurePath(word).name.partition("@")[0].partition("==")[0] in NAMES for word in words)


def is_plain(words: Sequence[Any]) -> bool:
    """Whether a command is nothing but this program: not `uvx`, a container, or a command of a shell before it."""
    *before, last = words or ("",)
    is_module = len(before) > 1 and before[-1] == "-m" and all(str(word).startswith("-") for word in before[1:])
    return runs_recollect([last]) and (not before or is_module)


def is_plain_hook(command: str) -> bool:
    """Whether the command line of a hook runs nothing but this program."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return "hook" in words and is_plain(words[: words.index("hook")])


def hook_parts(command: object) -> tuple[str, str] | None:
    """The event and the options of a command line that runs one of our hooks."""
    match = HOOK.fullmatch(command) if isinstance(command, str) else None
    return (match["event"], match["options"]) if match else None

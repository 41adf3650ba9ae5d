"""Kilo Code, a fork of Roo Code, keeps one folder per task in its editor's storage; `_task_folder` tells what is in it.

Evidence: published types; no real session was at hand.
Nothing in such a folder says that it is not Roo Code's, so it is known by where it lies. Since version 7 it keeps its
sessions in a database of OpenCode's make, which is another format.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_storage
from recollect.sources.tasks.folder import task_format

EXTENSION = "kilocode.kilo-code"


def homes(env: Mapping[str, str]) -> list[Path]:
    """Its first command line kept tasks under ~/.kilocode/cli."""
    command_line = user_home(env) / ".kilocode/cli/global"
    return [folder / "tasks" for folder in (*extension_storage(env, EXTENSION), command_line)]


SOURCE = Source(name="kilo-code", title="Kilo Code", formats=(task_format("kilo-code", homes, EXTENSION),))

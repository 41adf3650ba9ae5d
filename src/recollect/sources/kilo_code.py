"""Kilo Code, a fork of Roo Code, keeps one folder per task in its editor's storage; `tasks.folder` describes it.

Evidence: published types; no real session was available.
Nothing in such a folder distinguishes it from Roo Code's, so it is recognised by its place. Since version 7 it keeps its
sessions in a database of OpenCode's kind, which is another format.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_storage
from recollect.sources.tasks.folder import task_format

EXTENSION = "kilocode.kilo-code"


def homes(env: Mapping[str, str]) -> list[Path]:
    """The editors' folders, and that of its first command line, ~/.kilocode/cli."""
    command_line = user_home(env) / ".kilocode/cli/global"
    return [folder / "tasks" for folder in (*extension_storage(env, EXTENSION), command_line)]


SOURCE = Source(name="kilo-code", title="Kilo Code", formats=(task_format("kilo-code", homes, EXTENSION),))

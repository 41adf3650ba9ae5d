"""Roo Code, a fork of Cline, keeps one folder per task in its editor's storage; `tasks.folder` describes it.

Evidence: published types, and one published task that was looked at; no real session was available.
Its tasks are named by UUIDs, begin with a plain text, and may start others: `history_item.json` names the parent task.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_storage
from recollect.sources.tasks.folder import task_format

EXTENSION = "rooveterinaryinc.roo-cline"


def homes(env: Mapping[str, str]) -> list[Path]:
    """The editors' folders, and that of the mock editor in which its command line runs the extension."""
    likeness = user_home(env) / ".vscode-mock/global-storage"
    return [folder / "tasks" for folder in (*extension_storage(env, EXTENSION), likeness)]


SOURCE = Source(name="roo-code", title="Roo Code", formats=(task_format("roo-code", homes, EXTENSION),))

"""Roo Code, a fork of Cline, stores one folder per task in its editor's storage; `tasks.folder` describes it.

Evidence: published types, and one published task; no real session was available.
Its tasks are named by UUIDs, begin with a plain text, and may start other tasks: `history_item.json` names the parent
task.
"""

from recollect.sources.formats.homes import all_of, in_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_homes
from recollect.sources.tasks.folder import task_format

EXTENSION = "rooveterinaryinc.roo-cline"
# The last folder is that of the mock editor in which its command line runs the extension
HOMES = all_of(extension_homes(EXTENSION, "tasks"), in_home(".vscode-mock/global-storage/tasks"))
SOURCE = Source(name="roo-code", title="Roo Code", formats=(task_format("roo-code", HOMES, EXTENSION),))

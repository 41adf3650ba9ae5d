"""Kilo Code, a fork of Roo Code, stores one folder per task in its editor's storage; `tasks.folder` describes it.

Evidence: published types; no real session was available.
The content of such a folder does not distinguish it from Roo Code's, so its path does. Since version 7 Kilo Code stores
its sessions in a database like OpenCode's, which is another format.
"""

from recollect.sources.formats.homes import all_of, in_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_homes
from recollect.sources.tasks.folder import task_format

EXTENSION = "kilocode.kilo-code"
# The last folder is that of its first command line
HOMES = all_of(extension_homes(EXTENSION, "tasks"), in_home(".kilocode/cli/global/tasks"))
SOURCE = Source(name="kilo-code", title="Kilo Code", formats=(task_format("kilo-code", HOMES, EXTENSION),))

"""Kilo Code, a fork of Roo Code, keeps one folder per task in its editor's storage; `tasks.folder` describes it.

Evidence: published types; no real session was available.
Nothing in such a folder distinguishes it from Roo Code's, so it is recognised by its place. Since version 7 it keeps its
sessions in a database of OpenCode's kind, which is another format.
"""

from recollect.sources.formats.homes import all_of, in_home
from recollect.sources.formats.source import Source
from recollect.sources.formats.vscode import extension_homes
from recollect.sources.tasks.folder import task_format

EXTENSION = "kilocode.kilo-code"
# the last is that of its first command line
HOMES = all_of(extension_homes(EXTENSION, "tasks"), in_home(".kilocode/cli/global/tasks"))
SOURCE = Source(name="kilo-code", title="Kilo Code", formats=(task_format("kilo-code", HOMES, EXTENSION),))

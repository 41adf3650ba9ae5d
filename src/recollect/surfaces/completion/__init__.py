"""Completes a command line while it is typed: `recollect __complete SHELL WORD…`, which the scripts of the shells call.

It runs at every tab, so it imports neither the commands nor the store. What it knows about commands comes from a table in
the state folder, which is made once per version of the program. Names come from single queries.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recollect import __version__
from recollect.folders import state_folder_of
from recollect.surfaces.completion.candidates import TypedLine, candidates
from recollect.surfaces.completion.words import as_bash_reply, split_line

PRIVATE = 0o077  # umask: only the owner can read what we write
FILES = "\x01"  # a line that tells the shell to complete the names of files
TABLE = "completion.json"  # in the state folder
KEY = "made_by"  # of the table: the version and the files that it was made from


def main(arguments: Sequence[str]) -> None:
    """Print the candidates, one per line, with a tab before the description."""
    os.umask(PRIVATE)
    shell, *words = arguments
    if shell == "bash":
        words = split_line(words[0])
    line = TypedLine(words, Path(state_folder_of(os.environ)))
    found = candidates(_table(line.state_folder), line)
    if found is None:
        print(FILES)
    elif shell == "bash":
        print("\n".join(as_bash_reply(found, line.typed)))
    else:
        print("\n".join("\t".join(candidate) for candidate in found))


def _table(state_folder: Path) -> dict[str, Any]:
    """The commands with their options. Made again when the program is another version."""
    path, made_by = state_folder / TABLE, _made_by()
    try:
        stored: dict[str, Any] = json.loads(path.read_bytes())
        if stored.get(KEY) == made_by:
            return stored
    except (OSError, ValueError, AttributeError):
        pass
    from recollect.surfaces.cli.command_table import command_table  # 400 ms, once per version

    table = {KEY: made_by, **command_table()}
    if state_folder.is_dir():
        _store(path, table)
    return table


def _store(path: Path, table: dict[str, Any]) -> None:
    """Write the table; a folder that cannot be written is left as it is."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(table), "utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _made_by() -> str:
    """The version of the program, and when a file of its commands was last added or removed."""
    commands = Path(__file__).parent.parent / "cli" / "commands"
    return f"{__version__} {commands.stat().st_mtime_ns}"

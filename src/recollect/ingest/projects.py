"""Finds logs inside projects: Aider's history, Crush's database, SpecStory's folder.

Two kinds of folders are searched. The first are the working folders of all sessions and their repositories. The second are
the folders in the setting `project_folders` and those below them.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from recollect.model import Problem
from recollect.project import repository_folder
from recollect.settings import Settings
from recollect.sources import Format, Source

DEPTH = 4  # folders below a named one: ~/code/<group>/<repository>/<package> is three
MAX_FOLDERS = 20_000  # folders that are searched below the named ones: takes about a second
SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages"}  # thousands of folders without projects


def project_folders(working_folders: Iterable[Path], sources: Iterable[Source], settings: Settings) -> list[Path]:
    """The folders that may hold logs of projects, each once."""
    names = {Path(location).parts[0] for source in sources for format in source.formats for location in format.in_projects}
    working_folders = list(working_folders)
    repositories = (root for folder in working_folders if (root := repository_folder(str(folder))) is not None)
    return list(dict.fromkeys([*working_folders, *repositories, *_below(settings.project_folders, names)]))


def logs_in_projects(source: Source, projects: Iterable[Path]) -> Iterator[tuple[Format, Path | Problem]]:
    """The logs of a source in these folders, each with its format."""
    locations = [(format, location) for format in source.formats for location in format.in_projects]
    paths = [(format, project / location) for project in projects for format, location in locations]
    for format, path in paths:
        try:
            logs = list(format.find(path)) if path.is_dir() else [path] if path.is_file() else []
        except (OSError, ValueError):  # an impossible path, such as one with 5,000 letters
            continue
        yield from ((format, log) for log in logs)


def _below(roots: Iterable[str], names: set[str]) -> Iterator[Path]:
    """The folders with an entry of one of these names, at most DEPTH levels below the roots."""
    waiting = [(Path(root).expanduser(), 0) for root in roots]
    for folder, depth in waiting:  # the list grows during the loop: breadth first
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue
        if any(entry.name in names for entry in entries):
            yield folder
        if depth < DEPTH:
            waiting += [(folder / entry.name, depth + 1) for entry in entries if _may_hold_projects(entry)]
        del waiting[MAX_FOLDERS:]


def _may_hold_projects(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False

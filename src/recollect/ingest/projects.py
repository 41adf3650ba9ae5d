"""Finds logs inside projects: Aider's history, Crush's database, SpecStory's folder.

Two kinds of folders are searched: the working folders of all sessions, with their repositories, and the folders below
those in the setting `project_folders`.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from recollect.model import Problem
from recollect.project import repository_folder
from recollect.settings import Settings
from recollect.sources import Format, Source

DEPTH = 4  # folders below a named one: ~/code/<group>/<repository>/<package> is three
MOST = 20_000  # folders that are searched below the named ones: takes about a second
NO_PROJECTS = {"node_modules", "__pycache__", "site-packages"}  # thousands of folders without projects


def project_folders(worked_in: Iterable[Path], sources: Iterable[Source], settings: Settings) -> list[Path]:
    """The folders that may hold such logs, each once."""
    names = {Path(place).parts[0] for source in sources for format in source.formats for place in format.in_projects}
    worked_in = list(worked_in)
    repositories = (root for folder in worked_in if (root := repository_folder(str(folder))) is not None)
    return list(dict.fromkeys([*worked_in, *repositories, *_below(settings.project_folders, names)]))


def logs_in_projects(source: Source, projects: Iterable[Path]) -> Iterator[tuple[Format, Path | Problem]]:
    """The logs of a source in these folders, each with its format."""
    places = [(format, project / place) for project in projects for format in source.formats for place in format.in_projects]
    for format, place in places:
        try:
            found = list(format.find(place)) if place.is_dir() else [place] if place.is_file() else []
        except (OSError, ValueError):  # an impossible path, such as one with 5,000 letters
            continue
        yield from ((format, log) for log in found)


def _below(roots: Iterable[str], names: set[str]) -> Iterator[Path]:
    """Those of these folders, and of the folders up to DEPTH below, that hold a file or folder of such a name."""
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
        del waiting[MOST:]


def _may_hold_projects(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in NO_PROJECTS:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False

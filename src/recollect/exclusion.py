"""Checks whether a person excluded a folder, log or project: by settings, or by marker files.

The settings are `exclude` and `exclude_projects`. Hooks import this module while an agent waits, so it uses only `os.path`.
Importing pathlib takes 4 ms.
"""
# ruff: noqa: PTH110, PTH118, PTH123

import os
from _collections_abc import Mapping  # the public module imports all of `collections`: 1 ms

from recollect.folders import SETTINGS_FILE, existing_folders

MARKER = ".no-recollect"  # a file with this name excludes its folder and all folders below

_markers: dict[str, bool] = {}  # by folder; a sync checks the same few folders for every session


def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Whether one of these globs matches a path."""
    if not globs:
        return False
    from fnmatch import fnmatch  # it imports `re`, which takes 5 ms

    return any(fnmatch(path, glob) for glob in globs)


def is_excluded(cwd: str | None, project: str | None, globs: tuple[str, ...], projects: tuple[str, ...]) -> bool:
    """Whether a person excluded the sessions of this working folder or project.

    `globs` is the setting `exclude`, `projects` is `exclude_projects`.
    """
    if project is not None and project in projects:
        return True
    if not cwd:
        return False
    return matches(cwd, globs) or matches(f"{cwd}/", globs) or any(map(has_marker, existing_folders(cwd)))


def has_marker(folder: str) -> bool:
    """Whether a folder holds the marker file. The answer is cached until `forget_markers`."""
    if folder not in _markers:
        _markers[folder] = os.path.exists(os.path.join(folder, MARKER))
    return _markers[folder]


def forget_markers() -> None:
    """Clear the cache of marker files."""
    _markers.clear()


def excluded_by_settings(state_folder: str, env: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`exclude` and `exclude_projects`, read without the other settings.

    Invalid settings exclude nothing here; every other command reports them.
    """
    globs, projects = _in_file(os.path.join(state_folder, SETTINGS_FILE))
    if exclude := env.get("RECOLLECT_EXCLUDE"):
        globs = tuple(exclude.split(os.pathsep))
    return globs, projects


def _in_file(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return (), ()
    if b"exclude" not in content:
        return (), ()
    import tomllib  # 15 ms, which a hook only needs if the settings exclude something

    try:
        values = tomllib.loads(content.decode("utf-8"))
    except ValueError:
        return (), ()
    return _texts(values.get("exclude")), _texts(values.get("exclude_projects"))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()

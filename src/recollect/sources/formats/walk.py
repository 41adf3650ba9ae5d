"""Finds the files in a folder, in a stable order."""

import os
from collections.abc import Iterator
from pathlib import Path

from recollect.model import Problem
from recollect.processes import device_and_inode
from recollect.sources.formats.container import describe_error


def walk(root: Path, endings: tuple[str, ...], *, deep: bool = True) -> Iterator[Path | Problem]:
    """Every file in a folder with one of these endings; if `deep`, in its subfolders too. Link loops are not followed."""
    folders, seen = [str(root)], set()
    while folders:
        folder = folders.pop()
        try:
            identity = device_and_inode(Path(folder).stat())
            if identity in seen:
                continue
            seen.add(identity)
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as reason:
            yield Problem(Path(folder), 0, f"folder {describe_error(reason)}")
            continue
        if deep:
            folders += [entry.path for entry in entries if _is_folder(entry)]
        yield from (Path(entry.path) for entry in reversed(entries) if entry.name.endswith(endings) and _is_file(entry))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that points to itself
        return False


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False

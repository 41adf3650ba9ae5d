"""Which project a working folder belongs to: its repository, however many worktrees of it there are."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PureWindowsPath

from recollect.worktree import repository_of_worktree

LONGEST_PATH = 4_096  # bytes: the kernel refuses longer paths, so no folder has one
LONGEST_NAME = 255  # characters of a file name, on every file system that people use


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """The name of the repository that holds `cwd`, or the folder's own name where there is none.

    The folder is looked at where it still exists; where it is gone, or was another machine's, its path has to do.
    """
    root = repository_folder(cwd)
    if root is not None:
        return root.name
    return (repository_of_worktree(cwd) or PureWindowsPath(cwd).name or cwd)[:LONGEST_NAME]


def existing_folders(path: str) -> Iterator[Path]:
    """The folder that a path names and its parents, deepest first, as far as they exist on this machine.

    A log may name any path, also one of 40,000 parts. The walk begins at the root and ends at the first part that does
    not exist, so it costs no more than the folders that there are.
    """
    if len(path) > LONGEST_PATH or not Path(path).is_absolute():
        return
    root, *parts = Path(path).parts
    found = [Path(root)]
    with suppress(OSError):  # not ours to look into
        for part in parts:
            if not (deeper := found[-1] / part).is_dir():
                break
            found.append(deeper)
    yield from reversed(found)


def repository_folder(cwd: str) -> Path | None:
    """The root of the repository that holds a folder of this machine; None where there is none."""
    for candidate in existing_folders(cwd):
        mark = candidate / ".git"
        try:
            if mark.is_dir():
                return candidate
            if mark.is_file():
                return _main_worktree(mark) or candidate
        except (OSError, ValueError):  # not ours to look into, or no possible path
            return None
    return None


def _main_worktree(mark: Path) -> Path | None:
    """A linked worktree's `.git` is a file that points into `<main>/.git/worktrees/<name>`."""
    pointer = mark.read_text("utf-8", "replace").strip().removeprefix("gitdir:").strip()
    folder = (mark.parent / pointer).resolve()
    return next((parent.parent for parent in folder.parents if parent.name == ".git"), None)

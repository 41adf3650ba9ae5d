"""Finds the project of a working folder: its repository, also from a worktree."""

from functools import lru_cache
from pathlib import Path, PureWindowsPath

from recollect.folders import existing_folders
from recollect.worktree import repository_of_worktree

MAX_NAME = 255  # characters of a file name, on all common file systems


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """The name of the repository that contains `cwd`, or the name of the folder if there is none.

    If the folder does not exist on this machine, only its path is used.
    """
    root = repository_folder(cwd)
    if root is not None:
        return root.name
    return (repository_of_worktree(cwd) or PureWindowsPath(cwd).name or cwd)[:MAX_NAME]


def repository_folder(cwd: str) -> Path | None:
    """The root of the repository that contains a folder of this machine, or None."""
    root = checkout_folder(cwd)
    if root is None:
        return None
    try:
        return (_main_worktree(root / ".git") if (root / ".git").is_file() else None) or root
    except (OSError, ValueError):  # no permission
        return None


def checkout_folder(cwd: str) -> Path | None:
    """The root of the repository or worktree that contains a folder of this machine, or None."""
    for candidate in map(Path, existing_folders(cwd)):
        try:
            if (candidate / ".git").exists():
                return candidate
        except (OSError, ValueError):  # no permission, or an impossible path
            return None
    return None


def _main_worktree(mark: Path) -> Path | None:
    """The main worktree, by the `.git` file of a linked one, which points into `<main>/.git/worktrees/<name>`."""
    pointer = mark.read_text("utf-8", "replace").strip().removeprefix("gitdir:").strip()
    folder = (mark.parent / pointer).resolve()
    return next((parent.parent for parent in folder.parents if parent.name == ".git"), None)

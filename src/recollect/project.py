"""Which project a working folder belongs to: its repository, however many worktrees of it there are."""

import re
from functools import lru_cache
from pathlib import Path, PureWindowsPath

WORKTREES = re.compile(r"^(?P<root>.+?)[/\\]\.(?:claude|codex|cursor|git)?[/\\]?worktrees[/\\]")


@lru_cache(maxsize=4096)
def project_of(cwd: str) -> str:
    """The name of the repository that holds `cwd`, or the folder's own name where there is none.

    The folder is looked at where it still exists; where it is gone, or was another machine's, its path has to do.
    """
    root = _repository(Path(cwd)) if Path(cwd).is_absolute() else None
    if root is not None:
        return root.name
    if (match := WORKTREES.match(cwd)) and (name := PureWindowsPath(match["root"]).name):
        return name
    return PureWindowsPath(cwd).name or cwd


def _repository(folder: Path) -> Path | None:
    for candidate in (folder, *folder.parents):
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

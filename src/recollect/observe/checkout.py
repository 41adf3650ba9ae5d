"""Paths relative to the checkout of a session's folder: sessions in different folders of it name a file alike."""

from functools import lru_cache

from recollect.observe.paths import join_path, project_path
from recollect.project import checkout_folder


def in_checkout(path: str, folder: str | None) -> str:
    """A path relative to the root of the checkout, if it is inside. `path` is relative to the folder, or absolute."""
    root = _root(folder) if folder else None
    if root is None:
        return path
    return project_path(join_path(folder or "", path), root) or path


@lru_cache(maxsize=1_024)
def _root(folder: str) -> str | None:
    """The root of the checkout above a folder; None if the folder is the root, or there is no repository."""
    root = checkout_folder(folder)
    return str(root) if root is not None and folder.startswith(f"{root}/") else None

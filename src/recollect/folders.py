"""Folders that a path names, as far as they exist on this machine. Uses `os.path` only: hooks import it."""
# ruff: noqa: PTH112, PTH117, PTH118, PTH206

import os

LONGEST_PATH = 4_096  # bytes: the kernel refuses longer paths, so no folder has one


def existing_folders(path: str) -> list[str]:
    """The folder that an absolute path names and its parents, deepest first, without those that do not exist.

    A log can name any path, even one with 40,000 parts. The walk starts at the root and stops at the first missing folder.
    """
    if len(path) > LONGEST_PATH or not os.path.isabs(path):
        return []
    found = [os.sep]
    for part in filter(None, path.split(os.sep)):
        deeper = os.path.join(found[-1], part)
        if not os.path.isdir(deeper):
            break
        found.append(deeper)
    return found[::-1]

"""Finds the state folder, and the existing folders of a path. Uses only `os.path`: hooks import it at every tool call."""
# ruff: noqa: PTH111, PTH112, PTH117, PTH118, PTH206

import os
import sys
from _collections_abc import Mapping  # the public module imports all of `collections`: 1 ms

HOOK_QUEUE = "hooks.queue"  # in a realm's folder: the transcripts that hooks saw growing
SETTINGS_FILE = "settings.toml"  # in the state folder
MAX_PATH = 4_096  # bytes: the kernel rejects longer paths, so no folder has one


def existing_folders(path: str) -> list[str]:
    """The folder at an absolute path and its parents, deepest first. Folders that do not exist are left out.

    A log can name any path, even one with 40,000 parts. So the search starts at the root and stops at a missing folder.
    """
    if len(path) > MAX_PATH or not os.path.isabs(path):
        return []
    folders = [os.sep]
    for part in filter(None, path.split(os.sep)):
        folder = os.path.join(folders[-1], part)
        if not os.path.isdir(folder):
            break
        folders.append(folder)
    return folders[::-1]


def state_folder_of(env: Mapping[str, str]) -> str:
    """`RECOLLECT_HOME`, else the platform's folder for data."""
    if home := env.get("RECOLLECT_HOME"):
        return os.path.expanduser(home)
    if sys.platform != "linux":
        import platformdirs  # 24 ms, and only needed on systems with more complex rules

        return platformdirs.user_data_dir("recollect")
    data = env.get("XDG_DATA_HOME", "").strip()
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "recollect")

"""The state folder, and the folders that a path names. Uses `os.path` only: hooks import it at every tool call."""
# ruff: noqa: PTH111, PTH112, PTH117, PTH118, PTH206

import os
import sys
from _collections_abc import Mapping  # the public module imports all of `collections`: 1 ms

SETTINGS_FILE = "settings.toml"  # in the state folder
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


def state_folder_of(env: Mapping[str, str]) -> str:
    """`RECOLLECT_HOME`, else the platform's folder for data."""
    if home := env.get("RECOLLECT_HOME"):
        return os.path.expanduser(home)
    if sys.platform != "linux":
        import platformdirs  # 24 ms, and only needed where the rule is not one line

        return platformdirs.user_data_dir("recollect")
    data = env.get("XDG_DATA_HOME", "").strip()
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "recollect")

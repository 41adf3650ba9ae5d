"""Where Recollect keeps everything. Imports only `os` and `sys`: hooks need it at every tool call."""
# ruff: noqa: PTH111, PTH117, PTH118

import os
import sys
from _collections_abc import Mapping  # the public module imports all of `collections`: 1 ms

SETTINGS_FILE = "settings.toml"  # in the state folder


def state_folder_of(env: Mapping[str, str]) -> str:
    """`RECOLLECT_HOME`, else the platform's folder for data."""
    if home := env.get("RECOLLECT_HOME"):
        return os.path.expanduser(home)
    if sys.platform != "linux":
        import platformdirs  # 24 ms, and only needed where the rule is not one line

        return platformdirs.user_data_dir("recollect")
    data = env.get("XDG_DATA_HOME", "").strip()
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "recollect")

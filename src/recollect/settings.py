"""File and environment become one frozen Settings, read once at the edge."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs
from msgspec import Struct

from recollect.errors import BadSettings

FILE = "settings.toml"


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting with its default. `recollect status` names the file that may change them."""

    home: Path
    redact: bool = True
    """Take secrets out of what is stored. Off: everything is kept as the agent wrote it."""
    exclude: tuple[str, ...] = ()
    """Globs of working folders or log files that are never read: `/home/me/private/*`."""
    exclude_projects: tuple[str, ...] = ()
    """Projects that are never read, by name."""
    sources: tuple[str, ...] = ()
    """Only these sources; empty means all."""
    deadline_ms: int | None = None
    """Replaces every deadline; 0 means already past."""


def read_settings(env: Mapping[str, str]) -> Settings:
    """Defaults, then `settings.toml` in the state folder, then RECOLLECT_* variables."""
    home = Path(env.get("RECOLLECT_HOME") or platformdirs.user_data_dir("recollect")).expanduser()
    path = home / FILE
    values: dict[str, Any] = {}
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as reason:
        raise BadSettings(f"{path} cannot be read: {reason}") from reason
    values |= _from_environment(env)
    try:
        return msgspec.convert({**values, "home": str(home)}, Settings, dec_hook=_path)
    except msgspec.ValidationError as reason:
        raise BadSettings(f"{path} or a RECOLLECT_ variable has a bad value: {reason}") from reason


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if (redact := env.get("RECOLLECT_REDACT")) is not None:
        values["redact"] = redact.lower() not in {"0", "false", "off", "no"}
    if exclude := env.get("RECOLLECT_EXCLUDE"):
        values["exclude"] = exclude.split(os.pathsep)
    if (deadline := env.get("RECOLLECT_DEADLINE_MS")) is not None:
        if not deadline.isdigit():
            raise BadSettings(f"RECOLLECT_DEADLINE_MS must be a number of milliseconds, not {deadline!r}.")
        values["deadline_ms"] = int(deadline)
    return values


def _path(kind: type, value: Any) -> Any:
    return Path(value) if kind is Path else value

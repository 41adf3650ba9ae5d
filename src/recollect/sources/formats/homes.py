"""The folders where agents keep their logs, declared: `home("HERON_HOME", ".heron", "sessions")`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Homes = Callable[[Mapping[str, str]], list[Path]]


def no_homes(env: Mapping[str, str]) -> list[Path]:
    """No folder: exports and recordings are read only when their path is given."""
    return []


def home(variables: str | Sequence[str], folder: str, *subfolders: str) -> Homes:
    """The agent's folder: the value of the first variable that is set, else `~/folder`. With `subfolders`, only these."""
    return _folders(variables, lambda env: [user_home(env) / folder], subfolders)


def in_home(folder: str, *subfolders: str) -> Homes:
    """Like `home`, for an agent whose folder no variable changes."""
    return home((), folder, *subfolders)


def data(variables: str | Sequence[str], folder: str, *subfolders: str) -> Homes:
    """Like `home`, with `folder` in the XDG data folder (`~/.local/share`)."""
    return _folders(variables, lambda env: [data_home(env) / folder], subfolders)


def config(variables: str | Sequence[str], folder: str, *subfolders: str) -> Homes:
    """Like `home`, with `folder` where desktop programs keep their data on Linux, macOS and Windows."""
    return _folders(variables, lambda env: [place / folder for place in config_homes(env)], subfolders)


def all_of(*homes: Homes) -> Homes:
    """The folders of all of these homes."""
    return lambda env: [folder for home_folders in homes for folder in home_folders(env)]


def _folders(variables: str | Sequence[str], default: Homes, subfolders: tuple[str, ...]) -> Homes:
    names = [variables] if isinstance(variables, str) else variables

    def homes(env: Mapping[str, str]) -> list[Path]:
        chosen = next((env[name] for name in names if env.get(name)), None)
        roots = [Path(chosen).expanduser()] if chosen else default(env)
        return [root / part for root in roots for part in subfolders or ("",)]

    return homes


def user_home(env: Mapping[str, str]) -> Path:
    """The person's home folder."""
    return Path(env.get("HOME") or env.get("USERPROFILE") or "~").expanduser()


def data_home(env: Mapping[str, str]) -> Path:
    """Where programs keep their data by the XDG rules."""
    return Path(env["XDG_DATA_HOME"]) if env.get("XDG_DATA_HOME") else user_home(env) / ".local/share"


def config_homes(env: Mapping[str, str]) -> list[Path]:
    """Where desktop programs keep their data on Linux, macOS and Windows."""
    home = user_home(env)
    linux = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
    windows = [Path(env["APPDATA"])] if env.get("APPDATA") else []
    return [linux, home / "Library/Application Support", *windows]

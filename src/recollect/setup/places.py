"""Where agents keep their files, declared: `user(home("HERON_HOME", ".heron"), "mcp.json")`."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.sources.formats.homes import Homes, config_homes, user_home
from recollect.sources.formats.vscode import extension_storage, user_folders

EDITORS = ("Code", "Code - Insiders", "VSCodium")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The environment variables, and the project if its files are changed instead of the user's."""

    env: Mapping[str, str]
    project: Path | None = None


Place = Callable[[Surroundings], list[Path]]


def user(homes: Homes, *names: str) -> Place:
    """A file in each of these folders that exists, else in the first. The first of its names that exists is used."""

    def place(around: Surroundings) -> list[Path]:
        folders = homes(around.env)
        existing = [folder for folder in folders if folder.is_dir()]
        return [_first_existing(folder, names) for folder in existing or folders[:1]]

    return place


def project(*names: str) -> Place:
    """A file of the project. The first of its names that exists is used."""

    def place(around: Surroundings) -> list[Path]:
        return [] if around.project is None else [_first_existing(around.project, names)]

    return place


def _first_existing(folder: Path, names: tuple[str, ...]) -> Path:
    paths = [folder / name for name in names]
    return next((path for path in paths if path.exists()), paths[0])


def xdg_config(folder: str) -> Homes:
    """A folder in `$XDG_CONFIG_HOME` or `~/.config`, also on macOS."""
    return lambda env: [config_homes(env)[0] / folder]


def claude_file(around: Surroundings) -> list[Path]:
    """Claude Code's main file, which is beside its folder, unless CLAUDE_CONFIG_DIR names the folder."""
    folder = claude_folder(around.env)[0]
    older = folder / ".config.json"
    if older.is_file() and older.stat().st_size:
        return [older]
    return [(folder if around.env.get("CLAUDE_CONFIG_DIR") else user_home(around.env)) / ".claude.json"]


def claude_folder(env: Mapping[str, str]) -> list[Path]:
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0]
    return [Path(named).expanduser() if named else user_home(env) / ".claude"]


def editor_folders(env: Mapping[str, str]) -> list[Path]:
    """The `User` folders of VS Code and its builds, those of this platform first."""
    return _platform_first(user_folders(env, EDITORS))


def extension(identifier: str) -> Homes:
    """The storage folder of an extension, in each editor."""
    return lambda env: _platform_first(extension_storage(env, identifier))


def cline_folders(env: Mapping[str, str]) -> list[Path]:
    """The folders with Cline's settings: of its extension in each editor, and of its command line."""
    if env.get("CLINE_DATA_DIR"):
        own = Path(env["CLINE_DATA_DIR"])
    else:
        own = (Path(env["CLINE_DIR"]) if env.get("CLINE_DIR") else user_home(env) / ".cline") / "data"
    return [*extension("saoudrizwan.claude-dev")(env), own]


def goose_folder(env: Mapping[str, str]) -> list[Path]:
    root = env.get("GOOSE_PATH_ROOT")
    return [Path(root) / "config" if root else config_homes(env)[0] / "goose"]


def crush_folder(env: Mapping[str, str]) -> list[Path]:
    named = env.get("CRUSH_GLOBAL_CONFIG")
    return [Path(named) if named else config_homes(env)[0] / "crush"]


def gemini_signs(env: Mapping[str, str]) -> list[Path]:
    """Gemini CLI's folder, unless only Antigravity uses it."""
    folder = Path(env.get("GEMINI_CLI_HOME") or user_home(env)) / ".gemini"
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    return [] if names and all(name.startswith("antigravity") for name in names) else [folder]


def _platform_first(folders: list[Path]) -> list[Path]:
    """The folders, sorted so that those of this platform come first."""
    return sorted(folders, key=lambda folder: ("Library" in folder.parts) != (sys.platform == "darwin"))

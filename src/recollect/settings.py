"""The settings, read from a file and the environment once at the start."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from recollect.errors import BadSettings
from recollect.folders import SETTINGS_FILE, state_folder_of

MAX_DEADLINE_MS = 365 * 24 * 3600 * 1000  # a year; leave the setting out for no deadline
ON, OFF = {"1", "true", "on", "yes"}, {"0", "false", "off", "no"}
MAX_DIGITS = 20  # of a number; Python does not parse thousands of digits
TOKEN = "RECOLLECT_TOKEN"  # the variable with the server's token: unlike an option, it is not visible in a process list


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How searches find events."""

    mode: Literal["text", "vector", "both"] = "both"
    """By words, by meaning, or by both."""


class EmbeddingSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The embedding model. The default is part of an installed package and needs nothing else."""

    model: Literal["static", "onnx", "endpoint", "none"] = "static"
    path: str | None = None
    """For `onnx`: a folder with `model.onnx` and `tokenizer.json`."""
    url: str | None = None
    """For `endpoint`: the URL of an OpenAI-compatible service, up to and including `/v1`."""
    name: str | None = None
    """For `endpoint`: the name of the model."""
    key_env: str = "OPENAI_API_KEY"
    """For `endpoint`: the environment variable with the API key, if the service requires one."""
    timeout_s: float = 20.0


class ExtractionSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A language model that extracts observations, in addition to the rules. It is never called during a sync."""

    by: Literal["none", "endpoint", "command", "sampling"] = "none"
    url: str | None = None
    """For `endpoint`: the URL of an OpenAI-compatible service, up to and including `/v1`."""
    name: str | None = None
    """For `endpoint`: the name of the model."""
    key_env: str = "OPENAI_API_KEY"
    command: tuple[str, ...] = ()
    """For `command`: a program and its arguments; it gets the prompt on standard input and prints the answer."""
    budget: int = 100_000
    """Tokens, input and output, that one run may use."""
    timeout_s: float = 120.0


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every setting with its default. `recollect status` shows the path of the settings file."""

    home: Path
    redact: bool = True
    """Remove secrets before anything is stored. If off, texts are stored as the agent wrote them."""
    exclude: tuple[str, ...] = ()
    """Globs of working folders or log files that are never read: `/home/me/private/*`."""
    exclude_projects: tuple[str, ...] = ()
    """Projects that are never read, by name."""
    sources: tuple[str, ...] = ()
    """Only these sources; empty means all."""
    project_folders: tuple[str, ...] = ()
    """Folders that contain projects. Logs inside projects are searched in these folders and below them."""
    deadline_ms: Annotated[int, Meta(ge=0, le=MAX_DEADLINE_MS)] | None = None
    """Replaces every deadline. 0 means already past."""
    commands_over_mcp: bool = False
    """Let MCP clients name programs to run: the `command` of a session, or `runners` in a realm's config."""
    prices: str | None = None
    """A TOML file with prices of models, which extends and overrides those of Recollect."""
    search: SearchSettings = SearchSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    extraction: ExtractionSettings = ExtractionSettings()


def state_folder(env: Mapping[str, str]) -> Path:
    """The folder with all data of Recollect."""
    return Path(state_folder_of(env))


def read_settings(env: Mapping[str, str]) -> Settings:
    """The defaults, overridden by `settings.toml` in the state folder, overridden by RECOLLECT_* variables."""
    home = state_folder(env)
    path = home / SETTINGS_FILE
    if home.is_file():
        raise BadSettings(f"The state folder {home} is a file. Set RECOLLECT_HOME to a folder.")
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
        values["redact"] = redact.lower() not in OFF
    if commands := env.get("RECOLLECT_COMMANDS_OVER_MCP"):
        if commands.lower() not in ON | OFF:
            raise BadSettings(f"RECOLLECT_COMMANDS_OVER_MCP must be 1 or 0, not {commands[:40]!r}.")
        values["commands_over_mcp"] = commands.lower() in ON
    if exclude := env.get("RECOLLECT_EXCLUDE"):
        values["exclude"] = exclude.split(os.pathsep)
    if (deadline := env.get("RECOLLECT_DEADLINE_MS")) is not None:
        if not deadline.isdecimal() or len(deadline) > MAX_DIGITS:
            raise BadSettings(f"RECOLLECT_DEADLINE_MS must be a number of milliseconds, not {deadline[:40]!r}.")
        values["deadline_ms"] = int(deadline)
    return values


def _path(kind: type, value: Any) -> Any:
    return Path(value) if kind is Path else value

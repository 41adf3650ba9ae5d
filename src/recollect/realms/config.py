"""The config of a realm: a JSON object, and a generation that counts its writes. A writer may say on which one it builds."""

import os
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import BadRequest, GenerationConflict, StoreFault
from recollect.store.lock import CONFIGURING, in_turn

FILE = "config.json"


class Config(Struct, frozen=True):
    config: dict[str, Any] = {}
    generation: int = 0


def read(folder: Path) -> Config:
    """The config as it is. A file that is only an object of settings, as a person may write it, is of generation 0."""
    path = folder / FILE
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return Config()
    except OSError as reason:
        raise StoreFault(f"The config {path} cannot be read: {reason.strerror}.") from reason
    except msgspec.DecodeError as reason:
        raise StoreFault(f"The config {path} is no JSON object: {reason}.") from reason
    config, generation = document.get("config"), document.get("generation", 0)
    if document.keys() <= {"config", "generation"} and isinstance(config, dict) and type(generation) is int:
        return Config(config, generation)
    return Config(document)


def write(folder: Path, config: dict[str, Any], expected: int | None) -> Config:
    """Make this the config, if nobody has written since the generation that is expected."""
    with in_turn(folder, CONFIGURING):
        return _replace(folder, config, _current(folder, expected))


def patch(folder: Path, changes: dict[str, Any], expected: int | None) -> Config:
    """Change the config as RFC 7396 says: what is null goes, objects are merged, all else is replaced."""
    with in_turn(folder, CONFIGURING):
        current = _current(folder, expected)
        return _replace(folder, merged(current.config, changes), current)


def merged(value: Any, changes: Any) -> Any:
    if not isinstance(changes, dict):
        return changes
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in changes.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result


def check(config: dict[str, Any]) -> None:
    """Refuse what could not be obeyed."""
    deadline = config.get("deadline_ms")
    if deadline is not None and (type(deadline) is not int or deadline < 0):
        raise BadRequest("deadline_ms must be a number of milliseconds, 0 or more", field="deadline_ms")


def _current(folder: Path, expected: int | None) -> Config:
    current = read(folder)
    if expected is not None and expected != current.generation:
        raise GenerationConflict(
            f"The config is of generation {current.generation}, not {expected}; nothing was written.",
            expected_generation=expected,
            current_generation=current.generation,
        )
    return current


def _replace(folder: Path, config: dict[str, Any], before: Config) -> Config:
    check(config)
    after = Config(config, before.generation + 1)
    new = folder / f"{FILE}.new"
    try:
        with new.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(after)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(folder / FILE)
    except OSError as reason:
        raise StoreFault(f"The config in {folder} cannot be written: {reason.strerror}.") from reason
    return after

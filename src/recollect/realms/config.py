"""The config of a realm: a JSON object with a generation that counts its writes, for optimistic locking."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.disk import folder_fault
from recollect.errors import BadRequest, GenerationConflict, StoreFault
from recollect.realms import runner_config
from recollect.settings import MAX_DEADLINE_MS
from recollect.store.lock import CONFIGURING, wait_for_lock

FILE = "config.json"
MAX_GENERATION = 1 << 53  # integers up to here are exact in every JSON parser
CheckChange = Callable[[dict[str, Any], dict[str, Any]], None]  # raises if it does not allow a change of config


class Config(Struct, frozen=True):
    config: dict[str, Any] = {}
    generation: int = 0


def read(folder: Path) -> Config:
    """The config. A mistake in hand-written runners is reported only when one of them runs."""
    stored = _read_file(folder)
    try:
        check(stored.config)
    except BadRequest as reason:
        raise StoreFault(f"The config {folder / FILE} is invalid: {reason}.") from reason
    return stored


def read_generation(folder: Path) -> int:
    """The number of writes to the config; 0 if its file is invalid, so that the realm can still be shown and deleted."""
    try:
        return _read_file(folder).generation
    except StoreFault:
        return 0


def _read_file(folder: Path) -> Config:
    """The content of the file. A person may write it without a generation, which then is 0."""
    path = folder / FILE
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return Config()
    except OSError as reason:
        raise StoreFault(f"The config {path} cannot be read: {reason.strerror}.") from reason
    except (ValueError, RecursionError) as reason:
        raise StoreFault(f"The config {path} is not a JSON object: {reason}.") from reason
    config, generation = document.get("config"), document.get("generation", 0)
    if not document.keys() <= {"config", "generation"} or not isinstance(config, dict) or type(generation) is not int:
        return Config(document)
    if not 0 <= generation < MAX_GENERATION:
        raise StoreFault(f"The config {path} is invalid: generation must be at least 0 and below {MAX_GENERATION}.")
    return Config(config, generation)


def write(folder: Path, config: dict[str, Any], expected: int | None, check_change: CheckChange) -> Config:
    """Replace the config, if its generation is the expected one."""
    with wait_for_lock(folder, CONFIGURING):
        return _replace(folder, config, _current(folder, expected), check_change)


def patch(folder: Path, changes: dict[str, Any], expected: int | None, check_change: CheckChange) -> Config:
    """Merge changes into the config by RFC 7396: null removes a key, objects are merged, other values replaced."""
    with wait_for_lock(folder, CONFIGURING):
        current = _current(folder, expected)
        return _replace(folder, merge_patch(current.config, changes), current, check_change)


def merge_patch(value: Any, changes: Any) -> Any:
    """The value with the changes merged in, by RFC 7396."""
    if not isinstance(changes, dict):
        return changes
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in changes.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), change)
    return result


def check(config: dict[str, Any]) -> None:
    """Raise on invalid values of known keys. Unknown keys belong to other programs."""
    for name, minimum in (("deadline_ms", 0), ("turn_timeout_ms", 1)):
        value = config.get(name)
        if value is not None and (type(value) is not int or not minimum <= value <= MAX_DEADLINE_MS):
            raise BadRequest(f"{name} must be milliseconds, at least {minimum} and at most {MAX_DEADLINE_MS}", field=name)
    if not isinstance(config.get("runner", ""), str):
        raise BadRequest("runner must be the name of a runner", field="runner")
    runners = config.get("runners", {})
    if not isinstance(runners, dict) or not all(isinstance(options, dict) for options in runners.values()):
        raise BadRequest("runners must be an object: the options of each runner, by its name", field="runners")


def _current(folder: Path, expected: int | None) -> Config:
    current = _read_file(folder)
    if expected is not None and expected != current.generation:
        raise GenerationConflict(
            f"The config has generation {current.generation}, not {expected}; nothing was written.",
            expected_generation=expected,
            current_generation=current.generation,
        )
    return current


def _replace(folder: Path, config: dict[str, Any], before: Config, check_change: CheckChange) -> Config:
    check(config)
    runner_config.check(config.get("runner"), config.get("runners", {}))
    check_change(before.config, config)
    after = Config(config, before.generation + 1)
    new = folder / f"{FILE}.new"
    try:
        with new.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(after)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(folder / FILE)
    except OSError as reason:
        raise folder_fault("config in", folder, reason) from reason
    return after

"""The config of a realm: a JSON object, and a generation that counts its writes. A writer may say on which one it builds."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from recollect.disk import folder_fault
from recollect.errors import BadRequest, GenerationConflict, StoreFault
from recollect.realms import runner_config as configured
from recollect.settings import LONGEST_MS
from recollect.store.lock import CONFIGURING, in_turn

FILE = "config.json"
MAX_GENERATION = 1 << 53  # which every program that reads JSON can count to
CheckChange = Callable[[dict[str, Any], dict[str, Any]], None]  # refuses a change from one config to another


class Config(Struct, frozen=True):
    config: dict[str, Any] = {}
    generation: int = 0


def read(folder: Path) -> Config:
    """The config as it is. Runners that a person wrote into the file wrongly fail only where one of them is to run."""
    found = _read_file(folder)
    try:
        check(found.config)
    except BadRequest as reason:
        raise StoreFault(f"The config {folder / FILE} cannot be obeyed: {reason}.") from reason
    return found


def read_generation(folder: Path) -> int:
    """How often the config was written; 0 where its file cannot say. A realm is shown and deleted whatever is in it."""
    try:
        return _read_file(folder).generation
    except StoreFault:
        return 0


def _read_file(folder: Path) -> Config:
    """What the file says. One that is only an object of settings, as a person may write it, is of generation 0."""
    path = folder / FILE
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return Config()
    except OSError as reason:
        raise StoreFault(f"The config {path} cannot be read: {reason.strerror}.") from reason
    except (ValueError, RecursionError) as reason:
        raise StoreFault(f"The config {path} is no JSON object: {reason}.") from reason
    config, writes = document.get("config"), document.get("generation", 0)
    if not document.keys() <= {"config", "generation"} or not isinstance(config, dict) or type(writes) is not int:
        return Config(document)
    if not 0 <= writes < MAX_GENERATION:
        raise StoreFault(f"The config {path} cannot be obeyed: generation must be at least 0 and below {MAX_GENERATION}.")
    return Config(config, writes)


def write(folder: Path, config: dict[str, Any], expected: int | None, allowed: CheckChange) -> Config:
    """Make this the config, if nobody has written since the generation that is expected."""
    with in_turn(folder, CONFIGURING):
        return _replace(folder, config, _current(folder, expected), allowed)


def patch(folder: Path, changes: dict[str, Any], expected: int | None, allowed: CheckChange) -> Config:
    """Change the config as RFC 7396 says: what is null goes, objects are merged, all else is replaced."""
    with in_turn(folder, CONFIGURING):
        current = _current(folder, expected)
        return _replace(folder, merge_patch(current.config, changes), current, allowed)


def merge_patch(value: Any, changes: Any) -> Any:
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
    """Refuse what nothing could be made of; what we do not know is somebody else's."""
    for name, least in (("deadline_ms", 0), ("turn_timeout_ms", 1)):
        value = config.get(name)
        if value is not None and (type(value) is not int or not least <= value <= LONGEST_MS):
            raise BadRequest(f"{name} must be milliseconds, at least {least} and at most {LONGEST_MS}", field=name)
    if not isinstance(config.get("runner", ""), str):
        raise BadRequest("runner must be the name of one", field="runner")
    runners = config.get("runners", {})
    if not isinstance(runners, dict) or not all(isinstance(one, dict) for one in runners.values()):
        raise BadRequest("runners must be an object of objects, by their names", field="runners")


def _current(folder: Path, expected: int | None) -> Config:
    current = _read_file(folder)
    if expected is not None and expected != current.generation:
        raise GenerationConflict(
            f"The config is of generation {current.generation}, not {expected}; nothing was written.",
            expected_generation=expected,
            current_generation=current.generation,
        )
    return current


def _replace(folder: Path, config: dict[str, Any], before: Config, allowed: CheckChange) -> Config:
    check(config)
    configured.check(config.get("runner"), config.get("runners", {}))
    allowed(before.config, config)
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

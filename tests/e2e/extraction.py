"""Turns worth extracting, the settings of a model, and its observations."""

import json
from contextlib import closing
from typing import Any

from recollect.store.memory import Memory, ObservationRow
from recollect.store.observation_filters import ObservationFilters
from tests.conftest import Person
from tests.logs import Claude, write

REPORT = "It was the cache: its key left out the locale, so a German page was served to everybody. The key has it now."


def observation(title: str = "The cache key must hold the locale", **more: Any) -> dict[str, Any]:
    return {"type": "bug-fix", "title": title, "evidence": ["e1"], **more}


def turn(said: Claude, asked: str, answered: str = REPORT) -> list[dict[str, Any]]:
    """A turn worth extracting."""
    call = f"c{said.clock}"
    return [
        said.prompt(asked), said.calls("Bash", call, command="pytest -q"), said.result(call, "1 failed: KeyError", failed=True),
        said.says(answered),
    ]  # fmt: skip


def three_turns(person: Person) -> Claude:
    claude = Claude()
    log = [
        record for asked in ("first fix", "second fix", "third fix") for record in turn(claude, f"the {asked} of the page")
    ]
    write(person.claude_log(claude.session), log)
    person.sync()
    return claude


def configure(person: Person, **values: Any) -> None:
    person.state.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    (person.state / "settings.toml").write_text("\n".join(["[extraction]", *lines, ""]))


def remembered(person: Person) -> list[ObservationRow]:
    with closing(Memory(person.realm)) as memory:
        return memory.newest(ObservationFilters(), 1_000)

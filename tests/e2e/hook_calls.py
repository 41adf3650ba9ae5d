"""Hooks, called as agents call them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import Person


def call(person: Person, event: str, said: Any, *options: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    """An agent calls a hook."""
    text = said if isinstance(said, str) else json.dumps(said)
    return person.run("hook", event, *options, input=text, **more)


def start(person: Person, folder: Path, *options: str, **more: Any) -> str:
    """What an agent is told at the start of a session."""
    said = {"session_id": "s1", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup", **more}
    return call(person, "session-start", said, *options).stdout

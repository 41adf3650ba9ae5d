"""Calls hooks as agents do."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import Person


def call(person: Person, event: str, said: Any, *options: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    """Call a hook as an agent does."""
    text = said if isinstance(said, str) else json.dumps(said)
    return person.run("hook", event, *options, input=text, **more)


def start(person: Person, folder: Path, *options: str, **more: Any) -> str:
    """The output of the hook at the start of a session."""
    document = {"session_id": "s1", "cwd": str(folder), "hook_event_name": "SessionStart", "source": "startup", **more}
    return call(person, "session-start", document, *options).stdout

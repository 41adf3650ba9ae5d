"""TraeX, also called TRAE CLI, is a fork of Codex and writes the same rollouts, under ~/.trae/cli/sessions/YYYY/MM/DD/.

Evidence: one published sample of 0.200 with a sub-agent; no real session was read.
Its header still names Codex as the originator. It is recognised by the model provider, its instructions or its own folder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.sources import codex
from recollect.sources.codex.shapes import Envelope
from recollect.sources.codex.state import CodexState
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Lines, Source

HOME = ".trae"
INSTRUCTIONS = "You are TRAE"


def homes(env: Mapping[str, str]) -> list[Path]:
    root = Path(env["TRAE_HOME"]).expanduser() if env.get("TRAE_HOME") else user_home(env) / HOME
    cli = Path(env["TRAECLI_HOME"]).expanduser() if env.get("TRAECLI_HOME") else root / "cli"
    return [cli / "sessions", cli / "archived_sessions", root / "sessions"]  # the last is the oldest place


def recognises(head: Head) -> bool:
    return codex.recognises(head) and (HOME in head.path.parts or any(map(_is_header, head.objects())))


def _is_header(row: dict[str, Any]) -> bool:
    match row:
        case {"type": "session_meta", "payload": {"model_provider": "trae"}}:
            return True
        case {"type": "session_meta", "payload": {"base_instructions": {"text": str(text)}}}:
            return text.startswith(INSTRUCTIONS)
        case _:
            return False


SOURCE = Source(
    name="traex",
    title="TraeX",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl", ".jsonl.zst"),
            shape=Envelope,
            state=CodexState,
            begin=codex.begin,
            read=codex.read,
            recognises=recognises,
        ),
    ),
)

"""Pi keeps one log per session, ~/.pi/agent/sessions/--<folder>--/<time>_<id>.jsonl.

Evidence: 2 real sessions of version 1 (2,022 entries, one a branch of another), its documentation, and published lines of
version 3, including Pi 0.87.
`pi.session` reads the log. A newer Pi that opens a session rewrites it in the newer version.
"""

from collections.abc import Mapping
from pathlib import Path

from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Lines, Source
from recollect.sources.pi.family import family
from recollect.sources.pi.session import PiState, begin, read
from recollect.sources.pi.shapes import Row


def homes(env: Mapping[str, str]) -> list[Path]:
    """Pi's folders. Oh My Pi uses the same variables, so they may name its folder."""
    agent = Path(env["PI_CODING_AGENT_DIR"]) if env.get("PI_CODING_AGENT_DIR") else user_home(env) / ".pi/agent"
    sessions = Path(env["PI_CODING_AGENT_SESSION_DIR"]) if env.get("PI_CODING_AGENT_SESSION_DIR") else agent / "sessions"
    return [sessions] if ".omp" not in sessions.parts else [user_home(env) / ".pi/agent/sessions"]


def recognises(head: Head) -> bool:
    return family(head) == "pi"


SOURCE = Source(
    name="pi",
    title="Pi",
    formats=(
        Lines(homes=homes, endings=(".jsonl",), shape=Row, state=PiState, begin=begin, read=read, recognises=recognises),
    ),
    real_sessions=2,
)

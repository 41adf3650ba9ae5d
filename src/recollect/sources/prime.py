"""Prime stores one log per session, ~/.prime/agent/sessions/<id>.jsonl; sub-agents, below session-artifacts/<id>/sub-<hex>/.

Evidence: its source code and published samples; not verified with real sessions.
It is Pi's log (see `pi.session`). The header's `rlmDepth` is the depth of the sub-agent and `parentSession` its parent.
At depth 0, the parent is the session from which this one was forked. A sub-agent's prompts are its parent's
`agent_message`s.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.source import Lines, Source
from recollect.sources.formats.values import as_count
from recollect.sources.pi.family import family
from recollect.sources.pi.session import PiState, header_of, read
from recollect.sources.pi.session import begin as begin_session
from recollect.sources.pi.shapes import Row

AGENT = re.compile(r"sub-[0-9a-f]{8}")
FOLDERS = ("PRIME_AGENT_SESSION_DIR", "PRIME_AGENT_CODING_AGENT_SESSION_DIR")


def homes(env: Mapping[str, str]) -> list[Path]:
    configured = next((Path(env[name]) for name in FOLDERS if env.get(name)), None)
    sessions = configured or user_home(env) / ".prime/agent/sessions"
    return [sessions, sessions.parent / "session-artifacts"]


def is_log(path: Path) -> bool:
    """Whether a file is a log. Sub-agents write other files too."""
    return "session-artifacts" not in path.parts or AGENT.fullmatch(path.parent.name) is not None


def recognises(head: Head) -> bool:
    return family(head) == "prime"


def begin(path: Path, first: list[Any]) -> PiState:
    state = begin_session(path, first)
    if as_count(header_of(first).rlm_depth) > 0:
        state.parent, state.copies_from = state.copies_from, None
        state.sub_agent = state.parent is not None
    return state


SOURCE = Source(
    name="prime",
    title="Prime",
    formats=(
        Lines(
            homes=homes,
            endings=(".jsonl",),
            is_log=is_log,
            shape=Row,
            state=PiState,
            begin=begin,
            read=read,
            recognises=recognises,
        ),
    ),
)

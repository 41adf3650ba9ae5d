"""Oh My Pi stores a log per session, ~/.omp/agent/sessions/<folder>/<time>_<id>.jsonl; sub-agents' are in <time>_<id>/.

Evidence: the counts of 20 real sessions, its documentation and source code of version 17, and published lines of real
sessions of July to September 2026; no complete session was available.
It is Pi's log (see `pi.session`) after a first line that contains the title and is overwritten in place. A sub-agent's log
is named after the agent, `<time>_<id>/<agent>.jsonl`. Its session is named by the parent's id, then the agent's name; the
result of the parent's `task` call contains these names. Another line announces every tool call; it is ignored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import data_home, user_home
from recollect.sources.formats.source import Lines, Source
from recollect.sources.pi.family import family
from recollect.sources.pi.session import NAMED, PiState, read, session_named
from recollect.sources.pi.session import begin as begin_session
from recollect.sources.pi.shapes import Row


def homes(env: Mapping[str, str]) -> list[Path]:
    root = user_home(env) / (env.get("PI_CONFIG_DIR") or ".omp")
    agents = [root / "agent", *sorted(root.glob("profiles/*/agent"))]
    configured = Path(env.get("PI_CODING_AGENT_DIR", ""))
    if ".omp" in configured.parts:
        agents.append(configured)
    return [*(agent / "sessions" for agent in agents), data_home(env) / "omp/sessions"]


def recognises(head: Head) -> bool:
    return family(head) == "omp"


def begin(path: Path, first: list[Any]) -> PiState:
    state = begin_session(path, first)
    state.nests = True
    if agent := _agent(path):
        state.session, state.named, state.copies_from = agent, True, None
        state.parent, state.sub_agent = agent.rpartition("/")[0], True
    return state


def _agent(path: Path) -> str | None:
    """The id of a sub-agent's session: that of its folder's session, then the names down to the log; None for other logs."""
    folders = list(path.parent.parts)
    names = [path.stem]
    while folders:
        folder = folders.pop()
        if NAMED.fullmatch(folder):
            return "/".join([session_named(folder), *names])
        names.insert(0, folder)
    return None


SOURCE = Source(
    name="omp",
    title="Oh My Pi",
    formats=(
        Lines(homes=homes, endings=(".jsonl",), shape=Row, state=PiState, begin=begin, read=read, recognises=recognises),
    ),
)

"""A first look at Recollect: index this machine's agent sessions, or a small sample, search them, and print next steps."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from recollect.model import Problem
from recollect.setup import AGENTS
from recollect.sources import Source, all_sources

SAMPLE = Path(__file__).parent / "sample"
PROGRAM = Path(sys.executable).with_name("recollect")
FIRST_STEPS = ("sync", "list -n 5", "search -n 3 tests fail", "observations -n 3")


def main() -> None:
    env = dict(os.environ)
    if any(_has_sessions(source, env) for source in all_sources()):
        _show(env)
    else:
        print("There are no agent sessions on this machine yet. Here is a small sample instead.")
        with tempfile.TemporaryDirectory() as state:
            _show({**_without_homes(env), "HOME": str(SAMPLE), "RECOLLECT_HOME": state})
    print("\n" + path_hint(env))
    print("\n" + connections([agent.title for agent in AGENTS if agent.is_found(env)]))


def _has_sessions(source: Source, env: Mapping[str, str]) -> bool:
    return any(not isinstance(log, Problem) for _, log in source.find(env))


def _without_homes(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables that name agents' folders. Else their logs would be read with the sample."""
    return {name: value for name, value in env.items() if not name.endswith(("_HOME", "_DIR"))}


def _show(env: Mapping[str, str]) -> None:
    for words in map(str.split, FIRST_STEPS):
        print(f"\n$ recollect {' '.join(words)}", flush=True)
        subprocess.run([sys.executable, "-m", "recollect", *words], env=env, check=True)


def path_hint(env: Mapping[str, str]) -> str:
    """How to run `recollect` by its name."""
    installed = shutil.which("recollect", path=env.get("PATH"))
    if installed and Path(installed).resolve() == PROGRAM.resolve():
        return "`recollect` is on your PATH."
    return f"To run it by its name in this shell:\n  export PATH={shlex.quote(str(PROGRAM.parent))}:$PATH"


def connections(agents: Sequence[str]) -> str:
    """The command that connects the agents with these titles, and what any other MCP client needs."""
    program = shlex.quote(str(PROGRAM))
    lines = []
    if agents:
        lines += [
            "Connect your agents, and they can search all of this themselves:",
            f"  # {', '.join(agents)}",
            f"  {program} setup",
        ]
    other = "any other" if agents else "any"
    return "\n".join([*lines, f"  # {other} MCP client: a server on stdio", f"  {program} mcp"])


if __name__ == "__main__":
    main()

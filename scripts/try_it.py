"""A first look at Recollect: index this machine's agent sessions, or a small sample, search them, and print next steps."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from recollect.model import Problem
from recollect.sources import Source, all_sources

SAMPLE = Path(__file__).parent / "sample"
PROGRAM = Path(sys.executable).with_name("recollect")
FIRST_STEPS = ("sync", "list -n 5", "search -n 3 tests fail", "observations -n 3")

# How each agent adds an MCP server: source name -> (the agent's program, the command for all projects).
# `{program}` is quoted for a shell.
COMMANDS = {
    "claude-code": ("claude", "claude mcp add --scope user recollect -- {program} mcp"),
    "codex": ("codex", "codex mcp add recollect -- {program} mcp"),
    "gemini-cli": ("gemini", "gemini mcp add --scope user recollect {program} mcp"),
    "qwen-code": ("qwen", "qwen mcp add --scope user recollect {program} mcp"),
    "amp": ("amp", "amp mcp add recollect -- {program} mcp"),
}
# Agents that read a file instead: source name -> (the agent's program, the file, what to add to it).
FILES = {
    "opencode": (
        "opencode",
        "~/.config/opencode/opencode.json",
        {"mcp": {"recollect": {"type": "local", "command": [str(PROGRAM), "mcp"]}}},
    ),
    "cursor": (
        "cursor-agent",
        "~/.cursor/mcp.json",
        {"mcpServers": {"recollect": {"command": str(PROGRAM), "args": ["mcp"]}}},
    ),
    "copilot-cli": (
        "copilot",
        "~/.copilot/mcp-config.json",
        {"mcpServers": {"recollect": {"type": "local", "command": str(PROGRAM), "args": ["mcp"], "tools": ["*"]}}},
    ),
}


def main() -> None:
    env = dict(os.environ)
    titles = {source.name: source.title for source in all_sources()}
    with_sessions = [source.name for source in all_sources() if _has_sessions(source, env)]
    if with_sessions:
        _show(env)
    else:
        print("There are no agent sessions on this machine yet. Here is a small sample instead.")
        with tempfile.TemporaryDirectory() as state:
            _show({**_without_homes(env), "HOME": str(SAMPLE), "RECOLLECT_HOME": state})
    installed = [name for name, (program, *_) in {**COMMANDS, **FILES}.items() if shutil.which(str(program))]
    print("\n" + path_hint(env))
    print("\n" + connections({name: titles[name] for name in dict.fromkeys([*with_sessions, *installed])}))


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


def connections(agents: Mapping[str, str]) -> str:
    """The commands that connect these agents (titles by name), and what any other MCP client needs."""
    program = shlex.quote(str(PROGRAM))
    lines = ["Connect your agents, and they can search all of this themselves:"]
    for name in [name for name in agents if name in COMMANDS]:
        lines += [f"  # {agents[name]}", f"  {COMMANDS[name][1].format(program=program)}"]
    for name in [name for name in agents if name in FILES]:
        _, path, content = FILES[name]
        lines += [f"  # {agents[name]}: add this to {path}", f"  {json.dumps(content)}"]
    other = "any other" if len(lines) > 1 else "any"
    lines += [f"  # {other} MCP client: a server on stdio", f"  {program} mcp"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

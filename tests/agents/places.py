"""Runs real agents offline, in their own home, with a scripted model and our server."""

import json
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.e2e.processes import until
from tests.scripted_model import Model

PROMPT = 'USE search_sessions {"query": "kingfisher"}'
ASKED = "Where does the kingfisher nest?"
KNOWN = "The kingfisher nests in the north bank. We decided to leave the north bank alone because it breeds there."
PATIENCE_S = 60  # seconds that an agent may take for a turn on a busy machine
SERVER = {"command": sys.executable, "args": ["-m", "recollect", "mcp"]}
SEARCHING = "gpt-5.5"  # for this model Codex 0.169 hides MCP tools behind its tool search
RESUMABLE_S = 61  # seconds: Gemini CLI 0.61 does not find a session that was begun in the same minute
MISSING = "is not installed: `make agents` installs the agents and runs these tests"


@dataclass
class Place:
    """A home folder, a folder to work in, and a model."""

    person: Person
    work: Path
    model: Model
    env: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, content: Any) -> None:
        file = self.person.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))

    def server(self) -> dict[str, Any]:
        return {**SERVER, "env": self.person.env}

    def program(self, name: str) -> str:
        path = shutil.which(name, path=self.env["PATH"])
        if path is None:
            pytest.skip(f"{name} {MISSING}")
        return path

    def run(self, command: list[str]) -> str:
        """Run an agent. Returns what it prints."""
        started = [self.program(command[0]), *command[1:]]
        more: Any = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        done = subprocess.run(started, env=self.env, cwd=self.work, timeout=PATIENCE_S, check=False, **more)
        assert done.returncode == 0, done.stderr[-2_000:]
        return str(done.stdout)

    def run_over_acp(self, prompt: str, command: str, *options: str) -> None:
        """Run a turn of a live session by an agent that speaks the Agent Client Protocol."""
        self.program(command.split()[0])
        self.person.env |= self.env
        self.person.run("run", prompt, "--runner", "acp", "--command", command, *options, cwd=self.work)

    def shown(self) -> str:
        """All texts that the model received."""
        return json.dumps(self.model.requests, ensure_ascii=False)

    # ---- what Recollect has of it

    def sessions(self) -> list[Any]:
        """The new sessions, as lists show them."""
        self.person.run("sync")
        rows = [row["session"] for row in self.person.json("list")["data"]["sessions"]]
        return [row for row in rows if row["title"] != ASKED]

    def history(self, session: str) -> list[Any]:
        identity = str(uuid.UUID(session.removeprefix("session:")))
        messages: list[Any] = self.person.json("session", "history", identity)["messages"]
        return messages


def next_minute() -> None:
    now = time.time()
    until(lambda: time.time() // 60 > now // 60, RESUMABLE_S)


def by_role(messages: list[Any], role: str) -> list[Any]:
    return [message for message in messages if message["role"] == role]


def calls_in(messages: list[Any]) -> list[Any]:
    answers = by_role(messages, "assistant")
    return [block for message in answers for block in message["blocks"] if block["type"] == "tool_use"]


def results_in(messages: list[Any]) -> list[Any]:
    return [result for message in by_role(messages, "tool_results") for result in message["results"]]


# ---- how each agent is set up; the command that runs a prompt, and the one that goes on with its session


def claude_code(place: Place) -> None:
    place.env |= {"ANTHROPIC_BASE_URL": place.model.url, "ANTHROPIC_API_KEY": "none", "MCP_CONNECTION_NONBLOCKING": "0"}
    place.write(".claude.json", {"hasCompletedOnboarding": True, "mcpServers": {"recollect": place.server()}})


def codex(place: Place) -> None:
    env = "".join(f"{name} = {json.dumps(value)}\n" for name, value in place.person.env.items())
    place.write(
        ".codex/config.toml",
        f"""
model = "{SEARCHING}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{place.model.url}/v1"
wire_api = "responses"
[mcp_servers.recollect]
command = "{sys.executable}"
args = ["-m", "recollect", "mcp"]
default_tools_approval_mode = "approve"
[mcp_servers.recollect.env]
{env}""",
    )


def gemini_cli(place: Place) -> None:
    place.env |= {"GOOGLE_GEMINI_BASE_URL": place.model.url, "GEMINI_API_KEY": "none"}
    server = {**place.server(), "trust": True}
    hook = f"{sys.executable} -m recollect hook session-start"
    hooks = {"SessionStart": [{"hooks": [{"name": "recollect", "type": "command", "command": hook}]}]}
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    place.write(".gemini/settings.json", {**auth, "mcpServers": {"recollect": server}, "hooks": hooks})
    place.write(".gemini/trustedFolders.json", {str(place.work): "TRUST_FOLDER"})


def opencode(place: Place) -> None:
    options = {"baseURL": f"{place.model.url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {"name": "scripted"}}}
    server = {"type": "local", "command": [SERVER["command"], *SERVER["args"]], "environment": place.person.env}
    config = {"model": "scripted/scripted", "provider": {"scripted": provider}, "mcp": {"recollect": server}}
    place.write(".config/opencode/opencode.json", config)


@dataclass(frozen=True)
class Agent:
    prepare: Callable[[Place], None]
    first: tuple[str, ...]  # before the prompt
    again: tuple[str, ...]
    options: tuple[str, ...] = ()  # after the prompt


AGENTS = {
    "claude-code": Agent(
        claude_code, ("claude", "-p"), ("claude", "-c", "-p"), ("--allowedTools", "mcp__recollect", "ToolSearch")
    ),
    "codex": Agent(
        codex,
        ("codex", "exec", "--skip-git-repo-check"),
        ("codex", "exec", "--skip-git-repo-check", "resume", "--last"),
    ),
    "gemini-cli": Agent(
        gemini_cli,
        ("gemini", "-m", "gemini-2.5-flash", "-p"),
        ("gemini", "-m", "gemini-2.5-flash", "--resume", "latest", "-p"),
    ),
    "opencode": Agent(opencode, ("opencode", "run"), ("opencode", "run", "-c")),
}
OVER_ACP = {
    "claude-code": (claude_code, "claude-agent-acp"),
    "codex": (codex, "codex-acp"),
    "gemini-cli": (gemini_cli, "gemini --acp -m gemini-2.5-flash"),
    "opencode": (opencode, "opencode acp"),
}


def programs() -> Path:
    """The folder of the agents. The whole file is skipped if they are not installed."""
    folder = os.environ.get("RECOLLECT_AGENTS")
    if not folder:
        pytest.skip("RECOLLECT_AGENTS names no folder of agents: `make agents` installs them", allow_module_level=True)
    return Path(folder, "node_modules", ".bin")

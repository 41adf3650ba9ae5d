"""Real agents, offline, with a scripted model: they use our tools, and we read what they wrote.

`make agents` installs the programs and runs this. RECOLLECT_AGENTS is the folder where npm put them.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Person
from tests.logs import Claude, write
from tests.scripted_model import scripted_model

pytestmark = pytest.mark.agents

PROMPT = 'USE search_sessions {"query": "kingfisher"}'
KNOWN = "The kingfisher nests in the north bank."
PATIENCE_S = 60  # seconds that an agent may take for a turn on a busy machine
SERVER = {"command": sys.executable, "args": ["-m", "recollect", "mcp"]}


@dataclass
class Place:
    """A home folder, a folder to work in, and a model's address."""

    person: Person
    work: Path
    model: str
    env: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, content: Any) -> None:
        file = self.person.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))

    def server(self) -> dict[str, Any]:
        return {**SERVER, "env": self.person.env}


def claude_code(place: Place) -> list[str]:
    place.env |= {"ANTHROPIC_BASE_URL": place.model, "ANTHROPIC_API_KEY": "none"}
    place.write(".claude.json", {"hasCompletedOnboarding": True, "mcpServers": {"recollect": place.server()}})
    place.env |= {"MCP_CONNECTION_NONBLOCKING": "0"}
    return ["claude", "-p", PROMPT, "--allowedTools", "mcp__recollect", "ToolSearch"]


def codex(place: Place) -> list[str]:
    env = "".join(f"{name} = {json.dumps(value)}\n" for name, value in place.person.env.items())
    place.write(
        ".codex/config.toml",
        f"""
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
[model_providers.scripted]
name = "scripted"
base_url = "{place.model}/v1"
wire_api = "responses"
[mcp_servers.recollect]
command = "{sys.executable}"
args = ["-m", "recollect", "mcp"]
default_tools_approval_mode = "approve"
[mcp_servers.recollect.env]
{env}""",
    )
    return ["codex", "exec", "--skip-git-repo-check", PROMPT]


def gemini_cli(place: Place) -> list[str]:
    place.env |= {"GOOGLE_GEMINI_BASE_URL": place.model, "GEMINI_API_KEY": "none"}
    server = {**place.server(), "trust": True}
    hook = f"{sys.executable} -m recollect hook session-start"
    hooks = {"SessionStart": [{"hooks": [{"name": "recollect", "type": "command", "command": hook}]}]}
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    place.write(".gemini/settings.json", {**auth, "mcpServers": {"recollect": server}, "hooks": hooks})
    place.write(".gemini/trustedFolders.json", {str(place.work): "TRUST_FOLDER"})
    return ["gemini", "-m", "gemini-2.5-flash", "-p", PROMPT]


def opencode(place: Place) -> list[str]:
    options = {"baseURL": f"{place.model}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {"name": "scripted"}}}
    server = {"type": "local", "command": [SERVER["command"], *SERVER["args"]], "environment": place.person.env}
    config = {"model": "scripted/scripted", "provider": {"scripted": provider}, "mcp": {"recollect": server}}
    place.write(".config/opencode/opencode.json", config)
    return ["opencode", "run", PROMPT]


AGENTS = {"claude-code": claude_code, "codex": codex, "gemini-cli": gemini_cli, "opencode": opencode}
OVER_ACP = {
    "codex": (codex, ["codex-acp"]),
    "gemini-cli": (gemini_cli, ["gemini", "--acp", "-m", "gemini-2.5-flash"]),
    "opencode": (opencode, ["opencode", "acp"]),
}


@pytest.fixture
def place(person: Person, tmp_path: Path) -> Iterator[Place]:
    folder = os.environ.get("RECOLLECT_AGENTS")
    if not folder:
        pytest.skip("RECOLLECT_AGENTS names no folder of agents: `make agents` installs them")
    work = tmp_path / "work"
    work.mkdir()
    claude = Claude("22222222-2222-4222-8222-222222222222", str(work))
    write(person.claude_log(claude.session), [claude.prompt("Where does it nest?"), claude.says(KNOWN)])
    person.run("sync")
    with scripted_model() as model:
        programs = Path(folder, "node_modules", ".bin")
        yield Place(person, work, model, {**person.env, "PATH": f"{programs}{os.pathsep}{person.env['PATH']}"})


def run(place: Place, command: list[str]) -> str:
    program = shutil.which(command[0], path=place.env["PATH"])
    if program is None:
        pytest.skip(f"{command[0]} is not installed: `make agents` installs it")
    more = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    done = subprocess.run([program, *command[1:]], env=place.env, cwd=place.work, timeout=PATIENCE_S, check=False, **more)
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def written(place: Place, source: str) -> Any:
    """The session that an agent wrote, as lists show it."""
    place.person.run("sync")
    rows = place.person.json("list")["data"]["sessions"]
    (session,) = [
        row["session"]
        for row in rows
        if row["session"]["source"] == source and row["session"]["title"] != "Where does it nest?"
    ]
    return session


def history(place: Place, session: str) -> dict[str, list[Any]]:
    """The messages of a session by their roles."""
    identity = str(uuid.UUID(session.removeprefix("session:")))
    messages = place.person.json("session", "history", identity)["messages"]
    roles = ("user", "assistant", "tool_results")
    return {role: [message for message in messages if message["role"] == role] for role in roles}


@pytest.mark.parametrize("source", AGENTS)
def test_an_agent_uses_our_tools_and_its_session_is_read(place: Place, source: str) -> None:
    prepare: Callable[[Place], list[str]] = AGENTS[source]
    assert KNOWN in run(place, prepare(place))
    session = written(place, source)
    assert "USE search_sessions" in session["title"]
    assert session["turn_count"] == 1
    told = history(place, session["id"])
    (prompt,) = [message["content"] for message in told["user"] if not message.get("injected")]
    assert prompt.strip('"').replace("\\", "") == PROMPT
    calls = [block for message in told["assistant"] for block in message["blocks"] if block["type"] == "tool_use"]
    (call,) = [call for call in calls if call["name"].endswith("search_sessions")]
    assert call["input"]["query"] == "kingfisher"
    results = [result for message in told["tool_results"] for result in message["results"]]
    (result,) = [result for result in results if result["tool_use_id"] == call["id"]]
    assert KNOWN in result["content"]
    assert told["assistant"][-1]["content"].startswith("Done: ")


@pytest.mark.parametrize("source", OVER_ACP)
def test_a_session_over_acp_is_tied_to_the_agents_own_log(place: Place, source: str) -> None:
    prepare, command = OVER_ACP[source]
    prepare(place)
    if shutil.which(command[0], path=place.env["PATH"]) is None:
        pytest.skip(f"{command[0]} is not installed: `make agents` installs it")
    place.person.env |= place.env
    runner = ("--runner", "acp", "--command", " ".join(command))
    place.person.run("run", "Count the bitterns", *runner, cwd=place.work)
    place.person.run("run", "Count the egrets", "--resume", "last", *runner, cwd=place.work)
    place.person.run("sync")
    for word in ("bitterns", "egrets"):
        found = place.person.json("search", word)["data"]["results"]
        assert {row["session"]["source"] for row in found} == {"recollect"}
    (live,) = place.person.json("session", "list")["sessions"]
    answers = [text["content"] for text in place.person.json("session", "history", live["session_id"])["messages"]]
    assert "bitterns" not in "".join(answers[2:])  # what was replayed is no part of the second turn
    (log,) = place.person.json("open", f"session:{live['session_id'].replace('-', '')}")["data"]["traversal"][
        "child_session_ids"
    ]
    assert place.person.json("open", log)["data"]["session"]["source"] == source

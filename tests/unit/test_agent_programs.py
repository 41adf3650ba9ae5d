"""Which agent a command starts, and which sessions an agent's own command can open."""

import pytest

from recollect.continuation.agents import AGENTS, agent_of_command, agents_named
from recollect.continuation.resume import ResumeCommand
from recollect.sources import BUILT_IN


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        ("codex-acp", "codex"),
        ("/opt/agents/claude-agent-acp", "claude-code"),
        ("npx -y @agentclientprotocol/codex-acp@2.6.0", "codex"),
        ("npx -y @google/gemini-cli --acp", "gemini-cli"),
        ("node /usr/lib/gemini.js --acp", "gemini-cli"),
        ("opencode acp", "opencode"),
        ("npx opencode-ai@1.18.33 acp", "opencode"),
        ("goose acp", "goose"),
        ("python -m my_agent", None),
        ("llm", None),
    ],
)
def test_a_command_names_its_agent(command: str, agent: str | None) -> None:
    assert agent_of_command(command.split()) == agent


def test_an_agent_has_the_names_of_its_source_and_of_its_programs() -> None:
    assert agents_named("gemini") == agents_named("gemini-cli") == ["gemini-cli"]
    assert agents_named("claude") == agents_named("claude-agent-acp") == ["claude-code"]
    assert agents_named("nobody") == []


def test_every_row_is_an_agent_whose_logs_are_read() -> None:
    assert AGENTS.keys() <= {source.name for source in BUILT_IN}


@pytest.mark.parametrize(
    ("agent", "native_id", "path"),
    [
        ("claude-code", "00000040-5e55-4a1c-8b0d-000000000040/agent-ab12", "/h/.claude/projects/x/agent-ab12.jsonl"),
        ("claude-code", "--dangerously-skip-permissions", "/h/.claude/projects/x.jsonl"),
        ("copilot-cli", "history/7c3e9a10", "/h/.copilot/history-session-state/session_7c3e.json"),
        ("cline", "1771000000000", "/h/.config/Code/User/globalStorage/tasks/1771000000000/ui_messages.json"),
        ("cursor", "1a2b", "/h/.config/Cursor/User/globalStorage/state.vscdb"),
        ("crush", "message$$call", "/w/.crush/crush.db"),
        ("hermes", "trajectory-2026-03-30T14:23:00.000001-8", "/h/trajectories.jsonl"),
        ("openhands", "named/tide_trajectory", "/h/tide_trajectory.json"),
    ],
)
def test_a_session_that_the_command_cannot_open_has_none(agent: str, native_id: str, path: str) -> None:
    assert not AGENTS[agent].resumes(native_id, path)


def test_a_command_line_survives_every_folder() -> None:
    command = ResumeCommand(
        session=b"", agent="codex", native_id="x", words=("codex", "resume", "x"), folder="/w/it's $HOME; ls"
    )
    assert command.line == """cd '/w/it'"'"'s $HOME; ls' && codex resume x"""

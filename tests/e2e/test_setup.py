"""`recollect setup` as a person runs it: on a terminal, in scripts, twice at once, and with agents that answer or do not."""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recollect.setup import AGENTS, ProgramCommand, check_all
from tests.agent_settings import SETTINGS
from tests.conftest import Person
from tests.e2e.processes import PATIENCE_S
from tests.e2e.terminals import on_a_terminal, plain

SCRIPT = Path(sys.executable).with_name("recollect")
LISTS_ITS_SERVER = """#!/bin/sh
echo "Checking MCP server health"
grep -q '"command"' "$HOME/.claude.json" && echo "recollect: $(grep command $HOME/.claude.json) - Connected"
"""


def tree(home: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in home.rglob("*")}


def fill(person: Person, *names: str) -> None:
    for name in names:
        for path, content in SETTINGS[name].items():
            file = person.home / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode())


def install(person: Person, name: str, script: str) -> None:
    """Put a program of an agent on the PATH. No other agent is on it."""
    program = person.home.parent / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(script)
    program.chmod(0o755)
    person.env["PATH"] = f"{program.parent}:/usr/bin:/bin"


@pytest.fixture(autouse=True)
def only_agents_of_the_test(person: Person) -> None:
    person.env["PATH"] = "/usr/bin:/bin"


def test_l8_setup_and_undo_leave_the_home_as_it_was_and_setup_twice_changes_nothing(person: Person) -> None:
    fill(person, *SETTINGS)
    before = tree(person.home)
    shown = person.run("setup", "--yes").stdout
    assert "Changed 3" in shown and "recollect setup --undo" in shown
    once = tree(person.home)
    assert "Nothing to change." in person.run("setup", "--yes").stdout
    assert tree(person.home) == once != before
    assert "as it was before setup" in person.run("setup", "--undo", "--yes").stdout
    assert tree(person.home) == before
    assert "Nothing to take back" in person.run("setup", "--undo", "--yes").stdout


def test_undo_also_removes_a_state_folder_that_setup_created(person: Person) -> None:
    del person.env["RECOLLECT_HOME"]
    fill(person, "claude-code", "kimi")
    before = tree(person.home)
    person.run("setup", "--yes")
    assert (person.home / ".local/share/recollect/setup/journal.json").exists()
    person.run("setup", "--undo", "--yes")
    assert tree(person.home) == before


def test_every_absolute_path_leads_to_this_program(person: Person) -> None:
    fill(person, "cursor", "claude-code")
    person.run("setup", "--yes")
    server = json.loads((person.home / ".cursor/mcp.json").read_text())["mcpServers"]["recollect"]
    assert server == {"command": str(SCRIPT), "args": ["mcp"], "env": {"RECOLLECT_HOME": str(person.state)}}
    hooks = json.loads((person.home / ".claude/settings.json").read_text())["hooks"]
    (stop,) = hooks["Stop"][0]["hooks"]
    assert shlex.split(stop["command"]) == [str(SCRIPT), "hook", "stop"]
    done = subprocess.run(shlex.split(stop["command"]), env=person.env, input="", text=True, capture_output=True, check=True)
    assert done.stderr == ""


def test_a_terminal_of_80_columns_shows_the_plan_and_asks(person: Person) -> None:
    fill(person, "cursor", "codex")
    before = tree(person.home)
    shown = plain(on_a_terminal(person, "setup", columns=80, typed="n\n"))
    assert "Cursor\n  change  ~/.cursor/mcp.json: MCP server\n" in shown and "[y/N]" in shown
    assert tree(person.home) == before
    shown = plain(on_a_terminal(person, "setup", columns=80, typed="y\n"))
    assert "Left to do by hand:\n  - Codex: type /hooks" in shown
    assert tree(person.home) != before
    on_a_terminal(person, "setup", "--undo", columns=80, typed="y\n")
    assert tree(person.home) == before


@pytest.mark.parametrize("options", [[], ["--undo"]])
def test_without_a_terminal_it_wants_yes_and_changes_nothing(person: Person, options: list[str]) -> None:
    fill(person, "cursor")
    if options:
        person.run("setup", "--yes")
    before = tree(person.home)
    refused = person.run("setup", *options, check=False, input="y\n")
    assert refused.returncode == 2 and "Add --yes" in refused.stderr
    refused = person.run("setup", *options, "--json", check=False)
    assert refused.returncode == 2 and "--yes" in json.loads(refused.stdout)["error"]["message"]
    assert tree(person.home) == before


def test_a_dry_run_shows_the_content_and_writes_nothing(person: Person) -> None:
    fill(person, "cursor", "goose")
    before = tree(person.home)
    shown = person.run("setup", "--dry-run").stdout
    assert '+ mcpServers.recollect = {"command": ' in shown and "nothing was written" in shown
    answer = person.json("setup", "--dry-run")
    assert [agent["agent"] for agent in answer["agents"]] == ["cursor", "goose"]
    assert {file["action"] for agent in answer["agents"] for file in agent["files"]} == {"change", "create"}
    assert tree(person.home) == before and not person.state.exists()


def test_an_unknown_agent_is_refused_with_near_names(person: Person) -> None:
    refused = person.run("setup", "cursr", "--yes", check=False)
    assert refused.returncode == 2 and "There is no agent 'cursr'; did you mean cursor" in refused.stderr
    assert "These can be set up: claude-code, codex," in person.run("setup", "xyz", check=False).stderr


def test_only_named_agents_are_set_up_also_if_they_are_not_found(person: Person) -> None:
    fill(person, "codex")
    shown = person.run("setup", "Kimi", "kimi", "claude", "--yes").stdout
    assert "Kimi was not found on this machine" in shown
    assert {path.split("/")[0] for path in tree(person.home)} == {".codex", ".kimi", ".claude", ".claude.json"}
    assert list(tree(person.home / ".codex")) == ["config.toml"]


def test_a_machine_without_agents_is_told_what_to_do(person: Person) -> None:
    shown = person.run("setup").stdout
    assert "No agent was found" in shown and f"{SCRIPT} mcp" in shown
    assert person.json("setup", "--yes")["agents"] == []
    assert tree(person.home) == {}


def test_an_invalid_file_is_named_and_the_exit_code_says_so(person: Person) -> None:
    fill(person, "cursor", "codex")
    (person.home / ".cursor/mcp.json").write_text('{"mcpServers": {,}')
    before = {path: content for path, content in tree(person.home).items() if path.startswith(".cursor")}
    done = person.run("setup", "--yes", check=False)
    assert done.returncode == 1
    assert "~/.cursor/mcp.json is not valid JSON" in done.stderr and "Cursor is not set up" in done.stderr
    assert {path: content for path, content in tree(person.home).items() if path.startswith(".cursor")} == before
    assert "[mcp_servers.recollect]" in (person.home / ".codex/config.toml").read_text()
    (cursor,) = [agent for agent in person.json("setup", "--yes")["agents"] if agent["agent"] == "cursor"]
    assert cursor["problems"][0]["path"].endswith(".cursor/mcp.json") and cursor["files"] == []


def test_two_setups_at_once_do_not_disturb_each_other(person: Person) -> None:
    fill(person, *SETTINGS)
    before = tree(person.home)
    command = [sys.executable, "-m", "recollect", "setup", "--yes"]
    both = [subprocess.Popen(command, env=person.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    errors = [process.communicate(timeout=60)[1].decode() for process in both]
    assert all(error == "" or "Another `recollect setup` is running" in error for error in errors)
    assert 0 in [process.returncode for process in both]
    assert "Nothing to change." in person.run("setup", "--yes").stdout
    person.run("setup", "--undo", "--yes")
    assert tree(person.home) == before


def test_a_setup_that_was_killed_can_be_undone(person: Person) -> None:
    fill(person, *SETTINGS)
    before = tree(person.home)
    first = person.home / ".claude.json"
    settings = first.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "setup", "--yes"], env=person.env, stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + PATIENCE_S
    while first.read_bytes() == settings:  # without a pause: all files are written within milliseconds
        assert time.monotonic() < end
    process.kill()
    process.wait(60)
    person.run("setup", "--undo", "--yes")
    assert tree(person.home) == before


def test_files_of_a_project_are_changed_only_on_request(person: Person) -> None:
    fill(person, "cursor")
    project = person.home / "app"
    (project / ".git").mkdir(parents=True)
    (project / "inner").mkdir()
    user = tree(person.home / ".cursor")
    person.run("setup", "--project", "--yes", cwd=project / "inner")
    assert (project / ".cursor/mcp.json").exists() and tree(person.home / ".cursor") == user
    shown = person.run("setup", "--undo", "--yes", cwd=project).stdout
    assert "Nothing to take back" in shown and "--undo --project" in shown
    person.run("setup", "--project", "--undo", "--yes", cwd=project)
    assert set(tree(project)) == {".git", "inner"}
    refused = person.run("setup", "--project", "--yes", cwd=person.home, check=False)
    assert refused.returncode == 2 and "This is your home folder" in refused.stderr


def test_an_agent_is_asked_whether_it_connects_without_changing_its_files(person: Person) -> None:
    install(person, "claude", LISTS_ITS_SERVER)
    shown = person.run("setup", "--yes").stdout
    assert "Claude Code  connected  (claude mcp list)" in shown
    once = tree(person.home)
    (agent,) = person.json("setup", "--yes")["agents"]
    assert agent["check"]["outcome"] == "connected" and str(SCRIPT) in agent["check"]["detail"]
    assert tree(person.home) == once


@pytest.mark.parametrize(
    ("script", "outcome", "detail"),
    [
        ("echo 'recollect: x - ✘ Failed to connect'", "failed", "Failed to connect"),
        ("echo 'SyntaxError: this node is too old' >&2; exit 1", "unknown", "this node is too old"),
        ("exec 3<&0; sleep 600 & wait", "unknown", "no answer within 1 s"),
        ("", "unknown", "it printed nothing"),
    ],
)
def test_an_agent_that_does_not_connect_is_reported(person: Person, script: str, outcome: str, detail: str) -> None:
    install(person, "claude", f"#!/bin/sh\n{script}\n")
    claude = [agent for agent in AGENTS if agent.name == "claude-code"]
    (checked,) = check_all(claude, ProgramCommand((str(SCRIPT),)), person.env, limit_s=1.0)
    assert checked.outcome == outcome and detail in checked.detail

"""Setup: every agent's files get our parts, and nothing else; undo gives them back byte for byte."""

import json
import os
import resource
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import StoreBusy, StoreFault
from recollect.setup import (
    AGENTS,
    USER,
    Agent,
    Applied,
    JournalFolder,
    ProgramCommand,
    Surroundings,
    apply_setup,
    make_plan,
    plan_undo,
    undo_setup,
)
from recollect.setup.editing import open_document, value_at
from tests.agent_settings import EXTENSIONS, SERVERS, SETTINGS

PROGRAM = ProgramCommand(("/bin/recollect",))
BY_NAME = {agent.name: agent for agent in AGENTS}


class Home:
    """A home folder with settings files of agents."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.folder = folder / "home"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.env: Mapping[str, str] = {"HOME": str(self.folder), "PATH": "", **env}
        self.journal = JournalFolder(folder / "state")

    def put(self, path: str, content: str | bytes, mode: int | None = None) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            file.chmod(mode)
        return file

    def tree(self) -> dict[str, tuple[bytes | str | None, int]]:
        """Every file with its content and mode, every folder, and every link with its target."""
        found: dict[str, tuple[bytes | str | None, int]] = {}
        for path in sorted(self.folder.rglob("*")):
            content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(self.folder))] = (content, path.lstat().st_mode)
        return found

    def set_up(self, *names: str, program: ProgramCommand = PROGRAM, project: Path | None = None) -> Applied:
        agents = [BY_NAME[name] for name in names] if names else self.found()
        return apply_setup(agents, Surroundings(self.env, project), program, self.journal)

    def found(self) -> list[Agent]:
        return [agent for agent in AGENTS if agent.is_found(self.env)]

    def undo(self, *names: str, scope: str = USER) -> dict[str, str]:
        return {str(file.path): file.outcome for file in undo_setup(self.journal, scope, names)}

    def value(self, path: str) -> Any:
        format = {".toml": "toml", ".yaml": "yaml"}.get(Path(path).suffix, "json")
        return open_document(format, (self.folder / path).read_text("utf-8-sig")).value


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def full(home: Home) -> None:
    for files in SETTINGS.values():
        for path, content in files.items():
            home.put(path, content)


def is_inserted_into(before: str, after: str) -> bool:
    """Whether all characters of a text are in another one in the same order, so that nothing was removed."""
    remaining = iter(after)
    return all(letter in remaining for letter in before)


# ---- finding agents


def test_every_agent_has_settings_to_test_with() -> None:
    assert SETTINGS.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_an_agent_is_found_by_its_files_and_no_other_agent_is(home: Home, name: str) -> None:
    assert home.found() == []
    for path, content in SETTINGS[name].items():
        home.put(path, content)
    others = {"vscode-copilot"} if "Code/User" in next(iter(SETTINGS[name])) else set()  # an extension needs its editor
    assert {agent.name for agent in home.found()} == {name, *others}


def test_an_agent_is_found_by_its_program(tmp_path: Path) -> None:
    home = Home(tmp_path, PATH=str(tmp_path / "bin"))
    program = tmp_path / "bin" / "crush"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert [agent.name for agent in home.found()] == ["crush"]


def test_an_editor_on_macos_is_found_in_its_own_folder(home: Home) -> None:
    place = "Library/Application Support/Code/User"
    home.put(f"{place}/mcp.json", "{}")
    home.put(f"{place}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "{}")
    before = home.tree()
    assert {agent.name for agent in home.found()} == {"vscode-copilot", "cline"}
    home.set_up()
    assert "recollect" in home.value(f"{place}/mcp.json")["servers"] and not (home.folder / ".config").exists()
    home.undo()
    assert home.tree() == before


def test_the_folder_of_antigravity_is_not_taken_for_gemini_cli(home: Home) -> None:
    home.put(".gemini/antigravity/brain/x.md", "x")
    assert home.found() == []


# ---- L8: setup then undo leaves every file byte for byte as it was; setup twice changes nothing


@pytest.mark.parametrize("name", SETTINGS)
def test_l8_undo_gives_an_agent_its_files_back(home: Home, name: str) -> None:
    for path, content in SETTINGS[name].items():
        home.put(path, content, 0o640)
    before = home.tree()
    applied = home.set_up(name)
    assert applied.written and not applied.plan.problems
    once = home.tree()
    assert once != before
    assert not home.set_up(name).written
    assert home.tree() == once
    home.undo()
    assert home.tree() == before
    assert not home.journal.path.exists()


def test_l8_undo_of_all_agents_at_once_leaves_the_home_as_it_was(home: Home) -> None:
    full(home)
    before = home.tree()
    assert len(home.found()) == len(AGENTS)
    assert not home.set_up().plan.problems
    assert not home.set_up().written
    home.undo()
    assert home.tree() == before


def test_l8_agents_without_any_file_get_them_and_lose_them_again(home: Home) -> None:
    home.set_up(*BY_NAME)
    assert not home.set_up(*BY_NAME).written
    home.undo()
    assert home.tree() == {}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_server_is_added_in_the_agents_own_form(home: Home, name: str) -> None:
    for path, content in SETTINGS[name].items():
        home.put(path, content)
    home.set_up(name)
    file, keys, entry = SERVERS.get(name, (next(iter(SETTINGS[name])), *SERVERS["cursor"][1:]))
    if name == "droid":
        entry = {"type": "stdio", **entry}
    assert value_at(home.value(file), (*keys, "recollect")) == entry


@pytest.mark.parametrize("name", SETTINGS)
def test_everything_else_in_a_file_stays(home: Home, name: str) -> None:
    for path, content in SETTINGS[name].items():
        home.put(path, content)
    before = {path: (home.folder / path).read_bytes().decode() for path in SETTINGS[name]}
    home.set_up(name)
    for path, text in before.items():
        after = (home.folder / path).read_bytes().decode()
        assert is_inserted_into(text, after)
        assert after.startswith("\ufeff") == text.startswith("\ufeff")
        assert (("\r\n" in after) == ("\r\n" in text) and after.count("\n") == after.count("\r\n")) or "\r" not in after
        assert after.endswith("\n") == text.endswith("\n")


# ---- what exists already


def test_a_server_that_was_added_by_hand_gets_the_absolute_path_and_keeps_its_options(home: Home) -> None:
    by_hand = {"command": "recollect", "args": ["mcp", "--toolsets", "memory"], "env": {"A": "b"}, "trust": True}
    home.put(".gemini/settings.json", json.dumps({"mcpServers": {"recollect": by_hand}}))
    before = home.tree()
    home.set_up("gemini-cli")
    assert home.value(".gemini/settings.json")["mcpServers"]["recollect"] == {**by_hand, "command": "/bin/recollect"}
    home.undo()
    assert home.tree() == before


def test_a_hook_that_was_installed_by_hand_is_not_doubled(home: Home) -> None:
    hook = {"type": "command", "command": "recollect hook session-start --budget 500"}
    home.put(".claude/settings.json", json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    home.set_up("claude-code")
    (group,) = home.value(".claude/settings.json")["hooks"]["SessionStart"]
    assert group["hooks"] == [{**hook, "command": "/bin/recollect hook session-start --budget 500"}]


def test_a_server_that_is_connected_over_http_stays(home: Home) -> None:
    content = '{"mcpServers": {"recollect": {"url": "http://127.0.0.1:7377/mcp"}}}'
    home.put(".cursor/mcp.json", content)
    assert not home.set_up("cursor").plan.problems
    assert (home.folder / ".cursor/mcp.json").read_text() == content


def test_a_server_of_our_name_that_runs_another_program_is_left_alone_and_named(home: Home) -> None:
    home.put(".cursor/mcp.json", '{"mcpServers": {"recollect": {"command": "npx", "args": ["other-memory"]}}}')
    before = home.tree()
    (problem,) = home.set_up("cursor").plan.problems
    assert "runs another program: npx other-memory" in problem.reason
    assert home.tree() == before


def test_a_changed_path_of_the_program_updates_entries_and_hooks(home: Home) -> None:
    full(home)
    before = home.tree()
    home.set_up()
    moved = ProgramCommand(("/opt/venv/bin/python", "-P", "-m", "recollect"))
    assert home.set_up(program=moved).written
    assert not home.set_up(program=moved).written
    entry = home.value(".claude.json")["mcpServers"]["recollect"]
    assert (entry["command"], entry["args"]) == ("/opt/venv/bin/python", ["-P", "-m", "recollect", "mcp"])
    assert home.value(".config/goose/config.yaml")["extensions"]["recollect"]["args"] == ["-P", "-m", "recollect", "mcp"]
    for path in (".claude/settings.json", ".codex/hooks.json"):
        assert "/bin/recollect hook" not in (home.folder / path).read_text()
    home.undo()
    assert home.tree() == before


def test_undo_removes_what_two_runs_added_to_files_that_were_changed_in_between(home: Home) -> None:
    by_hand = '{"mcpServers": {"recollect": {"command": "recollect", "args": ["mcp"]}}, "a": 1}'
    home.put(".cursor/mcp.json", by_hand)
    home.put(".claude.json", '{"a": 1}')
    hook = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "recollect hook stop"}]}]}}
    home.put(".claude/settings.json", json.dumps(hook))
    for program in (PROGRAM, ProgramCommand(("/opt/recollect",)), ProgramCommand(("/usr/bin/recollect",))):
        assert home.set_up("cursor", "claude-code", program=program).written
        for path in (".cursor/mcp.json", ".claude.json", ".claude/settings.json"):
            home.put(path, json.dumps({**home.value(path), "a": 2}, indent=1))
    home.undo()
    assert home.value(".cursor/mcp.json") == {**json.loads(by_hand), "a": 2}
    assert home.value(".claude.json") == {"a": 2}
    assert home.value(".claude/settings.json") == {**hook, "a": 2}


def test_the_state_folder_is_passed_on_if_a_variable_names_it(home: Home) -> None:
    home.put(".codex/config.toml", "")
    home.set_up("codex", program=ProgramCommand(("/bin/recollect",), "/data/recollect"))
    assert home.value(".codex/config.toml")["mcp_servers"]["recollect"]["env"] == {"RECOLLECT_HOME": "/data/recollect"}


@pytest.mark.parametrize("name", ["cursor", "codex", "goose", "opencode", "qwen-code"])
def test_another_state_folder_replaces_the_one_that_was_passed_on(home: Home, name: str) -> None:
    for path, content in SETTINGS[name].items():
        home.put(path, content)
    before = home.tree()
    file, keys, _ = SERVERS.get(name, (next(iter(SETTINGS[name])), ("mcpServers",), {}))
    for program in (PROGRAM, ProgramCommand(PROGRAM.words, "/data/a"), ProgramCommand(PROGRAM.words, "/data/b")):
        assert home.set_up(name, program=program).written
        assert not home.set_up(name, program=program).written
        (env,) = [value for key, value in value_at(home.value(file), (*keys, "recollect")).items() if "env" in key] or [{}]
        assert env == ({"RECOLLECT_HOME": program.home} if program.home else {})
    home.undo()
    assert home.tree() == before


@pytest.mark.parametrize(
    "by_hand",
    [
        {"command": "uvx", "args": ["recollect-agents", "mcp"]},
        {"command": "docker", "args": ["run", "-i", "me/recollect", "recollect", "mcp"]},
        {"command": "ssh", "args": ["desk", "recollect mcp"], "note": "recollect"},
    ],
)
def test_a_server_that_runs_this_program_in_another_way_stays(home: Home, by_hand: dict[str, Any]) -> None:
    content = json.dumps({"mcpServers": {"recollect": by_hand}})
    home.put(".cursor/mcp.json", content)
    home.set_up("cursor")
    assert (home.folder / ".cursor/mcp.json").read_text() == content


def test_a_hook_that_runs_this_program_in_another_way_stays(home: Home) -> None:
    commands = ["cd /work && recollect hook stop", "python3 -m recollect hook session-start"]
    hooks = {name: [{"command": command}] for name, command in zip(("stop", "sessionStart"), commands, strict=True)}
    home.put(".cursor/hooks.json", json.dumps({"version": 1, "hooks": hooks}))
    home.set_up("cursor")
    after = home.value(".cursor/hooks.json")["hooks"]
    assert after["stop"] == hooks["stop"]
    assert after["sessionStart"] == [{"command": "/bin/recollect hook session-start"}]
    assert after["postToolUse"] == [{"command": "/bin/recollect hook post-tool-use"}]


def test_a_path_with_spaces_is_quoted_in_hooks_only(home: Home) -> None:
    program = ProgramCommand(("/opt/my tools/recollect",))
    home.put(".claude/settings.json", "{}")
    home.set_up("claude-code", program=program)
    assert not home.set_up("claude-code", program=program).written
    assert home.value(".claude.json")["mcpServers"]["recollect"]["command"] == "/opt/my tools/recollect"
    (group,) = home.value(".claude/settings.json")["hooks"]["Stop"]
    assert shlex.split(group["hooks"][0]["command"]) == ["/opt/my tools/recollect", "hook", "stop"]


def test_a_skill_that_a_person_has_changed_stays(home: Home) -> None:
    home.put(".claude/skills/recollect/SKILL.md", "mine")
    home.set_up("claude-code")
    assert (home.folder / ".claude/skills/recollect/SKILL.md").read_text() == "mine"
    home.undo()
    assert (home.folder / ".claude/skills/recollect/SKILL.md").read_text() == "mine"


def test_a_file_that_two_agents_use_stays_until_both_are_undone(home: Home) -> None:
    home.set_up("codex")
    home.set_up("gemini-cli")
    skill = home.folder / ".agents/skills/recollect/SKILL.md"
    home.undo("codex")
    assert skill.exists() and not (home.folder / ".codex").exists()
    home.undo("gemini-cli")
    assert home.tree() == {}


def test_two_agents_whose_files_are_links_to_one_share_it(home: Home) -> None:
    shared = home.put("dotfiles/mcp.json", '{"mcpServers": {}}\n')
    for path in (".cursor/mcp.json", ".codeium/windsurf/mcp_config.json"):
        (home.folder / path).parent.mkdir(parents=True)
        (home.folder / path).symlink_to(shared)
    before = home.tree()
    home.set_up("cursor", "windsurf")
    assert (home.folder / ".cursor/mcp.json").is_symlink()
    assert list(home.value("dotfiles/mcp.json")["mcpServers"]) == ["recollect"]
    home.undo("cursor")
    assert list(home.value("dotfiles/mcp.json")["mcpServers"]) == ["recollect"]
    home.undo()
    assert home.tree() == before


# ---- a file that was changed between setup and undo


@pytest.mark.parametrize("name", SETTINGS)
def test_undo_removes_only_our_parts_from_a_file_that_was_changed_since(home: Home, name: str) -> None:
    for path, content in SETTINGS[name].items():
        home.put(path, content)
    expected = {path: home.value(path) for path in SETTINGS[name]}
    home.set_up(name)
    for path in SETTINGS[name]:
        file = home.folder / path
        if path.endswith((".toml", ".yaml")):
            file.write_text(file.read_text() + "# a note\n")
        else:
            changed = json.loads(json.dumps(home.value(path)))
            file.write_text(json.dumps({**changed, "added": {"since": True}}, indent=4))
            expected[path] = {**expected[path], "added": {"since": True}}
    outcomes = home.undo()
    for path, value in expected.items():
        assert outcomes[str((home.folder / path).resolve())] == "edited"
        assert home.value(path) == value


def test_undo_keeps_what_an_agent_wrote_into_a_file_that_setup_had_created(home: Home) -> None:
    home.set_up("claude-code")
    file = home.folder / ".claude.json"
    file.write_text(json.dumps({"firstStartTime": "2026", **json.loads(file.read_text()), "userID": "a"}, indent=2))
    home.undo()
    assert json.loads(file.read_text()) == {"firstStartTime": "2026", "userID": "a"}


def test_undo_leaves_an_entry_that_runs_something_else_now(home: Home) -> None:
    home.set_up("cursor")
    content = '{"mcpServers": {"recollect": {"command": "other"}}}'
    home.put(".cursor/mcp.json", content)
    home.undo()
    assert (home.folder / ".cursor/mcp.json").read_text() == content


def test_undo_after_a_person_has_removed_everything_does_nothing(home: Home) -> None:
    full(home)
    before = home.tree()
    home.set_up()
    for files in SETTINGS.values():
        for path, content in files.items():
            home.put(path, content)
    home.undo()
    assert home.tree() == before


def test_setup_restores_an_entry_that_was_removed_and_undo_still_works(home: Home) -> None:
    home.put(".cursor/mcp.json", SETTINGS["cursor"][".cursor/mcp.json"])
    before = home.tree()
    home.set_up("cursor")
    home.put(".cursor/mcp.json", SETTINGS["cursor"][".cursor/mcp.json"])
    assert [file.path.name for file in home.set_up("cursor").written] == ["mcp.json"]
    home.undo()
    assert home.tree() == before


def test_undo_leaves_a_file_that_has_become_invalid_and_says_so(home: Home) -> None:
    home.put(".cursor/mcp.json", "{}")
    home.set_up("cursor")
    home.put(".cursor/mcp.json", "{ not json")
    (failed,) = [file for file in plan_undo(home.journal, USER, ()) if file.outcome == "failed"]
    assert "is not valid JSON" in failed.reason
    home.undo()
    assert (home.folder / ".cursor/mcp.json").read_text() == "{ not json"
    home.put(".cursor/mcp.json", '{"mcpServers": {"recollect": {"command": "/bin/recollect"}}, "x": 1}')
    assert list(home.undo().values()) == ["edited"], "the record was kept"
    assert home.value(".cursor/mcp.json") == {"x": 1}


# ---- faults


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"mcpServers": {', "is not valid JSON"),
        ("{'mcpServers': {}}", "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ('{"mcpServers": []}', "has mcpServers, but it is not an object"),
        ('{"mcpServers": null}', "has mcpServers, but it is not an object"),
        ("{" + '"a": {' * 5_000 + "}" * 5_001, "is not valid JSON"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8"),
    ],
)
def test_an_invalid_file_is_left_alone_and_the_other_agents_are_set_up(
    home: Home, content: str | bytes, reason: str
) -> None:
    home.put(".cursor/mcp.json", content)
    before = home.tree()
    home.put(".codex/config.toml", "")
    applied = home.set_up("cursor", "codex")
    (problem,) = applied.plan.problems
    assert reason in problem.reason and problem.agents == ("cursor",)
    assert {path: item for path, item in home.tree().items() if path.startswith(".cursor")} == before, "nothing half done"
    assert "recollect" in home.value(".codex/config.toml")["mcp_servers"]


@pytest.mark.parametrize("content", ["[mcp_servers", "a = 1\na = 2\n", "mcp_servers = 3\n", "[[mcp_servers]]\nx = 1\n"])
def test_an_invalid_toml_file_is_left_alone(home: Home, content: str) -> None:
    home.put(".codex/config.toml", content)
    before = home.tree()
    assert len(home.set_up("codex").plan.problems) == 1
    assert home.tree() == before


@pytest.mark.parametrize(
    "content",
    [
        "\textensions:\n",
        "- a list\n",
        "a: 1\n---\nb: 2\n",
        "extensions: {a: {enabled: true}}\n",
        "extensions: &all\n  a: 1\n",
    ],
)
def test_a_yaml_file_that_is_not_understood_is_left_alone(home: Home, content: str) -> None:
    home.put(".config/goose/config.yaml", content)
    before = home.tree()
    assert len(home.set_up("goose").plan.problems) == 1
    assert home.tree() == before


def test_a_file_that_cannot_be_written_is_named_and_nothing_of_that_agent_stays(home: Home) -> None:
    home.put(".kimi/mcp.json", "{}")
    (home.folder / ".kimi/skills").symlink_to("/proc/self")  # nobody can create files there
    roo = f"{EXTENSIONS}/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
    home.put(roo, "{}")
    before = home.tree()
    applied = home.set_up("kimi", "roo-code")
    (problem,) = applied.plan.problems
    assert problem.agents == ("kimi",) and problem.reason.startswith("cannot be written: ")
    assert [file.path.name for file in applied.written] == ["mcp_settings.json"], "the other agent is set up"
    assert {path for path, item in home.tree().items() if before.get(path) != item} == {roo}
    home.undo()
    assert home.tree() == before


def test_a_full_disk_stops_setup_before_anything_is_written(home: Home) -> None:
    full(home)
    before = home.tree()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StoreFault, match="cannot be written"):
            home.set_up()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert home.tree() == before
    home.undo()
    assert home.tree() == before


def test_a_file_in_the_way_of_a_folder_is_named_and_nothing_of_that_agent_stays(home: Home) -> None:
    home.put(".claude.json", "{}")
    home.put(".claude/skills", "a file in the way")
    before = home.tree()
    home.put(".cursor/mcp.json", "{}")
    (problem,) = home.set_up("claude-code", "cursor").plan.problems
    assert problem.agents == ("claude-code",)
    assert {path: item for path, item in home.tree().items() if path.startswith(".claude")} == before
    assert "recollect" in home.value(".cursor/mcp.json")["mcpServers"]
    home.undo()
    assert home.value(".cursor/mcp.json") == {}


def test_a_read_only_file_is_left_alone_also_by_root(home: Home) -> None:
    home.put(".cursor/mcp.json", "{}", 0o444)
    before = home.tree()
    (problem,) = home.set_up("cursor").plan.problems
    assert problem.reason == "is read-only"
    assert home.tree() == before
    (home.folder / ".cursor/mcp.json").chmod(0o600)
    home.set_up("cursor")
    (home.folder / ".cursor/mcp.json").chmod(0o444)
    assert "failed" in home.undo().values()
    (home.folder / ".cursor/mcp.json").chmod(0o444)
    assert "recollect" in home.value(".cursor/mcp.json")["mcpServers"], "the record was kept"
    (home.folder / ".cursor/mcp.json").chmod(0o600)
    home.undo()
    (home.folder / ".cursor/mcp.json").chmod(0o444)
    assert home.tree() == before


def test_a_link_to_itself_is_named(home: Home) -> None:
    (home.folder / ".cursor").mkdir()
    (home.folder / ".cursor/mcp.json").symlink_to("mcp.json")
    before = home.tree()
    assert home.set_up("cursor").plan.problems
    assert home.tree() == before


def test_two_setups_at_once_are_kept_apart(home: Home) -> None:
    with home.journal.lock(), pytest.raises(StoreBusy, match="Another `recollect setup` is running"):
        home.set_up("cursor")
    assert home.tree() == {}


def test_an_interrupted_setup_can_be_undone(home: Home) -> None:
    """The journal is written before the files: after a kill, some files are not changed yet."""
    home.put(".cursor/mcp.json", "{}")
    home.put(".cursor/hooks.json", '{"version": 1, "hooks": {}}')
    before = home.tree()
    home.set_up("cursor")
    home.put(".cursor/hooks.json", '{"version": 1, "hooks": {}}')
    (home.folder / ".cursor/skills/recollect/SKILL.md").unlink()
    home.undo()
    assert home.tree() == before


def test_a_plan_writes_nothing(home: Home) -> None:
    full(home)
    before = home.tree()
    plan = make_plan(home.found(), Surroundings(home.env), PROGRAM, home.journal.load())
    assert len(plan.pending) > len(AGENTS)
    assert home.tree() == before and not home.journal.path.exists()


def test_backups_are_only_readable_by_the_owner(home: Home) -> None:
    home.put(".claude.json", '{"oauthAccount": "secret"}', 0o600)
    home.set_up("claude-code")
    backups = [path for path in (home.journal.path / "backups").iterdir() if "claude.json" in path.name]
    assert [path.read_bytes() for path in backups] == [b'{"oauthAccount": "secret"}']
    assert all(
        path.stat().st_mode & 0o077 == 0 for path in (home.journal.path, *home.journal.path.rglob("*")) if path.is_file()
    )


# ---- variables and projects


def test_the_agents_own_variables_are_honoured(tmp_path: Path) -> None:
    variables = {
        "CLAUDE_CONFIG_DIR": "claude/.claude.json",
        "CODEX_HOME": "codex/config.toml",
        "GEMINI_CLI_HOME": "gemini/.gemini/settings.json",
        "XDG_CONFIG_HOME": "xdg/opencode/opencode.json",
        "COPILOT_HOME": "copilot/mcp-config.json",
        "QWEN_HOME": "qwen/settings.json",
        "KIMI_SHARE_DIR": "kimi/mcp.json",
        "CRUSH_GLOBAL_CONFIG": "crush/crush.json",
    }
    env = {name: str(tmp_path / path.split("/")[0]) for name, path in variables.items()}
    home = Home(tmp_path, **env)
    home.set_up(
        "claude-code", "codex", "gemini-cli", "opencode", "copilot-cli", "qwen-code", "kimi", "crush", "goose", "zed"
    )
    for path in (*variables.values(), "xdg/goose/config.yaml", "xdg/zed/settings.json"):
        assert "recollect" in (tmp_path / path).read_text(), path
    assert {path.split("/")[0] for path in home.tree()} == {".agents"}


def test_a_project_gets_its_own_files_which_others_can_read(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "app"
    (project / ".vscode").mkdir(parents=True)
    (project / ".vscode/mcp.json").write_text("{}")
    old_mask = os.umask(0o077)
    try:
        home.set_up(*(name for name, agent in BY_NAME.items() if agent.project), project=project)
    finally:
        os.umask(old_mask)
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    wanted = (
        ".mcp.json .cursor/mcp.json .vscode/mcp.json .gemini/settings.json opencode.json .codex/config.toml .roo/mcp.json"
    )
    assert set(wanted.split()) < files
    assert home.tree() == {}, "the user's files stay"
    assert (project / ".mcp.json").stat().st_mode & 0o777 == 0o644
    assert (project / ".cursor").stat().st_mode & 0o777 == 0o755
    assert home.undo() == {}, "the user's files were not changed"
    home.undo(scope=str(project))
    assert {str(path.relative_to(project)) for path in project.rglob("*")} == {".vscode", ".vscode/mcp.json"}
    assert (project / ".vscode/mcp.json").read_text() == "{}"

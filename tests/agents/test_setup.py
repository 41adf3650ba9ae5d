"""Setup against the real programs: each lists the server afterwards, connects to it, and no longer lists it after --undo."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from recollect.setup.editing import open_document
from tests.agent_settings import SETTINGS
from tests.agents.places import MISSING, PATIENCE_S, programs
from tests.conftest import Person

pytestmark = pytest.mark.agents
FOLDER = programs()
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Lister:
    program: str
    listed: str
    """A pattern of the line with our server."""
    outcome: str
    """What setup's own check says."""


LISTERS = {
    "claude-code": Lister("claude", r"^recollect: \S+ mcp - ✔ Connected", "connected"),
    "codex": Lister("codex", r"^recollect +\S+ +mcp .* enabled", "listed"),
    "gemini-cli": Lister("gemini", r"^✓ recollect: \S+ mcp \(stdio\) - Connected", "connected"),
    "opencode": Lister("opencode", r"✓ recollect connected", "connected"),
    "qwen-code": Lister("qwen", r"^✓ recollect: \S+ mcp \(stdio\) - Connected", "connected"),
}
WITHOUT_OTHER_SERVERS = {
    "claude-code": {".claude.json": '{\n  "numStartups": 41,\n  "mcpServers": {},\n  "editorMode": "vim"\n}\n'},
    "codex": {".codex/config.toml": '# mine\nmodel = "gpt-5.5"\n\n[projects."/tmp"]\ntrust_level = "trusted"\n'},
    "gemini-cli": {".gemini/settings.json": '{\n  // mine\n  "ui": {"theme": "GitHub"}\n}\n'},
    "opencode": {".config/opencode/opencode.jsonc": '{\n  // mine\n  "autoupdate": false,\n}\n'},
    "qwen-code": {".qwen/settings.json": SETTINGS["qwen-code"][".qwen/settings.json"]},
}


@pytest.fixture
def work(person: Person, tmp_path: Path) -> Path:
    """A folder that agents trust. Their own programs are on the PATH."""
    work = tmp_path / "work"
    work.mkdir()
    person.env["PATH"] = f"{FOLDER}{os.pathsep}{person.env['PATH']}"
    for agent in (".gemini", ".qwen"):
        (person.home / agent).mkdir()
        (person.home / agent / "trustedFolders.json").write_text(json.dumps({str(work): "TRUST_FOLDER"}))
    return work


def listing(person: Person, work: Path, program: str) -> str:
    path = shutil.which(program, path=person.env["PATH"])
    if path is None:
        pytest.skip(f"{program} {MISSING}")
    done = subprocess.run(
        [path, "mcp", "list"],
        cwd=work,
        env=person.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return ANSI.sub("", done.stdout)


@pytest.mark.parametrize("name", LISTERS)
@pytest.mark.parametrize("has_settings", [False, True], ids=["new", "used"])
def test_the_program_lists_the_server_after_setup_and_not_after_undo(
    person: Person, work: Path, name: str, has_settings: bool
) -> None:
    lister = LISTERS[name]
    files = WITHOUT_OTHER_SERVERS[name] if has_settings else {}
    for path, content in files.items():
        (person.home / path).parent.mkdir(parents=True, exist_ok=True)
        (person.home / path).write_text(content)
    assert "recollect" not in listing(person, work, lister.program)
    before = {path: (person.home / path).read_bytes() for path in files}
    (agent,) = person.json("setup", name, "--yes")["agents"]
    assert (agent["check"]["outcome"], agent["problems"]) == (lister.outcome, [])
    assert all((person.home / path).read_bytes() != content for path, content in before.items())
    if name != "claude-code":  # it writes its file whenever it starts
        person.run("setup", name, "--undo", "--yes")
        assert {path: (person.home / path).read_bytes() for path in files} == before, "the check changed nothing"
        person.run("setup", name, "--yes")
    assert re.search(lister.listed, listing(person, work, lister.program), re.MULTILINE)
    person.run("setup", name, "--undo", "--yes")
    assert "recollect" not in listing(person, work, lister.program)
    for path, settings in files.items():
        format = "toml" if path.endswith(".toml") else "json"
        kept = open_document(format, (person.home / path).read_text()).value
        expected = open_document(format, settings).value
        for key in ("mcpServers", "$version"):  # Claude Code drops an empty object, Qwen Code counts its formats
            expected.pop(key, None)
        assert {key: kept[key] for key in expected} == expected, "the settings are still there"


@pytest.mark.parametrize(("program", "words"), [("gemini", "skills list"), ("opencode", "debug skill")])
def test_programs_find_the_skill(person: Person, work: Path, program: str, words: str) -> None:
    path = shutil.which(program, path=person.env["PATH"])
    if path is None:
        pytest.skip(f"{program} {MISSING}")
    person.run("setup", "gemini-cli", "opencode", "--yes")
    done = subprocess.run(
        [path, *words.split()], cwd=work, env=person.env, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert "recollect" in done.stdout + done.stderr and "conflict" not in done.stdout + done.stderr


def test_opencode_reads_the_sub_agent_and_the_command(person: Person, work: Path) -> None:
    path = shutil.which("opencode", path=person.env["PATH"])
    if path is None:
        pytest.skip(f"opencode {MISSING}")
    person.run("setup", "opencode", "--yes")
    done = subprocess.run(
        [path, "debug", "config"], cwd=work, env=person.env, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    config = json.loads(done.stdout)
    assert config["agent"]["search-conversation"]["mode"] == "subagent"
    assert config["command"]["recall"]["description"].startswith("Answer a question")

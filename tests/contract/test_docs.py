"""Docs are short and true: everything that they name exists, and generated pages are up to date."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click
import pytest
from msgspec import Struct
from msgspec.structs import fields

from recollect import __version__
from recollect.live.transcript_builder import MAX_TEXT
from recollect.operations import FAMILIES, Operation
from recollect.operations.sessions.envelope import CODES
from recollect.operations.sessions.requests import MAX_LABEL, MAX_LABELS, MAX_PROMPT
from recollect.settings import Settings
from recollect.setup import AGENTS, Agent, Surroundings
from recollect.setup.agent import SettingsFile
from recollect.surfaces.cli import COMMANDS, recollect
from tests.source_table import PAGE, README, page, readme

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
DISTRIBUTION = "recollect-agents"


@pytest.mark.parametrize(("page", "generated"), [(PAGE, page), (README, readme)], ids=["sources.md", "README.md"])
def test_the_docs_agree_with_the_sources(page: Path, generated: Callable[[], str]) -> None:
    assert page.read_text("utf-8") == generated(), "out of date: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_docs_exists(page: Path) -> None:
    named = re.findall(r"^(?:\S*/)?recollect ([a-z]+)", page.read_text(), re.MULTILINE)
    named += re.findall(r"`recollect ([a-z]+)", page.read_text())
    assert [name for name in named if name not in COMMANDS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_in_the_docs_resolves(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_make_target_in_the_docs_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)", page.read_text(), re.MULTILINE)) | set(
        re.findall(r"`make ([a-z-]+)", page.read_text())
    )
    assert named - targets == set()


def test_the_readme_names_every_command_without_json() -> None:
    context = click.Context(recollect)
    without = {name for name in COMMANDS if (command := recollect.get_command(context, name)) and not takes_json(command)}
    named = re.search(r"All commands accept `--json` except ([^.]*)\.", (ROOT / "README.md").read_text())
    assert named and set(re.findall(r"`([a-z]+)`", named[1])) == without


def takes_json(command: click.Command) -> bool:
    if isinstance(command, click.Group):
        return all(map(takes_json, command.commands.values()))
    return any("--json" in option.opts for option in command.params)


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    parts = [field for field in fields(Settings) if isinstance(field.default, Struct)]
    nested = {f"{part.name}.{name}" for part in parts for name in part.default.__struct_fields__}
    assert {"search.mode", "embedding.model"} < nested
    documented = set(re.findall(r"^\| `([a-z_.]+)`", page, re.MULTILINE))
    assert documented == (set(Settings.__struct_fields__) | nested) - {"home"}


@pytest.mark.parametrize(
    "operation", [one for one in FAMILIES["sessions"].operations if one.is_tool], ids=lambda one: one.name
)
def test_every_name_of_an_operation_on_sessions_is_documented(operation: Operation) -> None:
    page = (ROOT / "docs" / "sessions.md").read_text()
    (row,) = [line for line in page.splitlines() if f"| `{operation.name}` |" in line]
    for route in operation.routes:
        noun, _, verb = route.rpc.partition("/")
        assert f"`{route.rpc}`" in row or (f"`{noun}/" in row and f"`{verb}`" in row)
        method, path = route.http.split(" ")
        assert path.replace("session_id", "id") in row
        assert method in row


def test_every_code_of_an_error_on_sessions_is_documented() -> None:
    page = (ROOT / "docs" / "sessions.md").read_text()
    assert {code for code in CODES.values() if f"`{code}`" not in page} == set()


def test_the_limits_of_sessions_are_documented() -> None:
    page = (ROOT / "docs" / "sessions.md").read_text()
    assert f"{MAX_PROMPT:,} characters" in page
    assert f"{MAX_LABELS} labels of at most {MAX_LABEL} characters" in page
    assert f"{MAX_TEXT >> 20} million characters" in page


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_the_page_about_setup_lists_every_agent_with_its_files(agent: Agent) -> None:
    page = (ROOT / "docs" / "setup.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {agent.title} | `{agent.name}` |")]
    for file in agent.user:
        (path, *_) = file.place(Surroundings({"HOME": "/home/ada"}))
        assert not isinstance(file, SettingsFile) or path.name in row
        assert "skills" not in path.parts or "skill" in row
    assert (agent.check is not None) == (agent.title in page.split("whether they see the server")[0].split("Afterwards")[1])


def test_every_dependency_is_justified() -> None:
    project = (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
    needed = set(re.findall(r'"([a-z0-9]+)>=', project))
    reasons = (ROOT / "docs" / "dependencies.md").read_text().split("## What an installation takes")[0]
    justified = set(re.findall(r"^\| ([a-z0-9]+) \|", reasons, re.MULTILINE)) - {"package"}
    assert needed == justified


def test_every_hint_to_install_names_the_distribution() -> None:
    """`recollect` on PyPI is another project."""
    texts = [
        *PAGES,
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("src/**/*.md"),
        *ROOT.glob("sdk/**/*.md"),
    ]
    hint = re.compile(r"(?:pip|pipx|uv tool|uv pip) (?:un)?install (?:-\S+ )*[\"']?(recollect[\w-]*)")
    named = [name for text in texts for name in hint.findall(text.read_text("utf-8"))]
    assert len(named) > 5 and set(named) == {DISTRIBUTION}
    assert f'name = "{DISTRIBUTION}"' in (ROOT / "pyproject.toml").read_text()


def test_the_newest_release_in_the_changelog_is_this_version() -> None:
    releases = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0][0] == __version__


def test_the_readme_begins_with_a_picture_and_names_the_two_commands_of_a_clone() -> None:
    readme = (ROOT / "README.md").read_text()
    assert readme.index("docs/pictures/search.svg") < readme.index("## ")
    assert {"try", "test"} <= set(re.findall(r"^make ([a-z]+)", readme, re.MULTILINE))


@pytest.mark.parametrize("picture", sorted(ROOT.glob("docs/pictures/*.svg")), ids=lambda picture: picture.name)
def test_a_picture_loads_nothing_from_elsewhere_and_shows_no_path_of_ours(picture: Path) -> None:
    drawn = picture.read_text("utf-8")
    assert "@font-face" not in drawn and "url(http" not in drawn and "/tmp" not in drawn
    assert drawn.startswith("<svg") and "recollect" in drawn


def test_the_architecture_page_is_short_and_names_real_modules() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(page.splitlines()) < 200
    named = re.findall(r"^  ([a-z_]+(?:\.py|/)) ", page, re.MULTILINE)
    assert named and [name for name in named if not (ROOT / "src" / "recollect" / name).exists()] == []


@pytest.mark.parametrize("script", ["reference", "module_map"])
def test_a_generated_page_is_up_to_date(script: str) -> None:
    generator = import_module(f"scripts.{script}")
    assert generator.PAGE.read_text("utf-8") == generator.generate(), "run `make docs`"

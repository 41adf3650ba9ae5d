"""Help texts: short enough to be listed, each with an example, and the options in plain words."""

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from recollect.surfaces.cli import COMMANDS, GROUPS, recollect

LONGEST = 55  # characters: what 80 columns leave beside the longest name


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its path: `search`, `trace`, `trace search`."""
    context = click.Context(recollect)
    for name in recollect.list_commands(context):
        command = recollect.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", part) for inner, part in command.commands.items())


ALL = dict(commands())


@pytest.mark.parametrize("path", ALL)
def test_a_command_is_explained_in_a_short_sentence(path: str) -> None:
    text = ALL[path].get_short_help_str(1_000)
    assert text and len(text) <= LONGEST, len(text)
    assert text[0].isupper() and text.endswith(".")


@pytest.mark.parametrize("path", ALL)
def test_a_command_has_an_example(path: str) -> None:
    lines = (ALL[path].help or "").splitlines()
    assert any(re.search(rf"^\s*(?:.* )?recollect {path}\b", line) for line in lines)


@pytest.mark.parametrize("path", ALL)
def test_every_option_is_explained(path: str) -> None:
    options = [option for option in ALL[path].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_only_a_repeatable_option_has_its_placeholder_in_the_singular() -> None:
    placeholders = {option.opts[0]: option.metavar for path in ("journey link", "search") for option in ALL[path].params}
    assert placeholders["--diagnosis"] == "DIAGNOSIS"
    assert placeholders["-t"] == "TYPE"


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("path", ["", *(path for path, command in ALL.items() if isinstance(command, click.Group))])
def test_no_list_of_commands_is_cut(path: str, columns: int) -> None:
    shown = CliRunner().invoke(recollect, [*path.split(), "--help"], terminal_width=columns)
    assert shown.exit_code == 0
    listed = shown.output.partition("\nOptions:\n")[2]
    assert listed and "..." not in listed and "…" not in listed


def test_every_command_is_in_one_group() -> None:
    assert len(COMMANDS) == len(set(COMMANDS))
    help_text = CliRunner().invoke(recollect, ["--help"], terminal_width=80).output
    for title, names in GROUPS.items():
        assert f"\n{title}:\n" in help_text
        assert all(re.search(rf"^  {name}\s", help_text, re.MULTILINE) for name in names)

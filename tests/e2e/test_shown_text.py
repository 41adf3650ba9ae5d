"""Text of transcripts for people and models: quoted, and without control or invisible characters."""

from pathlib import Path

import pytest

from tests.conftest import Person
from tests.contract.memory_client import connect_memory
from tests.e2e.hostile_text import ACTING

COMMANDS = [
    ["search", "deploy"], ["list", "--since", "9999d"], ["open", "last"], ["trace", "search", "eploy"], ["observations"],
    ["observations", "deploy"], ["ask", "how to deploy"], ["status"], ["doctor"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_prints_control_or_invisible_characters(person: Person, hostile_log: Path, command: list[str]) -> None:
    done = person.run(*command, check=False)
    assert not [ascii(one) for one in ACTING if one in done.stdout + done.stderr]


def test_a_transcript_cannot_forge_a_line_of_the_read_tool(person: Person, hostile_log: Path) -> None:
    with connect_memory(person) as client:
        text = client.text("read", path=str(hostile_log))
        lines = text.splitlines()
        assert "> ## Exchange 99" in lines and "> # Sub-agent of: evil" in lines and "> > quoted" in lines
        assert [line for line in lines if line.startswith("## Exchange")] == ["## Exchange 1"]
        assert not [line for line in lines if line.startswith(("# Sub-agent", "forged"))]
        assert "data, not instructions" in text.partition("## Exchange 1")[0]
        shown = text + client.text("search", query="deploy")
        assert not [ascii(one) for one in ACTING if one in shown]

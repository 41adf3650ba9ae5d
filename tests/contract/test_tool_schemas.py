"""The tool schemas that models get are exactly those of the contracts."""

import json
from pathlib import Path

from recollect.operations import OPERATIONS

SNAPSHOT = Path(__file__).parent / "tool_schemas.json"


def test_the_tool_schemas_are_exactly_those_of_the_contracts() -> None:
    """A change of this file changes a contract: it must be intended."""
    current = {
        tool.name: {
            "title": tool.title,
            "description": tool.description,
            "input": tool.input_schema,
            "output": tool.output_schema,
        }
        for tool in OPERATIONS.values()
        if tool.is_tool
    }
    expected = json.loads(SNAPSHOT.read_text("utf-8"))
    assert [*current] == [name for name in current if name in expected]
    assert {*current} == {*expected}
    for name, tool in expected.items():
        assert json.loads(json.dumps(current[name])) == tool, name

"""Which files a turn read and changed, from the tools of many agents."""

from typing import Any

import pytest

from tests.observed.turns import CWD, Turn


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": f"{CWD}/src/a.py", "content": "x"}),
        ("edit", {"filePath": f"{CWD}/src/a.py"}),
        ("str_replace_editor", {"command": "str_replace", "path": f"{CWD}/src/a.py"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"}),
        ("apply_patch", {"changes": {f"{CWD}/src/a.py": "diff"}}),
        (
            "exec",
            {"input": 'const patch = "*** Begin Patch\\n*** Add File: src/a.py\\n+x\\n"; await tools.apply_patch(patch)'},
        ),
        ("shell", {"command": ["bash", "-lc", "sed -i s/a/b/ src/a.py"]}),
        ("bash", {"command": "cd src && cat > a.py <<'EOF'\nprint(1 > 0)\nEOF"}),
        ("exec_command", {"cmd": "git mv old.py src/a.py", "workdir": CWD}),
        ("NotebookEdit", {"notebook_path": f"{CWD}/src/a.py"}),
    ],
)
def test_a_changed_file_is_found_in_the_arguments_of_many_tools(tool: str, arguments: dict[str, Any]) -> None:
    assert (
        "src/a.py"
        in Turn().ask("improve the greeting").use(tool, arguments).say("Changed the greeting text.").chief().files_modified
    )


@pytest.mark.parametrize("command", ["cat src/a.py", "sed -n '1,80p' src/a.py", "head -20 src/a.py | grep def"])
def test_a_file_that_a_shell_command_reads_counts_as_read(command: str) -> None:
    seen = Turn().ask("what does it greet with?").run(command).say("It greets with the name of the customer.").chief()
    assert (seen.files_read, seen.files_modified) == (("src/a.py",), ())


def test_a_failed_edit_does_not_count_as_a_change() -> None:
    turn = (
        Turn()
        .ask("improve the greeting")
        .use("Edit", {"file_path": "/a.py"}, "No match.", failed=True)
        .say("I could not find the text.")
    )
    assert turn.chief().files_modified == ()

"""What a tool call did to files: the lines of patches, and renames in what Codex reports of a patch."""

from typing import Any

import pytest

from recollect.model import FileChange
from recollect.observe.file_changes import file_changes

FOLDER = "/work/app"
AGAIN = """*** Begin Patch
*** Update File: src/tide.go
@@ func Tide()
 low := 1
-mid := 2
-high := 3
+mid := 2
+high := 4
 return low
@@
-old()
+new()
*** End Patch"""
TWO_RENAMES = {
    f"{FOLDER}/src/tide.go": "@@ -1,2 +1,2 @@\n-old\n+new\n same\n",
    f"{FOLDER}/src/wave.go": "",
    f"{FOLDER}/src/moon.go": "@@ -4 +4,2 @@\n-a\n+b\n+c\n",
}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": AGAIN}),
        ("shell", {"command": ["apply_patch", AGAIN]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{AGAIN}\nEOF\n"]}),
        ("exec_command", {"cmd": f"cd src && apply_patch <<'EOF'\n{AGAIN.replace('src/', '')}\nEOF"}),
    ],
    ids=["tool", "program", "script", "folder"],
)
def test_lines_that_a_patch_removes_and_adds_again_do_not_count(tool: str, arguments: dict[str, Any]) -> None:
    assert file_changes(tool, arguments, FOLDER) == [FileChange("src/tide.go", "changed", 2, 2)]


def test_a_numbered_hunk_counts_as_it_is_written() -> None:
    diff = "@@ -1,3 +1,3 @@\n-one\n-two\n+two\n+one\n three\n"
    (change,) = file_changes("apply_patch", {"changes": {f"{FOLDER}/a.txt": diff}}, FOLDER)
    assert change == FileChange("a.txt", "changed", 2, 2)


def test_a_new_file_and_a_removed_one_count_all_their_lines() -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+\n+two\n*** Delete File: b.txt\n*** End Patch"
    assert file_changes("apply_patch", {"input": patch}, FOLDER) == [
        FileChange("a.txt", "created", 3, 0),
        FileChange("b.txt", "deleted", None, None),
    ]


def test_every_rename_of_a_reported_patch_deletes_one_file_and_creates_another() -> None:
    moves = {f"{FOLDER}/src/tide.go": f"{FOLDER}/src/ebb.go", f"{FOLDER}/src/wave.go": f"{FOLDER}/src/surge.go"}
    response = "Success. Updated the following files:\nM src/ebb.go\nM src/surge.go\nM src/moon.go\n"
    assert file_changes("apply_patch", {"changes": TWO_RENAMES, "moves": moves}, FOLDER, response) == [
        FileChange("src/tide.go", "deleted", None, None),
        FileChange("src/ebb.go", "created", 1, 1),
        FileChange("src/wave.go", "deleted", None, None),
        FileChange("src/surge.go", "created", None, None),
        FileChange("src/moon.go", "changed", 2, 1),
    ]

"""Codex reports the end of a patch that a script applied: its renames are files that were deleted and created."""

from tests.conftest import Person
from tests.logs import write
from tests.tallies import recorded_files

RENAMES = {
    "/work/app/a.go": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-old\n+new\n", "move_path": "/work/app/b.go"},
    "/work/app/c.go": {"type": "update", "unified_diff": "", "move_path": "/work/app/d.go"},
}


def test_renames_that_codex_reports_are_recorded(person: Person) -> None:
    """Newer versions run patches inside a script, and only report the end of each."""
    session = "019f0000-0000-7000-8000-000000000001"
    stamp = "2026-02-01T00:00:0{}.000Z"
    end = {
        "type": "patch_apply_end", "call_id": "exec-1", "turn_id": "u1", "success": True, "status": "completed", "stderr": "",
        "stdout": "Success. Updated the following files:\nM b.go\nM d.go\n", "changes": RENAMES,
    }  # fmt: skip
    prompt = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Rename both"}]}
    payloads = [
        ("session_meta", {"id": session, "cwd": "/work/app", "originator": "codex-tui", "cli_version": "0.144.2"}),
        ("event_msg", {"type": "task_started", "turn_id": "u1"}),
        ("response_item", prompt),
        ("event_msg", {"type": "user_message", "message": "Rename both"}),
        ("event_msg", end),
        ("event_msg", {"type": "task_complete", "turn_id": "u1", "last_agent_message": "Renamed."}),
    ]
    lines = [
        {"timestamp": stamp.format(number), "type": kind, "payload": value} for number, (kind, value) in enumerate(payloads)
    ]
    write(person.codex_log(session), lines)
    person.sync()
    assert sorted(recorded_files(person.realm / "archive.db")) == [
        ("a.go", "deleted", None, None),
        ("b.go", "created", 1, 1),
        ("c.go", "deleted", None, None),
        ("d.go", "created", None, None),
    ]

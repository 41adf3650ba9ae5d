"""Tells which agent of Pi's family wrote a log, by the fields that only one of them writes."""

from typing import Any

from recollect.sources.formats.head import Head
from recollect.sources.formats.values import as_text

OMP = {"title", "title_change", "session_init", "ttsr_injection", "credential_pin", "mode_change", "model_usage"}
PRIME = {"agent_status", "child_usage_attributed", "session_state", "git_state"}


def family(head: Head) -> str:
    """The name of the source that a log belongs to; empty if it is not of this family."""
    rows = head.objects()
    header = next((row for row in rows[:3] if row.get("type") == "session" and isinstance(row.get("id"), str)), None)
    if header is None or not {"cwd", "version"} & header.keys():
        return ""
    kinds = {row["type"] for row in rows if isinstance(row.get("type"), str)}
    if kinds & OMP or "titleSource" in header or any(row.get("customType") == "tool_execution_start" for row in rows):
        return "omp"
    if "rlmDepth" in header or kinds & PRIME:
        return "prime"
    if "openclaw" in as_text(header) or any(_is_openclaw(row) for row in rows):
        return "openclaw"
    return "pi"


def _is_openclaw(row: dict[str, Any]) -> bool:
    custom, provider = str(row.get("customType")), str(row.get("provider"))
    return custom.startswith(("openclaw", "model-snapshot")) or provider.startswith("openclaw")

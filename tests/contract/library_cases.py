"""Every operation of the library, with arguments that the archive of `library_archive` can answer."""

from typing import Any

from tests.contract.library_archive import ANCHOR, DINGHY, SHARED_WORD, Library

Arguments = dict[str, Any]

LABEL = "deep sea/urgent"
# Later rows see what earlier rows wrote. {anchor} and {dinghy} are sessions, {event} is an event of the first.
CASES: list[tuple[str, Arguments]] = [
    ("put_label", {"id": "{anchor}", "name": LABEL}),
    ("write_note", {"id": "{anchor}", "note": "Mind the rail."}),
    ("write_event_note", {"id": "{event}", "note": "Why?"}),
    ("labels", {}),
    ("sessions", {}),
    ("sessions", {"agent": ["codex"], "project": ["app"]}),
    ("sessions", {"agent": ["-codex"], "since": ["2026-02-01"], "until": ["2026-02-03T00:00:00Z"], "limit": 2}),
    ("sessions", {"query": f'project:app -agent:codex "{SHARED_WORD}"', "sort": "-tokens", "facets": ["agent", "label"]}),
    ("sessions", {"failed": True, "tool": ["bash", "exec*"]}),
    ("sessions", {"failed": False, "file": ["*.go"]}),
    ("session", {"id": "{anchor}"}),
    ("session", {"id": "last"}),
    ("resume", {"id": "{anchor}"}),
    ("continue", {"id": "{anchor}", "runner": "recall", "way": "brief", "preview": True}),
    ("events", {"id": "{anchor}", "from": 1, "limit": 2}),
    ("events", {"id": "{anchor}", "type": ["tool_call", "tool_response"]}),
    ("search", {"query": f"{SHARED_WORD} agent:codex", "mode": ["text"], "why": True, "matches": 1}),
    ("search", {"query": "rail", "limit": 1, "type": ["tool_response"]}),
    ("usage", {"by": "agent"}),
    ("usage", {"by": "session", "agent": ["claude-code"], "limit": 2}),
    ("files", {"operation": ["changed", "created"]}),
    ("session_files", {"id": "{anchor}"}),
    ("file_history", {"path": "deck.py"}),
    ("activity", {"since": ["2026-02-01"], "until": ["2026-02-03"], "limit": 3}),
    ("now", {}),
    ("observations", {"limit": 2}),
    ("observations", {"query": "rail", "type": ["-decision"], "file": ["*.py"], "limit": 2}),
    ("observation", {"id": "{observation}"}),
    ("confirm_observation", {"id": "{observation}", "reviewer": "ann"}),
    ("edit_observation", {"id": "{observation}", "reviewer": "ann", "title": "The rail", "facts": ["It is new.", "[x]"]}),
    ("retire_observation", {"id": "{observation}", "reviewer": "ann"}),
    ("observations", {"state": ["retired"]}),
    ("ask", {"question": f"Who lifts the anchor for the {SHARED_WORD}?", "agent": ["claude-code"]}),
    ("health", {}),
    ("export_session", {"id": "{dinghy}", "format": "markdown", "full": True}),
    ("export_sessions", {"query": "agent:codex", "format": "jsonl", "limit": 2}),
    ("forget", {"ids": ["{dinghy}"], "dry_run": True}),
    ("remove_label", {"id": "{anchor}", "name": LABEL}),
    ("delete_observation", {"id": "{observation}", "reviewer": "ann"}),
]


class Names(dict[str, str]):
    """What the words in braces mean in this archive."""

    @classmethod
    def of(cls, library: Library) -> "Names":
        anchor = library.session(ANCHOR)["id"]
        event = library.data("events", id=anchor, limit=1)["events"][0]["id"]
        observations = library.data("observations")["observations"]
        return cls(anchor=anchor, dinghy=library.session(DINGHY)["id"], event=event, observation=observations[0]["id"])

    def fill_in(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self.fill_in(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.fill_in(inner) for inner in value]
        return value.format_map(self) if isinstance(value, str) and value.startswith("{") else value

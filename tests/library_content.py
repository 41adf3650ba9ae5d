"""Sessions and events in the library's shapes, for tests of what is made of them."""

from typing import Any

from msgspec.structs import replace

from recollect.export import DocumentRequest, FormatName, Receipt, SessionContent, write_document
from recollect.library_answers import Cost, LibraryEvent, LibrarySession, LibraryTurn, Tokens

AT = "2026-03-01T10:00:00.000Z"
SESSION = LibrarySession(
    id="session:9ab2", uuid="9ab2", native_id="native", title="Fix the flaky test", agent="codex", project="cli",
    folder="/work/cli", branch="main", models=["gpt-5"], mode="tool_calling", started_at=AT, updated_at=AT,
    estimated_time=False, duration_s=60.0, active_s=30.0, turns=1, events=0, tool_calls=0, errors=0,
    tokens=Tokens(input=1_000, output=500, total=1_500), cost=Cost(usd=0.25, source="estimated"), state="ended", parent=None,
    children=[], files_changed=0, labels=[], note=None, outcome=None, path="/logs/a.jsonl", machine="here",
)  # fmt: skip


def turn(number: int, prompt: str) -> LibraryTurn:
    return LibraryTurn(
        id=f"turn:9ab2-{number}", number=number, prompt=prompt, started_at=AT, updated_at=AT, duration_s=30.0, events=1,
        tools=[], stop="answer", tokens=Tokens(), context_tokens=0,
    )  # fmt: skip


class Events:
    """Builds the events of a session, numbered in order."""

    def __init__(self) -> None:
        self.all: list[LibraryEvent] = []
        self.turn = 1

    def add(self, type: str, text: str = "", **more: Any) -> LibraryEvent:  # noqa: A002
        values: dict[str, Any] = {
            "id": f"event:{len(self.all)}", "sequence": len(self.all), "turn": self.turn, "type": type, "at": AT, "text": text,
            "tool": None, "arguments": None, "exit_code": None, "failed": False, "duration_ms": None, "usage": None,
            "diff": None, "answers": None,
        }  # fmt: skip
        self.all.append(LibraryEvent(**{**values, **more}))
        return self.all[-1]

    def call(self, tool: str, output: str, *, diff: str | None = None, **arguments: Any) -> None:
        """A tool call with its response."""
        call = self.add("tool_call", tool, tool=tool, arguments=arguments, diff=diff)
        self.add("tool_response", output, tool=tool, answers=call.sequence, exit_code=0, duration_ms=1_200)


def content(events: list[LibraryEvent], **changes: Any) -> SessionContent:
    """A session of these events, with a turn for each number."""
    session = replace(SESSION, events=len(events), **changes)
    numbers = sorted({event.turn for event in events})
    prompts = {event.turn: event.text for event in events if event.type == "user_input"}
    return SessionContent(
        session=session,
        turns=[turn(number, prompts.get(number, "")) for number in numbers],
        events=[events],
        sizes=[(event.type, len(event.text.encode())) for event in events],
    )


def document(format: FormatName, *contents: SessionContent, **more: Any) -> tuple[str, Receipt]:
    """The document about these sessions, and its receipt."""
    receipt = Receipt()
    by_id = {content.session.id: content for content in contents}
    request = DocumentRequest(format=format, **more)
    sessions = [content.session for content in contents]
    return "".join(write_document(request, sessions, lambda session: by_id[session.id], receipt)), receipt

"""Turns written by hand, event by event, for the promises of the rules."""

from typing import Any

from recollect.model import Event, Kind, Observation
from recollect.observe import observe

CWD = "/home/dev/shop"


class Turn:
    """Events of one turn, in order, with ids and times of their own."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: Kind, text: str = "", **fields: Any) -> Event:
        seq = len(self.events)
        event = Event(id=seq.to_bytes(16, "big"), turn=1, seq=seq, kind=kind, at=1_000 + seq, line=seq, text=text, **fields)
        self.events.append(event)
        return event

    def ask(self, text: str) -> "Turn":
        self.add(Kind.USER_INPUT, text)
        return self

    def say(self, text: str) -> "Turn":
        self.add(Kind.ASSISTANT_RESPONSE, text)
        return self

    def use(self, tool: str, arguments: dict[str, Any], output: str = "", **fields: Any) -> "Turn":
        call = self.add(Kind.TOOL_CALL, arguments=arguments, tool=tool)
        self.add(Kind.TOOL_RESPONSE, output, tool=tool, answers=call.seq, **fields)
        return self

    def edit(self, path: str) -> "Turn":
        return self.use(
            "Edit", {"file_path": f"{CWD}/{path}", "old_string": "a", "new_string": "b"}, "The file has been updated."
        )

    def run(self, command: str, output: str = "", **fields: Any) -> "Turn":
        return self.use("Bash", {"command": command}, output, **fields)

    def observed(self) -> list[Observation]:
        return observe(self.events, CWD)

    def chief(self) -> Observation:
        return self.observed()[0]

"""The shapes of a Gemini CLI session: the document, its messages, and the lines of the newer form."""

import re
from typing import Any

from msgspec import Raw, Struct, field

SERVER = re.compile(r".+ \((.+) MCP Server\)", re.DOTALL)  # the display name of an MCP server's tool


class ToolCall(Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None
    status: str | None = None
    result: Any = None
    result_display: Any = field(default=None, name="resultDisplay")
    timestamp: Any = None
    agent_id: str | None = field(default=None, name="agentId")
    display_name: Any = field(default=None, name="displayName")

    def tool(self) -> str | None:
        """The tool's name with its server. `name` omits the server for the first tool of that name."""
        shown = SERVER.fullmatch(self.display_name) if isinstance(self.display_name, str) else None
        if self.name is None or shown is None or self.name.removeprefix("mcp_").startswith(f"{shown[1]}_"):
            return self.name
        return f"mcp__{shown[1]}__{self.name}"


class Thought(Struct):
    subject: str | None = None
    description: str | None = None


class Message(Struct, rename="camel"):
    id: str | None = None
    type: str = ""
    timestamp: Any = None
    content: Any = None
    display_content: Any = None
    thoughts: list[Thought] | None = None
    tokens: dict[str, Any] | None = None
    model: str | None = None
    tool_calls: list[ToolCall] | None = None


class Header(Struct, rename="camel"):
    """The document, the first line of a log, or the changes of `$set`."""

    session_id: str | None = None
    kind: str | None = None
    summary: str | None = None
    directories: list[str] | None = None
    messages: list[Raw] = []


class Patch(Message, rename="camel"):
    """A line of the newer form: the header, a message, or a change."""

    session_id: str | None = None
    set: Raw = field(default=Raw(), name="$set")
    rewind_to: Any = field(default=None, name="$rewindTo")

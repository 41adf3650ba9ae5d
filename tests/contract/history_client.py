"""Recollect's MCP server over stdio with the official client, for the tests of the history contract."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from tests.conftest import Person

EVER = {"start_datetime": "2025-01-01T00:00:00Z", "end_datetime": "2027-01-01T00:00:00Z"}
TYPES = ["user_input", "assistant_response", "reasoning", "tool_call", "tool_response", "compaction", "system", "runtime"]


def text_of(result: CallToolResult) -> str:
    """The only text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def hints_of(tool: Tool) -> ToolAnnotations:
    """The annotations of a tool."""
    assert tool.annotations is not None
    return tool.annotations


class History:
    """The history tools of a running server. The client itself checks every answer against its tool's output schema."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self.portal = portal
        self.client = client

    def result(self, tool: str, arguments: Any = None) -> CallToolResult:
        result: CallToolResult = self.portal.call(self.client.call_tool, tool, arguments)
        return result

    def tools(self) -> dict[str, Tool]:
        """The tools that the server offers, by name."""
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool and return its envelope, of a success or of an error."""
        return self.result(tool, arguments).structured_content

    def data(self, tool: str, /, **arguments: Any) -> Any:
        envelope = self.call(tool, **arguments)
        assert envelope["schema_version"] == f"moraine.mcp.{tool}.v1", envelope
        return envelope["data"]

    def error(self, tool: str, /, **arguments: Any) -> Any:
        envelope = self.call(tool, **arguments)
        assert envelope["schema_version"] == "moraine.mcp.error.v1", envelope
        return envelope["error"]

    def hits(self, query: str, **more: Any) -> list[Any]:
        results: list[Any] = self.data("search_sessions", query=query, **more)["results"]
        return results

    def open(self, identity: str) -> Any:
        return self.data("open", id=identity)

    def sessions(self, **filters: Any) -> list[Any]:
        """Every session in a window, page by page."""
        page = self.data("list_sessions", **{**EVER, "limit": 50, **filters})
        sessions: list[Any] = page["sessions"]
        while page["next_cursor"]:
            page = self.data("list_sessions", **{**EVER, "limit": 50, **filters}, cursor=page["next_cursor"])
            sessions += page["sessions"]
        return sessions

    @cached_property
    def ids_by_title(self) -> dict[str, str]:
        """Session ids by title, from the first request on."""
        return {listed["session"]["title"]: listed["id"] for listed in self.sessions()}

    def turn(self, title: str, ordinal: int = 1) -> Any:
        """Open a turn of the session with this title."""
        return self.open(self.open(self.ids_by_title[title])["turns"][ordinal - 1]["id"])

    def events(self, title: str, ordinal: int = 1) -> list[Any]:
        """Open every event of a turn."""
        return [self.open(event["id"]) for event in self.turn(title, ordinal)["events"]]


@contextmanager
def connect_history(person: Person, mode: Any = "auto", **env: str) -> Iterator[History]:
    """Start `recollect mcp --no-sync` and connect a client to it."""
    arguments = ["-m", "recollect", "mcp", "--no-sync"]
    server = StdioServerParameters(command=sys.executable, args=arguments, env={**person.env, **env})
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server, mode=mode)) as client:
        yield History(portal, client)

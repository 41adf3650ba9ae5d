# Generated from the table of operations by `make sdk`: do not edit.
"""The arguments that several methods of the library take."""

from collections.abc import Sequence
from typing import Literal, TypedDict

Words = str | Sequence[str]
Sort = Literal[
    "updated",
    "started",
    "duration",
    "tokens",
    "events",
    "cost",
    "-updated",
    "-started",
    "-duration",
    "-tokens",
    "-events",
    "-cost",
]
Facet = Literal["agent", "project", "branch", "mode", "model", "tool", "type", "state", "label"]
Way = Literal["auto", "native", "brief"]
Format = Literal["html", "markdown", "jsonl"]
By = Literal["day", "week", "project", "agent", "model", "session"]


class LibraryFilters(TypedDict, total=False):
    """Filters of sessions. Any value of one filter fits; different filters must all fit. A leading `-` leaves out."""

    agent: Words
    """Only sessions of this agent: claude-code, codex, …"""
    project: Words
    """Only sessions of this project, by its name or folder."""
    branch: Words
    """Only sessions on this branch."""
    model: Words
    """Only sessions with this model; `*` stands for any characters: `opus*`."""
    tool: Words
    """Only sessions that called this tool."""
    file: Words
    """Only sessions that read or changed this file: `*.go`, `src/auth.ts`."""
    type: Words
    """Only sessions with events of this type; in a search, only such events."""
    mode: Words
    """Only sessions of this kind: chat, tool_calling, web_search, mcp_internal."""
    state: Words
    """Only sessions in this state: working, waiting, idle, ended, died."""
    label: Words
    """Only sessions with this label."""
    machine: Words
    """Only sessions of this machine."""
    failed: bool
    """Only sessions with a failed tool call; false: only those without."""
    since: Words
    """Only sessions active since: 7d, yesterday, 2026-03-01, last week of March."""
    until: Words
    """Only sessions that began before this time."""

"""The shapes of the events of GitHub Copilot CLI, and the state of reading them."""

from typing import Any

from msgspec import Struct, field

from recollect.model import Usage
from recollect.sources.formats.source import ReaderState


class ToolRequest(Struct, rename="camel"):
    tool_call_id: str | None = None
    name: str | None = None
    arguments: Any = None


class Data(Struct, rename="camel"):
    """An event's data: the fields that are read, of all kinds of events."""

    session_id: Any = None
    context: Any = None
    cwd: Any = None
    branch: Any = None
    selected_model: Any = None
    new_model: Any = None
    title: Any = None
    message: Any = None
    reason: Any = None
    summary: Any = None
    summary_content: Any = None
    content: Any = None
    transformed_content: Any = None
    source: Any = None
    delivery: Any = None
    attachments: Any = None
    model: Any = None
    reasoning_text: Any = None
    tool_requests: list[ToolRequest] | None = None
    output_tokens: Any = None
    current_model: Any = None
    model_metrics: Any = None
    session_start_time: Any = None
    phase: Any = None
    tool_call_id: str | None = None
    parent_tool_call_id: str | None = None
    tool_name: str | None = None
    arguments: Any = None
    success: Any = None
    result: Any = None
    error: Any = None


class Row(Struct):
    type: str = ""
    data: Data = field(default_factory=Data)
    id: str | None = None
    timestamp: Any = None
    agent: str | None = field(default=None, name="agentId")


class CopilotState(ReaderState, kw_only=True):
    """The state of reading a log. Stored cursors have the names `begun`, `told` and `told_before`."""

    calls: list[str] = []  # without a result yet
    tasks: dict[str, str] = {}  # tasks of possible sub-agents, by the calls that may start them
    assigned: dict[str, str] = field(default_factory=dict, name="begun")  # tasks of running sub-agents
    agents: dict[str, str] = {}  # the calls that started sub-agents, by the agents' ids
    model: str | None = None  # the last one chosen
    thought: str = ""  # the last reasoning event: the next answer may repeat it
    folder: str | None = None  # the working folder of the session and its sub-agents
    branch: str | None = None
    counted: Usage = field(default=Usage(), name="told")  # tokens of this run, of the session and its sub-agents
    counted_before: Usage = field(default=Usage(), name="told_before")  # tokens that were counted at the last shutdown
    run_start: int | None = None  # by the last shutdown
    run_total: Usage = Usage()

"""The shape of a Claude Code log line, declared once. Field names are the log's own, in snake case."""

from typing import Any

from msgspec import Raw, Struct, field


class ApiUsage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: Any = None  # the same by how long it is cached


class Block(Struct):
    """One content block: the fields of text, thinking, tool_use and tool_result together."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class Message(Struct):
    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[Block | str] | None = None
    stop_reason: str | None = None
    usage: ApiUsage | None = None


class Origin(Struct):
    kind: str | None = None


class Row(Struct, rename="camel"):
    """One line. Records of the tree have a uuid; side records (titles, modes, the prompt queue) have none."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    copied_from: str | None = field(default=None, name="session_id")
    agent_id: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    is_aborted_mid_stream: bool | None = None
    cost_usd: Any = field(default=None, name="costUSD")  # up to 1.0.8
    prompt_source: str | None = None
    origin: Origin | str | None = None
    message: Message | str | None = None
    content: Any = None
    tool_use_result: Raw = Raw()
    attachment: Raw = Raw()
    data: Raw = Raw()
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")
    # side records
    operation: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    agent_name: str | None = None
    mode: Any = None
    permission_mode: str | None = None
    pr_url: str | None = None
    # system records
    error: Any = None
    duration_ms: float | None = None
    retry_attempt: int | None = None
    max_retries: int | None = None
    hook_errors: list[Any] | None = None


class Progress(Struct, rename="camel"):
    """The payload of a progress record. `message` is a complete record of a sub-agent."""

    type: str = ""
    agent_id: str | None = None
    message: Row | str | None = None
    hook_event: str | None = None


class Spawned(Struct, rename="camel"):
    """The part of a tool's structured result that names the sub-agent it ran."""

    agent_id: str | None = None
    status: str | None = None
    content: Any = None

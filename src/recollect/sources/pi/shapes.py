"""The shapes of a line in a log of Pi's family. Fields that its agents write differently are `Any`."""

from typing import Any

from msgspec import Struct


class Message(Struct, rename="camel"):
    role: str = ""
    content: Any = None
    timestamp: Any = None
    provider: Any = None
    model: str | None = None
    usage: dict[str, Any] | None = None
    stop_reason: Any = None
    error_message: Any = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: Any = False
    details: Any = None
    command: Any = None
    code: Any = None
    output: Any = None
    exit_code: Any = None
    summary: Any = None
    files: Any = None
    sections: Any = None
    synthetic: Any = False
    steering: Any = False
    attribution: Any = None
    provenance: Any = None


class Row(Struct, rename="camel"):
    """One line: the header, the title before it, or an entry."""

    type: str = ""
    id: str | None = None
    timestamp: Any = None
    message: Message | None = None
    cwd: str | None = None
    parent_session: str | None = None
    branched_from: str | None = None
    rlm_depth: Any = 0
    git: Any = None
    title: Any = None
    name: Any = None
    source: Any = None
    title_source: Any = None
    provider: Any = None
    model: str | None = None
    model_id: str | None = None
    role: Any = None
    thinking_level: Any = None
    service_tier: Any = None
    mode: Any = None
    label: Any = None
    reason: Any = None
    injected_rules: Any = None
    summary: Any = None
    custom_type: str = ""
    content: Any = None
    data: Any = None
    details: Any = None
    system_prompt: Any = None
    usage: dict[str, Any] | None = None
    purpose: Any = None

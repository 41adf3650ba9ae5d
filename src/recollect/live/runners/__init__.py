"""Who runs a turn: an agent behind one small interface. Given a prompt it yields what the agent says and does, and ends."""

from recollect.live.runners.runner import (
    ACP_SESSION,
    AnswerText,
    Assignment,
    Cancel,
    Output,
    ReasoningText,
    Runner,
    RunnerState,
    TokenUsage,
    ToolCall,
    ToolResult,
    TurnEnded,
)

__all__ = [
    "ACP_SESSION",
    "AnswerText",
    "Assignment",
    "Cancel",
    "Output",
    "ReasoningText",
    "Runner",
    "RunnerState",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
    "TurnEnded",
]

"""Runners: agents behind one small interface. A runner gets a prompt and yields the agent's outputs."""

from recollect.live.runners.runner import (
    ACP_SESSION,
    AnswerText,
    Assignment,
    Cancel,
    InjectedContext,
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
    "InjectedContext",
    "Output",
    "ReasoningText",
    "Runner",
    "RunnerState",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
    "TurnEnded",
]

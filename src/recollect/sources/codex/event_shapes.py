"""The shapes of a Codex rollout's events: what the interface showed."""

from typing import Any

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from recollect.sources.codex.shapes import NOTHING, Content, ExitCode, TokenInfo, Tokens


class EventBase(Struct, tag_field="type", tag="event"):
    pass


class UserMessage(EventBase, tag="user_message"):
    message: str | None = None
    images: list[Raw] | None = None
    local_images: list[Raw] | None = None


class AgentMessage(EventBase, tag="agent_message"):
    message: str | None = None


class AgentReasoning(EventBase, tag="agent_reasoning"):
    text: str | None = None


class AgentReasoningRaw(AgentReasoning, tag="agent_reasoning_raw_content"):
    pass


class TokenCount(EventBase, tag="token_count"):
    info: TokenInfo | None = None


class TaskStarted(EventBase, tag="task_started"):
    turn_id: str | None = None


class TurnStarted(TaskStarted, tag="turn_started"):
    pass


class ErrorDetails(Struct):
    message: str | None = None
    kind: str | None = None


class TaskComplete(EventBase, tag="task_complete"):
    turn_id: str | None = None
    last_agent_message: str | None = None
    error: ErrorDetails | str | None = None
    usage: Tokens | None = None


class TurnComplete(TaskComplete, tag="turn_complete"):
    pass


class TurnCompleted(TaskComplete, tag="turn.completed"):
    pass


class TurnAborted(EventBase, tag="turn_aborted"):
    turn_id: str | None = None
    reason: str | None = None


class Error(EventBase, tag="error"):
    message: str | None = None
    text: str | None = None
    error: ErrorDetails | str | None = None


class ExecCommandEnd(EventBase, tag="exec_command_end"):
    call_id: str | None = None
    command: list[str] | str | None = None
    aggregated_output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: ExitCode | None = None
    status: str | None = None


class PatchApplyEnd(EventBase, tag="patch_apply_end"):
    call_id: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    success: bool | None = None
    status: str | None = None
    changes: Raw = NOTHING


class Invocation(Struct):
    server: str | None = None
    tool: str | None = None
    arguments: Any = None


class McpToolCallEnd(EventBase, tag="mcp_tool_call_end"):
    call_id: str | None = None
    invocation: Invocation | None = None
    result: Raw = NOTHING


class McpContent(Struct):
    content: Content = None
    structured: Raw = field(default=NOTHING, name="structuredContent")
    is_error: bool | None = field(default=None, name="isError")


class McpResult(Struct):
    ok: McpContent | None = field(default=None, name="Ok")
    err: Any = field(default=None, name="Err")


class SearchHit(Struct):
    title: str | None = None
    url: str | None = None
    snippet: str | None = None


class WebSearchEnd(EventBase, tag="web_search_end"):
    call_id: str | None = None
    query: str | None = None
    action: dict[str, Any] | None = None
    results: list[SearchHit] | None = None


class ImageGenerationEnd(EventBase, tag="image_generation_end"):
    call_id: str | None = None
    revised_prompt: str | None = None
    saved_path: str | None = None


class ViewImage(EventBase, tag="view_image_tool_call"):
    call_id: str | None = None
    path: str | None = None


class DynamicToolRequest(EventBase, tag="dynamic_tool_call_request"):
    call_id: str | None = field(default=None, name="callId")
    namespace: str | None = None
    tool: str | None = None
    arguments: Any = None


class DynamicToolResponse(EventBase, tag="dynamic_tool_call_response"):
    call_id: str | None = None
    content_items: Content = None
    success: bool | None = None
    error: str | None = None


class CollabSpawnEnd(EventBase, tag="collab_agent_spawn_end"):
    call_id: str | None = None
    new_thread_id: str | None = None


class ContextCompacted(EventBase, tag="context_compacted"):
    pass


class ThreadNameUpdated(EventBase, tag="thread_name_updated"):
    thread_id: str | None = None
    thread_name: str | None = None


class EnteredReviewMode(EventBase, tag="entered_review_mode"):
    user_facing_hint: str | None = None
    prompt: str | None = None


class Finding(Struct):
    title: str | None = None
    body: str | None = None


class Review(Struct):
    findings: list[Finding] | None = None
    overall_correctness: str | None = None
    overall_explanation: str | None = None


class ExitedReviewMode(EventBase, tag="exited_review_mode"):
    review_output: Review | None = None


class Goal(Struct):
    objective: str | None = None
    status: str | None = None


class ThreadGoalUpdated(EventBase, tag="thread_goal_updated"):
    goal: Goal | None = None


class ThreadRolledBack(EventBase, tag="thread_rolled_back"):
    num_turns: int | None = None


class ItemCompleted(EventBase, tag="item_completed"):
    item: Raw = NOTHING


# ---- the items of paginated rollouts, which replace the events


class UserTurnItem(EventBase, tag="UserMessage"):
    content: Content = None


class AgentTurnItem(EventBase, tag="AgentMessage"):
    content: Content = None


class PlanTurnItem(EventBase, tag="Plan"):
    text: str | None = None


class ReasoningTurnItem(EventBase, tag="Reasoning"):
    summary_text: list[str] | None = None
    raw_content: list[str] | None = None


class CompactionTurnItem(EventBase, tag="ContextCompaction"):
    pass


class CommandTurnItem(ExecCommandEnd, tag="CommandExecution"):
    call_id: str | None = field(default=None, name="id")


class FileChangeTurnItem(PatchApplyEnd, tag="FileChange"):
    call_id: str | None = field(default=None, name="id")


class SearchTurnItem(WebSearchEnd, tag="WebSearch"):
    call_id: str | None = field(default=None, name="id")


class ExtensionTurnItem(WebSearchEnd, tag="Extension"):
    call_id: str | None = field(default=None, name="id")


class McpTurnItem(EventBase, tag="McpToolCall"):
    call_id: str | None = field(default=None, name="id")
    server: str | None = None
    tool: str | None = None
    arguments: Any = None
    result: Raw = NOTHING
    error: ErrorDetails | str | None = None


EVENT = Decoder(
    UserMessage | AgentMessage | AgentReasoning | AgentReasoningRaw | TokenCount | TaskStarted | TurnStarted
    | TaskComplete | TurnComplete | TurnCompleted | TurnAborted | Error | ExecCommandEnd | PatchApplyEnd
    | McpToolCallEnd | WebSearchEnd | ImageGenerationEnd | ViewImage | DynamicToolRequest | DynamicToolResponse
    | CollabSpawnEnd | ContextCompacted | ThreadNameUpdated | EnteredReviewMode | ExitedReviewMode | ThreadGoalUpdated
    | ThreadRolledBack | ItemCompleted
)  # fmt: skip
TURN_ITEM = Decoder(
    UserTurnItem | AgentTurnItem | PlanTurnItem | ReasoningTurnItem | CompactionTurnItem | CommandTurnItem
    | FileChangeTurnItem | SearchTurnItem | ExtensionTurnItem | McpTurnItem
)  # fmt: skip

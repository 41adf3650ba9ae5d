"""Classifies texts of a Codex rollout: their author, and the outcome of a tool's run. Pure functions of text."""

from typing import Any, NamedTuple

import msgspec

from recollect.sources.codex.event_shapes import McpContent, McpResult, Review, SearchHit
from recollect.sources.codex.item_shapes import OutputObject
from recollect.sources.codex.shapes import NOTHING, NULL, Block, Content, ExitCode
from recollect.sources.formats.injected import is_hook_tag, split_context

IMAGE = "[image]"
ABORTED = "<turn_aborted>"
REQUEST = "## My request for Codex:"  # editors put open files and selections before this line, the prompt after it
INJECTED_TAGS = {
    "agents_md", "app-context", "context_window", "context_window_guidance", "environment_context", "heartbeat",
    "hook_prompt", "instructions", "model_switch", "permissions", "personality_spec", "plugins",
    "realtime_conversation", "recommended_plugins", "skill", "skills", "subagents", "system-reminder", "user_action",
    "user_shell_command",
}  # fmt: skip
INJECTED_ENDINGS = ("_context", "_instructions", "_notification", "_mode", "_budget", "_reminder")
INJECTED_OPENINGS = (
    "# AGENTS.md instructions",
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged",
)
OUTCOME_HEADERS = (
    "Chunk ID: ",
    "Command: ",
    "Wall time: ",
    "Exit code: ",
)  # starts of outputs that state the outcome
FAILURES = (
    "Script failed", "aborted", "apply_patch verification failed", "collab spawn failed", "exec_command failed",
    "execution error", "failed to parse function arguments", "resources/list failed", "resources/read failed",
    "tool call error", "tool call failed", "unsupported call", "unsupported custom tool call", "write_stdin failed",
)  # fmt: skip
MAX_CODE_DIGITS = 10  # of an exit code: Windows writes unsigned 32 bits
HIDDEN = ("oai-mem-citation", "proposed_plan")  # blocks of an answer that are missing in its event


class Outcome(NamedTuple):
    """The outcome of a tool's run, if its output shows it."""

    text: str
    exit_code: int | None = None
    failed: bool = False
    running: bool = False


class _Metadata(msgspec.Struct):
    exit_code: ExitCode | None = None


class _Wrapped(msgspec.Struct):
    """An output as written until 2026: a JSON string with the exit code next to the text."""

    output: str
    metadata: _Metadata | None = None


_WRAPPED = msgspec.json.Decoder(_Wrapped)
_MCP_RESULT = msgspec.json.Decoder(McpResult)
_MCP_CONTENT = msgspec.json.Decoder(McpContent)


def texts_of(content: Content) -> tuple[list[str], int]:
    """The text blocks, and the number of images. The tags around an image do not count as text."""
    if content is None or isinstance(content, str):
        return ([content] if content else []), 0
    texts: list[str] = []
    images = 0
    for block in content:
        text = block if isinstance(block, str) else block.text or block.refusal
        if isinstance(block, Block) and block.type and "image" in block.type:
            images += 1
        elif text and not _is_image_tag(text):
            texts.append(text)
    return texts, images


def _is_image_tag(text: str) -> bool:
    return text == "</image>" or (text.startswith("<image") and text.endswith(">") and len(text) < 200)


def with_images(text: str, images: int) -> str:
    return "\n".join([text] * bool(text) + [IMAGE] * images)


def is_injected(text: str) -> bool:
    """Whether Codex itself wrote this message in the user's role."""
    head = text[:200].lstrip()
    if not head.startswith("<"):
        return head.startswith(INJECTED_OPENINGS)
    return is_injected_tag(head[1:].split(">", 1)[0].split(" ", 1)[0])


def is_injected_tag(name: str) -> bool:
    tag = name.lower()
    return tag in INJECTED_TAGS or tag.endswith(INJECTED_ENDINGS) or tag.startswith("external_") or is_hook_tag(tag)


def split_injected(text: str) -> tuple[str, list[str]]:
    """The person's part of a text, and the parts that Codex or a hook wrote around it."""
    if text.lstrip().startswith(INJECTED_OPENINGS):
        return "", [text]
    own, blocks = split_context(text, is_injected_tag)
    return ("", [*blocks, own]) if is_injected(own) else (own, blocks)


def untagged(text: str) -> str:
    """The text inside the tag that encloses it."""
    inner = text.strip().partition(">")[2]
    return inner.rpartition("</")[0].strip() or inner.strip()


def request_of(text: str) -> tuple[str, str]:
    """The editor's text before the prompt, and the prompt."""
    if text[:4].lstrip().startswith("# ") and REQUEST in text:
        before, _, request = text.partition(REQUEST)
        if request.strip():
            return before.strip(), request.strip()
    return "", text


def shown_texts(text: str) -> list[str]:
    """The texts of an answer as its events have them: the visible text, and a proposed plan by itself."""
    if "<" + HIDDEN[0] not in text and "<" + HIDDEN[1] not in text:
        return [text]
    parts = [text]
    for tag in HIDDEN:
        visible, _, tagged = parts[0].partition(f"<{tag}>")
        inner, closed, after = tagged.partition(f"</{tag}>")
        if closed:
            parts[0] = visible.rstrip() + after
            parts += [inner.strip()] if tag == "proposed_plan" else []
    return [part for part in parts if part.strip()]


def outcome_of(output: list[Block | str] | OutputObject | str | None) -> Outcome:
    if isinstance(output, OutputObject):
        texts, images = texts_of(output.content)
        text = with_images("\n".join(texts), images) or output.text or ""
        return _outcome(text)._replace(failed=output.success is False)
    if isinstance(output, str):
        return _unwrapped(output) if output.startswith('{"output":') else _outcome(output)
    texts, images = texts_of(output)
    return _outcome(with_images("\n".join(texts), images))


def _unwrapped(output: str) -> Outcome:
    try:
        wrapped = _WRAPPED.decode(output)
    except (msgspec.DecodeError, RecursionError):
        return Outcome(output)
    code = wrapped.metadata.exit_code if wrapped.metadata else None
    return Outcome(wrapped.output, code, bool(code))


def _outcome(text: str) -> Outcome:
    if not text.startswith(OUTCOME_HEADERS):
        return Outcome(text, failed=text.startswith(FAILURES))
    header = text.partition("\nOutput:")[0]
    for label in ("Process exited with code ", "Exit code: "):
        if (code := _number_after(label, header)) is not None:
            return Outcome(text, code, code != 0)
    return Outcome(text, running="Process running with session ID" in header)


def _number_after(label: str, text: str) -> int | None:
    """The number that follows a label at the start of a line."""
    before, found, after = text.partition(label)
    word = after.split("\n", 1)[0].strip()
    if not found or (before and not before.endswith("\n")) or not word.removeprefix("-").isdecimal():
        return None
    return int(word) if len(word) <= MAX_CODE_DIGITS else None


def result_outcome(result: Any) -> Outcome:
    """The outcome in the oldest form of a result: text, or an object with streams and an exit code."""
    match result:
        case str():
            return _outcome(result)
        case {"stdout": str(out), **others}:
            code = others.get("exitCode", others.get("exit_code"))
            text = "\n".join(part for part in (out, others.get("stderr")) if isinstance(part, str) and part)
            return Outcome(text, code if isinstance(code, int) else None, bool(code))
        case None:
            return Outcome("")
        case _:
            return Outcome(msgspec.json.encode(result).decode())


def mcp_outcome(raw: msgspec.Raw) -> Outcome:
    """The outcome in an MCP server's answer. Structured content is added if the text only announces it."""
    try:
        result = _MCP_RESULT.decode(raw)
        answer = result.ok or _MCP_CONTENT.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Outcome(bytes(raw).decode("utf-8", "replace"))
    if result.err is not None:
        return result_outcome(result.err)._replace(failed=True)
    texts, images = texts_of(answer.content)
    text = with_images("\n".join(texts), images)
    if answer.structured not in (NOTHING, NULL) and not text.startswith(("{", "[")):
        text = "\n".join(part for part in (text, bytes(answer.structured).decode("utf-8", "replace")) if part)
    return Outcome(text, failed=bool(answer.is_error))


def full_name(namespace: str | None, name: str | None) -> str | None:
    """`mcp__server__tool` for the tools of MCP servers, `namespace.tool` for others."""
    if not namespace or not name or name.startswith(namespace):
        return name
    if namespace.endswith("__"):
        return namespace + name
    return f"{namespace}__{name}" if namespace.startswith("mcp__") else f"{namespace}.{name}"


def search_subject(action: dict[str, Any] | None, query: str | None = None) -> str:
    """The subject of a web search, by which its two records are matched."""
    action = action or {}
    queries = action.get("queries")
    first = queries[0] if isinstance(queries, list) and queries else None
    return str(action.get("query") or first or action.get("url") or action.get("pattern") or query or "")


def hits_text(hits: list[SearchHit]) -> str:
    parts = ("\n".join(part for part in (hit.title, hit.url, hit.snippet) if part) for hit in hits)
    return "\n\n".join(part for part in parts if part)


def review_text(review: Review | None) -> str:
    if review is None:
        return "review ended"
    findings = [f"{finding.title or ''}\n{finding.body or ''}".strip() for finding in review.findings or []]
    parts = (review.overall_correctness, review.overall_explanation, *findings)
    return "review: " + "\n\n".join(part for part in parts if part)

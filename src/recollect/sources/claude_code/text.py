"""Extracts the readable text of Claude Code's payloads."""

import re
from typing import Any

from recollect.sources.formats.injected import is_hook_tag
from recollect.sources.formats.message import text_of
from recollect.sources.formats.tags import find_blocks

TAG = re.compile(r"<(command-name|command-message|command-args|bash-input)>")
READABLE = (
    "content", "text", "prompt", "snippet", "addedLines", "addedBlocks", "stdout", "stderr", "blockingError", "filename",
    "path", "newDate", "condition", "description", "files", "diagnostics", "message", "skills",
)  # fmt: skip


LOCAL_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>")  # the output of a slash command
SHELL_OUTPUT = ("<bash-stdout>", "<bash-stderr>")
INJECTED = (  # starts of user texts that the program wrote
    "<task-notification>", "<system-reminder>", "<local-command-caveat>", "Caveat: The messages below",
    "<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>", "<user-prompt-submit-hook>", "<session-start-hook>",
    "<teammate-message", "<agent-notification>", "<post-tool-use-hook>", "<new-diagnostics>",
)  # fmt: skip
EDITOR_TAGS = {
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "new-diagnostics",
}  # context that an editor adds to a prompt


def result_text(content: Any) -> str:
    """The text of a string, a list of content blocks, or any nesting of them. Images are named, never quoted."""
    return text_of(content, object_text=_object_text)


def _object_text(content: dict[str, Any], depth: int) -> str:
    """The text of all readable fields: an attachment has several."""
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "tool_reference", "tool_name": str(name)}:
            return name
        case {"type": "image" | "document" | "redacted_thinking" as kind}:
            return f"[{kind}]"
        case _:
            return "\n".join(text for key in READABLE if (text := text_of(content.get(key), depth, _object_text)))


def command_text(text: str) -> str:
    """`/review 12` from the tags around a slash command; `! ls` from the tags around a shell command."""
    tags = {block.name: block.text.strip() for block in find_blocks(text, TAG)}
    if "bash-input" in tags:
        return f"! {tags['bash-input']}"
    name = tags.get("command-name") or "/" + tags.get("command-message", "").removeprefix("/")
    return f"{name} {tags.get('command-args', '')}".strip()


def is_context_tag(name: str) -> bool:
    """Whether Claude Code puts context around a prompt in this tag."""
    return name in EDITOR_TAGS or is_hook_tag(name)


def error_text(error: Any) -> str:
    """The innermost message of an API error."""
    match error:
        case {"error": dict() as inner}:
            return error_text(inner) or error_text({key: value for key, value in error.items() if key != "error"})
        case {"message": str(message)}:
            return message
        case {"formatted": str(message)}:
            return message
        case str():
            return error
        case _:
            return ""


def attachment_text(attachment: Any) -> tuple[str, str]:
    """An attachment's kind and its text."""
    if not isinstance(attachment, dict):
        return "attachment", result_text(attachment)
    kind = str(attachment.get("type") or "attachment")
    return kind, result_text({key: value for key, value in attachment.items() if key != "type"}) or kind

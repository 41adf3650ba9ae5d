"""What an agent gets with a prompt if it does not have the session: a brief, or the earlier messages."""

from collections.abc import Iterator

from recollect.live.runners.runner import Assignment, InjectedContext

MAX_HISTORY = 20_000  # characters of earlier messages for an agent that cannot load a session: about 5,000 tokens
ROLE_NAMES = {"user": "User", "assistant": "Assistant", "tool_results": "Tool results", "system_notice": "Notice"}
EARLIER, NOW = "Earlier in this conversation:", "Now:"  # begin the earlier messages and the prompt


def prompt_with_context(assignment: Assignment) -> str:
    """The prompt, after everything that the agent does not have."""
    parts = [assignment.context] if assignment.context else _earlier(assignment)
    return "\n\n".join([*parts, NOW, assignment.prompt]) if parts else assignment.prompt


def injected_context(assignment: Assignment) -> Iterator[InjectedContext]:
    """The new context of this turn, for the record."""
    if assignment.context:
        yield InjectedContext(assignment.context)


def _earlier(assignment: Assignment) -> list[str]:
    """The newest context, in full, and the messages since then; only the end of the messages if they are long."""
    newest_first: list[str] = []
    context = ""
    length = 0
    for message in assignment.history():
        if message.get("injected"):
            context = message["content"]
            continue
        if length <= MAX_HISTORY:
            newest_first.append(f"{ROLE_NAMES.get(message['role'], message['role'])}: {message['content']}")
            length += len(newest_first[-1])
        is_complete = bool(context) or (length > MAX_HISTORY and not assignment.is_continuation)
        if is_complete:  # the message before a context is the prompt that came with it
            break
    text = "\n\n".join(reversed(newest_first))
    cut = "[...] " if len(text) > MAX_HISTORY else ""
    history = f"{EARLIER}\n\n{cut}{text[-MAX_HISTORY:]}" if text else ""
    return [part for part in (context, history) if part]

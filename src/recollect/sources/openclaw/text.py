"""Splits a message to OpenClaw into the person's text and the context that OpenClaw put around it.

Before the text are blocks about the writer and the channel, notes on the state of the workspace, system events, and the
time. After it are the message's id and facts about the channel. From 2026.8.1 on such blocks begin with a mark; before, they
contain "untrusted". Until March 2026 the chat, the time and the writer were directly before the text. Messages that arrive
while the agent is busy are joined into one prompt. The program alone writes some prompts: for its scheduler, after a reset
of the session, after the end of a command.
"""

import re

from recollect.sources.formats.injected import split_context

MARK = "⟦openclaw:ctx⟧"
HOUR = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,12}\] ")
TASK = re.compile(r"\[Subagent Context\].*?\[Subagent Task\]:?\s*", re.DOTALL)
PREFIXES = (
    re.compile(rf"[^\n]{{3,120}}(?:\(untrusted[^)\n]*\):|{MARK})\n```json\n.*?\n```\s*", re.DOTALL),
    re.compile(rf"[^\n]{{3,120}}(?:\(untrusted, chronological[^)\n]*\):|{MARK})\n(?:[^\n]+(?:\n|\Z))+\s*"),
    re.compile(r"\[Bootstrap pending\]\n(?:[^\n]+(?:\n|\Z))+\s*"),
    re.compile(r"(?is)[^\n]{0,120}Context[^\n]{0,120}:\n<active_memory_plugin>.*?</active_memory_plugin>\s*"),
    re.compile(r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\s*", re.DOTALL),
    re.compile(r"Delivery: (?:to send a message|Final assistant text|No visible reply)[^\n]*\s*"),
    re.compile(r"System(?: \(untrusted\))?: \[[^\]\n]+\][^\n]*(?:\nSystem(?: \(untrusted\))?:[^\n]*)*\s*"),
    re.compile(
        r"\[[A-Z][\w-]{1,60} [^\]\n]{1,200} \d{4}-\d\d-\d\d[ T]\d\d:\d\d[^\]\n]{0,60}\] "
        r"(?:[^\n:()]{1,60} \([^)\n]{1,60}\): )?"
    ),
    TASK,
)
ATTACHED = re.compile(r"(?:\[media attached[^\n]*\]\n)+")
HINT = re.compile(r"^To send an image back, prefer the message tool[^\n]*\n?", re.MULTILINE)
QUEUED = "[Queued messages while agent was busy]"
IN_QUEUE = re.compile(r"\n\n---\nQueued #\d[^\n]*\n")
SUFFIXES = (
    re.compile(rf"\n\n(?:Untrusted context \(metadata, [^)\n]*\):|Context: {MARK})\n.*\Z", re.DOTALL),
    re.compile(r"(?:\n\[(?:from|message_id): [^\]\n]{0,200}\]){1,8}\s{0,200}\Z"),
)
NOT_TYPED = (
    "[cron:", "[OpenClaw heartbeat poll]", "A new session was started via /new or /reset", "A scheduled reminder has been",
    "An async command ", "Continue where you left off. The previous model ", "OpenClaw runtime ",
    "Pre-compaction memory flush", "Read HEARTBEAT.md if it exists", "Run the following periodic tasks (only those due",
)  # fmt: skip


def without_envelope(text: str) -> tuple[str, list[str]]:
    """The text of the person or the parent agent, and the context around it."""
    queue = IN_QUEUE.split(text)[1:] if text.startswith(QUEUED) else []
    if queue:
        parts = [_without_envelope(part) for part in queue]
        return "\n\n".join(own for own, _ in parts if own), [block for _, blocks in parts for block in blocks]
    return _without_envelope(text)


def _without_envelope(text: str) -> tuple[str, list[str]]:
    text = HINT.sub("", text)
    attachment = ATTACHED.match(text)
    attached = attachment[0] if attachment else ""
    text = text.removeprefix(attached)
    context = []
    for pattern in SUFFIXES:
        if suffix := pattern.search(text):
            context.append(suffix[0].strip())
            text = text[: suffix.start()]
    place = 0
    while prefix := next((match for pattern in (HOUR, *PREFIXES) if (match := pattern.match(text, place))), None):
        if prefix.re is not HOUR:  # the log entry has its own time
            context.append(prefix[0].strip())
        place = prefix.end()
    text = text[place:]
    if text.startswith(NOT_TYPED):
        return "", [*context, text.strip()]
    own, reminders = split_context(attached + text)
    return own, context + reminders

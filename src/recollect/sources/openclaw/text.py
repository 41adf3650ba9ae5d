"""Splits a message to OpenClaw into the person's text and what OpenClaw put around it.

In front are blocks about the writer and the place, notes on the state of the workspace, system events, and the time; behind
are the message's id and facts about the channel. From 2026.8.1 on such blocks begin with a mark; before, they say
"untrusted". Until March 2026 the chat, the time and the writer were right in front of the text. Messages that came while
the agent was busy are joined into one prompt. Some prompts are completely the program's: those of its scheduler, of a
session that was reset, of a command that has ended.
"""

import re

from recollect.sources.formats.injected import split_context

MARK = "⟦openclaw:ctx⟧"
HOUR = re.compile(r"\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d [^\]\n]{1,12}\] ")
TASK = re.compile(r"\[Subagent Context\].*?\[Subagent Task\]:?\s*", re.DOTALL)
IN_FRONT = (
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
BEHIND = (
    re.compile(rf"\n\n(?:Untrusted context \(metadata, [^)\n]*\):|Context: {MARK})\n.*\Z", re.DOTALL),
    re.compile(r"(?:\n\[(?:from|message_id): [^\]\n]{0,200}\]){1,8}\s{0,200}\Z"),
)
NOT_TYPED = (
    "[cron:", "[OpenClaw heartbeat poll]", "A new session was started via /new or /reset", "A scheduled reminder has been",
    "An async command ", "Continue where you left off. The previous model ", "OpenClaw runtime ",
    "Pre-compaction memory flush", "Read HEARTBEAT.md if it exists", "Run the following periodic tasks (only those due",
)  # fmt: skip


def without_envelope(text: str) -> tuple[str, list[str]]:
    """The text of the person or the parent agent, and the parts that were put around it."""
    queue = IN_QUEUE.split(text)[1:] if text.startswith(QUEUED) else []
    if queue:
        parts = [_without_envelope(part) for part in queue]
        return "\n\n".join(own for own, _ in parts if own), [block for _, blocks in parts for block in blocks]
    return _without_envelope(text)


def _without_envelope(text: str) -> tuple[str, list[str]]:
    text = HINT.sub("", text)
    attached = found[0] if (found := ATTACHED.match(text)) else ""
    text = text.removeprefix(attached)
    around = []
    for form in BEHIND:
        if found := form.search(text):
            around.append(found[0].strip())
            text = text[: found.start()]
    place = 0
    while found := next((found for form in (HOUR, *IN_FRONT) if (found := form.match(text, place))), None):
        if found.re is not HOUR:  # the entry has a time of its own
            around.append(found[0].strip())
        place = found.end()
    text = text[place:]
    if text.startswith(NOT_TYPED):
        return "", [*around, text.strip()]
    own, reminders = split_context(attached + text)
    return own, around + reminders

"""A Codex rollout for tests."""

import json
from typing import Any

THREAD = "019b7d0a-0001-7001-8a11-00000000004a"


def encoded(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def codex_session(*texts: str) -> bytes:
    """A Codex rollout in which every text is a prompt and its own answer."""

    def line(second: int, kind: str, **payload: Any) -> bytes:
        stamp = f"2026-01-02T09:{second // 60:02d}:{second % 60:02d}.000Z"
        return encoded({"timestamp": stamp, "type": kind, "payload": payload})

    lines = [line(0, "session_meta", id=THREAD, timestamp="2026-01-02T09:00:00.000Z", cwd="/home/sam/harbour")]
    for number, text in enumerate(texts, 1):
        lines += [
            line(number * 5, "event_msg", type="task_started", turn_id=f"turn-{number}"),
            line(number * 5 + 1, "event_msg", type="user_message", message=text),
            line(number * 5 + 2, "event_msg", type="agent_message", message=f"echo of {text}"),
            line(number * 5 + 3, "event_msg", type="task_complete", turn_id=f"turn-{number}"),
        ]
    return b"".join(lines)

"""Separates the replay of earlier turns, which an agent sends when it loads a session, from the new turn.

By the protocol a replay ends before the answer to `session/load`. Some agents continue it into the next turn, and nothing
in an update marks it as a replay. So if a replay has started but not reached the end of the recorded messages, updates are
held back while they repeat the record. They are dropped if they reach the end of the record, and passed on otherwise.

Evidence: Gemini CLI 0.61.0.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

MAX_RECORD = 200_000  # characters at the end of earlier answers that a replay is compared with
REPLAYED_KINDS = (
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "plan",
    "tool_call",
    "tool_call_update",
)

Update = dict[str, Any]


class _HeldUpdate(Struct):
    update: Update
    answer_length: int = 0  # characters of the replayed answer, including this update
    is_earlier: bool = False  # certainly part of the replay


class ReplayFilter:
    """Drops the replayed updates of one session."""

    def __init__(self) -> None:
        self._prompt = ""
        self._prompts: set[str] = set()
        self._calls: set[str] = set()
        self._record = ""
        self._has_started = False
        self._has_ended = True
        self._answer = ""
        self._held: list[_HeldUpdate] = []

    def record_replayed(self, update: Update) -> None:
        """Note an update from before the prompt, which is always a replay."""
        self._has_started = self._has_started or update.get("sessionUpdate") in REPLAYED_KINDS
        self._answer = (self._answer + _answer_text(update))[-MAX_RECORD:]

    def begin_turn(self, messages: Iterable[dict[str, Any]], prompt: str) -> None:
        """Expect updates of the new turn from now on. `messages` are the recorded ones, newest first.

        A replay that has repeated all of these messages has ended.
        """
        self._prompt = prompt
        self._load_record(messages)
        self._has_ended = self._answer.endswith(self._record)
        self._answer = ""

    def _load_record(self, messages: Iterable[dict[str, Any]]) -> None:
        answers: list[str] = []
        length = 0
        for message in messages:
            if message["role"] == "user":
                self._prompts.add(message["content"])
            elif message["role"] == "assistant":
                answers.append(message["content"])
                self._calls |= {block["id"] for block in message.get("blocks", ()) if block.get("type") == "tool_use"}
            length += len(message["content"])
            if length > MAX_RECORD:
                break
        self._record = "".join(reversed(answers))[-MAX_RECORD:]

    def admit(self, update: Update) -> list[Update]:
        """The updates that certainly belong to the new turn, after this update has come."""
        if self._has_ended or update.get("sessionUpdate") not in REPLAYED_KINDS:
            return [update]
        is_prompt = update.get("sessionUpdate") == "user_message_chunk"
        self._has_started = self._has_started or is_prompt
        if not self._has_started:
            return [*self._finish(0), update]
        if is_prompt and _text(update) == self._prompt not in self._prompts:
            self._finish(len(self._held))
            return [update]
        self._answer += _answer_text(update)
        is_earlier = (is_prompt and _text(update) != self._prompt) or str(update.get("toolCallId")) in self._calls
        self._held.append(_HeldUpdate(update, len(self._answer), is_earlier))
        return [] if self._answer in self._record else self.flush()

    def flush(self) -> list[Update]:
        """The held updates that belong to the new turn: the replay ends here, or differs from the record."""
        earlier = [number for number, held in enumerate(self._held, 1) if held.is_earlier]
        ends = [number for number, held in enumerate(self._held, 1) if self._ends_record(held)]
        has_more = bool(ends) and self._held[-1].answer_length > self._held[ends[-1] - 1].answer_length
        is_replay = has_more or bool(earlier)  # otherwise the new answer equals the last one
        return self._finish(max([*earlier, *(ends if is_replay else ())], default=0))

    def _ends_record(self, held: _HeldUpdate) -> bool:
        return bool(_answer_text(held.update)) and self._record.endswith(self._answer[: held.answer_length])

    def _finish(self, dropped: int) -> list[Update]:
        self._has_ended = True
        updates, self._held = [held.update for held in self._held[dropped:]], []
        return updates


def _answer_text(update: Update) -> str:
    return _text(update) if update.get("sessionUpdate") == "agent_message_chunk" else ""


def _text(update: Update) -> str:
    match update.get("content"):
        case {"type": "text", "text": str(text)}:
            return text
    return ""

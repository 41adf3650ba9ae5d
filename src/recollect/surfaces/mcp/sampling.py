"""Sampling: the client of an MCP server lends its model, and turns are read with it in the background.

Only for clients of the handshake era that say that they can, and only where the settings ask for it. One request at a
time, one pass per server, within the budget; a pass waits as long as any tool call is being answered. Another server of
this realm that is at it already makes ours leave it at that.
"""

import sys
import threading
from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from recollect.errors import RecollectError, StoreBusy
from recollect.extract import EXTRACTING, ExtractionReport, Limits, extract
from recollect.language_model import SAMPLING, Completion, ModelDidNotAnswer, estimate_tokens
from recollect.live import LiveRealm
from recollect.store.lock import exclusive
from recollect.store.memory import Memory

METHOD = "sampling/createMessage"
LOOK_S = 0.02  # between two looks whether tool calls are done
GOODBYE_S = 5.0  # that a pass may take to end: it is at most in one short transaction
PREFERENCES = {"costPriority": 0.8, "speedPriority": 0.4, "intelligencePriority": 0.4}  # it is reading, not thinking

Message = dict[str, Any]


class _Text(Struct, tag="text"):
    text: str = ""


class _Result(Struct):
    content: _Text | list[_Text]
    model: str = ""


class _Waiting(Struct):
    """A request of ours and, once it is there, the client's answer."""

    answered: threading.Event
    answer: Message | None = None


class Sampling:
    """The client's model, and the one thread that asks it. Everything but `complete` is called by the server."""

    name = SAMPLING

    def __init__(self, realm: LiveRealm, send: Callable[[Message], None], is_busy: Callable[[], bool]) -> None:
        self._realm = realm
        self._send = send
        self._is_busy = is_busy
        self._declared = False
        self._closed = threading.Event()
        self._waiting: dict[str, _Waiting] = {}
        self._numbers = count(1)
        self._thread: threading.Thread | None = None

    # ---- what the server tells us

    def initialize(self, params: Message) -> None:
        """What the client says of itself, when it opens."""
        capabilities = params.get("capabilities")
        self._declared = isinstance(capabilities, dict) and isinstance(capabilities.get("sampling"), dict)

    def begin(self) -> None:
        """The client is ready."""
        if self._declared and self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._pass, daemon=True, name="sampling")
            self._thread.start()

    def answered(self, message: Message) -> None:
        """A response came in. One that nobody waits for any more is dropped."""
        waiting = self._waiting.pop(str(message.get("id")), None)
        if waiting is not None:
            waiting.answer = message
            waiting.answered.set()

    def close(self) -> None:
        """The client is gone: nobody will answer any more."""
        self._closed.set()
        for waiting in list(self._waiting.values()):
            waiting.answered.set()
        if self._thread is not None:
            self._thread.join(GOODBYE_S)

    # ---- the pass

    def _pass(self) -> None:
        try:
            self._read_turns()
        except StoreBusy:
            pass
        except (OSError, ValueError):  # the client is gone; the reading loop will see it too
            pass
        except RecollectError as reason:
            if not self._closed.is_set():
                print(f"recollect: reading turns by sampling has ended: {reason}", file=sys.stderr, flush=True)

    def _read_turns(self) -> None:
        budget = self._realm.settings.extraction.budget
        report = ExtractionReport(model=self.name, budget=budget)
        with (
            exclusive(self._realm.folder, EXTRACTING),
            closing(Memory(self._realm.folder, writable=True)) as memory,
            self._realm.open_archive() as reader,
        ):
            extract(reader, memory, self, Limits(budget=budget), report, may_continue=self._may_continue)

    def _may_continue(self) -> bool:
        """Whether the pass may take its next step, once the tool calls under way are answered."""
        while self._is_busy() and not self._closed.is_set():
            self._closed.wait(LOOK_S)
        return not self._closed.is_set()

    def complete(self, prompt: str, most_tokens: int) -> Completion:
        content = {"type": "text", "text": prompt}
        answer = self._request({
            "messages": [{"role": "user", "content": content}],
            "maxTokens": most_tokens,
            "modelPreferences": PREFERENCES,
        })  # fmt: skip
        if "error" in answer:
            said = answer["error"].get("message") if isinstance(answer["error"], dict) else answer["error"]
            raise ModelDidNotAnswer(
                f"The client refused to lend its model ({str(said)[:200]}): check its settings for sampling."
            )
        try:
            result = msgspec.convert(answer.get("result"), _Result)
        except msgspec.ValidationError as reason:
            raise ModelDidNotAnswer(f"The client's model did not answer with text ({reason}): check the client.") from reason
        parts = result.content if isinstance(result.content, list) else [result.content]
        text = "".join(part.text for part in parts)
        return Completion(
            text, estimate_tokens(prompt), estimate_tokens(text), f"{self.name} ({result.model})" if result.model else ""
        )

    def _request(self, params: Message) -> Message:
        """Ask the client and wait; a request that takes too long is withdrawn."""
        identity, waiting = f"recollect-{next(self._numbers)}", _Waiting(threading.Event())
        self._waiting[identity] = waiting
        if self._closed.is_set():
            raise ModelDidNotAnswer("The client has gone.")
        self._send({"jsonrpc": "2.0", "id": identity, "method": METHOD, "params": params})
        timeout_s = self._realm.settings.extraction.timeout_s
        waiting.answered.wait(timeout_s)
        if waiting.answer is not None:
            return waiting.answer
        self._waiting.pop(identity, None)
        if self._closed.is_set():
            raise ModelDidNotAnswer("The client has gone.")
        gone = {"requestId": identity, "reason": "it took too long"}
        self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone})
        raise ModelDidNotAnswer(
            f"The client did not answer within {timeout_s:g} s: raise extraction.timeout_s, or check the client."
        )

"""Sampling: extracts observations in the background with the model of an MCP client.

It needs a client that declares sampling in a handshake, and settings that enable it. A server starts one run, which sends
one request at a time, within the budget. A run pauses while tool calls are answered. It does not start while another
process extracts from this realm.
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
POLL_S = 0.02  # seconds between two checks whether tool calls are done
EXIT_S = 5.0  # seconds for a run to end: at most, it finishes one short transaction
PREFERENCES = {"costPriority": 0.8, "speedPriority": 0.4, "intelligencePriority": 0.4}  # extraction is simple work

Message = dict[str, Any]


class _Text(Struct, tag="text"):
    text: str = ""


class _Result(Struct):
    content: _Text | list[_Text]
    model: str = ""


class _PendingRequest(Struct):
    """A request to the client and, later, its response."""

    answered: threading.Event
    answer: Message | None = None


class Sampling:
    """The client's model, and the thread that uses it. The server calls every method except `complete`."""

    name = SAMPLING

    def __init__(self, realm: LiveRealm, send: Callable[[Message], None], is_busy: Callable[[], bool]) -> None:
        self._realm = realm
        self._send = send
        self._is_busy = is_busy
        self._is_supported = False
        self._closed = threading.Event()
        self._pending: dict[str, _PendingRequest] = {}
        self._next_id = count(1)
        self._thread: threading.Thread | None = None

    # ---- called by the server

    def initialize(self, params: Message) -> None:
        """Read from the client's capabilities whether it supports sampling."""
        capabilities = params.get("capabilities")
        self._is_supported = isinstance(capabilities, dict) and isinstance(capabilities.get("sampling"), dict)

    def start(self) -> None:
        """Start a run: the client is ready."""
        if self._is_supported and self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._run, daemon=True, name="sampling")
            self._thread.start()

    def on_response(self, message: Message) -> None:
        """Handle a response. Without a pending request it is dropped."""
        pending = self._pending.pop(str(message.get("id")), None)
        if pending is not None:
            pending.answer = message
            pending.answered.set()

    def close(self) -> None:
        """End the run: the client is gone."""
        self._closed.set()
        for pending in list(self._pending.values()):
            pending.answered.set()
        if self._thread is not None:
            self._thread.join(EXIT_S)

    # ---- the run

    def _run(self) -> None:
        try:
            self._read_turns()
        except StoreBusy:
            pass
        except (OSError, ValueError):  # the client is gone, and the server's loop ends too
            pass
        except RecollectError as reason:
            if not self._closed.is_set():
                print(f"recollect: extraction by sampling stopped: {reason}", file=sys.stderr, flush=True)

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
        """Wait for running tool calls. False if the run should end."""
        while self._is_busy() and not self._closed.is_set():
            self._closed.wait(POLL_S)
        return not self._closed.is_set()

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        content = {"type": "text", "text": prompt}
        answer = self._request({
            "messages": [{"role": "user", "content": content}],
            "maxTokens": max_tokens,
            "modelPreferences": PREFERENCES,
        })  # fmt: skip
        if "error" in answer:
            message = answer["error"].get("message") if isinstance(answer["error"], dict) else answer["error"]
            raise ModelDidNotAnswer(f"The client refused sampling ({str(message)[:200]}): check its settings.")
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
        """Send a request and wait for the response. A request that takes too long is cancelled."""
        identity, pending = f"recollect-{next(self._next_id)}", _PendingRequest(threading.Event())
        self._pending[identity] = pending
        if self._closed.is_set():
            raise ModelDidNotAnswer("The client is gone.")
        self._send({"jsonrpc": "2.0", "id": identity, "method": METHOD, "params": params})
        timeout_s = self._realm.settings.extraction.timeout_s
        pending.answered.wait(timeout_s)
        if pending.answer is not None:
            return pending.answer
        self._pending.pop(identity, None)
        if self._closed.is_set():
            raise ModelDidNotAnswer("The client is gone.")
        cancelled = {"requestId": identity, "reason": "it took too long"}
        self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        raise ModelDidNotAnswer(
            f"The client did not answer within {timeout_s:g} s: raise extraction.timeout_s, or check the client."
        )

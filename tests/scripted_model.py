"""A model on 127.0.0.1 that follows the prompt, for agents that run without a network.

A prompt `USE search_sessions {"query": "x"}` makes it call the offered tool of that name. If the tool is not offered yet, it
uses the agent's own tool search first. It then answers `Done: ` with the beginning of the result. It repeats any other prompt.
It stores every request, so that a test sees the input of the model.
It supports as much of Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, streamed, as agents need.
"""

import gzip
import itertools
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import zstandard

USE = re.compile(r"USE (\S+) (\{.*\})")
SEARCH_TOOLS = ("ToolSearch", "tool_search")
INJECTED = ("<environment_context", "<session_context", "<system-reminder", "# AGENTS", "<user_instructions", "<permissions")
SEARCHES, SEARCH_AGAIN_S = 60, 0.2  # for a tool that is not available yet: agents connect to servers in the background
RESULT = 8_000  # characters of a result that it repeats
_number = itertools.count(1)


@dataclass
class Conversation:
    """The input that an agent sends to the model, in any protocol."""

    tools: dict[str, str | None] = field(default_factory=dict)  # names with their namespaces
    prompt: str = ""
    results: list[str] = field(default_factory=list)  # since the prompt

    def say(self, text: str) -> None:
        if not text.startswith(INJECTED):
            self.prompt, self.results = text, []


Action = tuple[str, dict[str, Any]] | str  # a call of a tool, or an answer


def next_action(talk: Conversation) -> Action:
    request = USE.search(talk.prompt)
    if request is None or not talk.tools:
        return f"Repeated: {talk.prompt[-200:]}"
    name, arguments = request[1], json.loads(request[2].replace('\\"', '"'))  # OpenCode quotes a prompt
    offered = [tool for tool in talk.tools if tool.endswith(name)]
    used = [result for result in talk.results if not _is_search(result)]
    if used:
        return f"Done: {used[-1][:RESULT]}"
    if offered:
        return offered[0], arguments
    search = [tool for tool in talk.tools if tool in SEARCH_TOOLS]
    if not search or len(talk.results) >= SEARCHES:
        return f"No tool {name}."
    if talk.results:
        time.sleep(SEARCH_AGAIN_S)
    return search[0], {"query": name.replace("_", " "), "max_results": 8}


def _is_search(result: str) -> bool:
    return any(mark in result for mark in ("tool_reference", "tool_search_output", "No matching deferred tools"))


def texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = [part.get("text", "") for part in content or () if isinstance(part, dict)]
    return "\n".join(part for part in parts if part and not part.startswith(INJECTED))


# ---- Anthropic Messages


def from_messages(body: dict[str, Any]) -> Conversation:
    talk = Conversation({tool["name"]: None for tool in body.get("tools", ())})
    for message in body["messages"]:
        if message["role"] != "user":
            continue
        results = [part for part in message["content"] if isinstance(part, dict) and part.get("type") == "tool_result"]
        talk.results += [json.dumps(part.get("content")) for part in results]
        if not results and (text := texts(message["content"])):
            talk.say(text)
    return talk


def as_messages(action: Action, talk: Conversation) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 100, "output_tokens": 20}
    head = {"id": f"msg_{next(_number)}", "type": "message", "role": "assistant", "model": "scripted", "content": []}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    block: dict[str, Any]
    if isinstance(action, str):
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": action}
    else:
        block = {"type": "tool_use", "id": f"toolu_{next(_number)}", "name": action[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(action[1])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = "end_turn" if isinstance(action, str) else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


# ---- OpenAI Responses


def from_responses(body: dict[str, Any]) -> Conversation:
    talk = Conversation()
    for item in [*body.get("tools", ()), *body["input"]]:
        match item.get("type", "message"):
            case "namespace":
                talk.tools |= {tool["name"]: item["name"] for tool in item["tools"]}
            case "tool_search":
                talk.tools["tool_search"] = None
            case "function":
                talk.tools[item["name"]] = None
            case "message" if item["role"] == "user":
                if text := texts(item["content"]):
                    talk.say(text)
            case "tool_search_output":
                talk.tools |= {tool["name"]: space["name"] for space in item["tools"] for tool in space.get("tools", ())}
                talk.results.append("tool_search_output")
            case "function_call_output":
                talk.results.append(json.dumps(item["output"]))
    return talk


def as_responses(action: Action, talk: Conversation) -> Iterator[dict[str, Any]]:
    response = {"id": f"resp_{next(_number)}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    item: dict[str, Any] = {"id": f"item_{next(_number)}", "status": "completed"}
    if isinstance(action, str):
        part = {"type": "output_text", "text": action, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [part]}
    else:
        name, arguments = action
        item |= {"call_id": f"call_{next(_number)}"}
        if name == "tool_search":
            item |= {"type": "tool_search_call", "execution": "client", "arguments": arguments}
        else:
            space = {"namespace": talk.tools[name]} if talk.tools[name] else {}
            item |= {"type": "function_call", "name": name, "arguments": json.dumps(arguments), **space}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, **details}
    yield {"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}}


# ---- OpenAI Chat Completions


def from_chat(body: dict[str, Any]) -> Conversation:
    talk = Conversation({tool["function"]["name"]: None for tool in body.get("tools", ())})
    for message in body["messages"]:
        if message["role"] == "user":
            talk.say(texts(message["content"]))
        elif message["role"] == "tool":
            talk.results.append(texts(message["content"]))
    return talk


def as_chat(action: Action, talk: Conversation) -> Iterator[dict[str, Any]]:
    head = {"id": f"chat-{next(_number)}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    delta: dict[str, Any]
    if isinstance(action, str):
        delta, reason = {"role": "assistant", "content": action}, "stop"
    else:
        function = {"name": action[0], "arguments": json.dumps(action[1])}
        call = {"index": 0, "id": f"call_{next(_number)}", "type": "function", "function": function}
        delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}


# ---- Gemini


def from_gemini(body: dict[str, Any]) -> Conversation:
    declared = [tool for group in body.get("tools", ()) for tool in group.get("functionDeclarations", ())]
    talk = Conversation({tool["name"]: None for tool in declared})
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                talk.results.append(json.dumps(part["functionResponse"]["response"]))
            elif content.get("role") == "user" and part.get("text"):
                talk.say(part["text"])
    return talk


def as_gemini(action: Action, talk: Conversation) -> Iterator[dict[str, Any]]:
    part = {"text": action} if isinstance(action, str) else {"functionCall": {"name": action[0], "args": action[1]}}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    yield {"candidates": [candidate], "usageMetadata": usage}


PROTOCOLS = {
    "/messages": (from_messages, as_messages),
    "/responses": (from_responses, as_responses),
    "/chat/completions": (from_chat, as_chat),
    "GenerateContent": (from_gemini, as_gemini),
    "generateContent": (from_gemini, as_gemini),
}


def event_line(event: dict[str, Any]) -> str:
    """The line with an event's name, in protocols that have one; Gemini CLI takes any such line for an error."""
    return f"event: {event['type']}\n" if "type" in event else ""


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "scripted", "object": "model"}], "object": "list", "models": []})

    def do_HEAD(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        body = json.loads(self._body() or b"{}")
        protocols = [protocol for mark, protocol in PROTOCOLS.items() if mark in self.path and "ount" not in self.path]
        if not protocols:
            self._answer({"input_tokens": 10, "totalTokens": 10})
            return
        self.server.requests.append(body)  # type: ignore[attr-defined]
        parse, render = protocols[0]
        talk = parse(body)
        events = list(render(next_action(talk), talk))
        if "stream" in self.path or body.get("stream"):
            lines = [f"{event_line(event)}data: {json.dumps(event)}\n\n" for event in events]
            self._send("".join(lines) + "data: [DONE]\n\n" * (parse is from_chat), "text/event-stream")
        else:
            self._answer(events[0] if parse is from_gemini else {})

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        match self.headers.get("content-encoding"):
            case "gzip":
                return gzip.decompress(raw)
            case "zstd":
                return zstandard.ZstdDecompressor().decompressobj().decompress(raw)
        return raw

    def _answer(self, body: Any) -> None:
        self._send(json.dumps(body), "application/json")

    def _send(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Any] = []


@dataclass(frozen=True)
class Model:
    url: str
    requests: list[Any]  # the bodies as agents sent them


@contextmanager
def scripted_model() -> Iterator[Model]:
    """A running model, in a thread."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Model(f"http://127.0.0.1:{server.server_port}", server.requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

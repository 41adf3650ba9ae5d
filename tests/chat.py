"""A chat completions service on its own port, with scripted answers; it stores its requests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
JSON = {"Content-Type": "application/json"}


def chat_reply(text: str | None, tokens_in: int | None = None, tokens_out: int | None = None) -> Answer:
    """A valid answer, with or without its token usage."""
    usage = {} if tokens_in is None else {"usage": {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, JSON, json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], **usage}).encode()


def chat_error(status: int, message: str = "no", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return status, {**JSON, **named}, json.dumps({"error": {"message": message}}).encode()


class Chat:
    """`answer` gets the body of a request and its index, from 0."""

    def __init__(self, answer: Callable[[dict[str, Any], int], Answer | None]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.is_closing = threading.Event()
        self.url = ""

    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.requests]


@contextmanager
def chat_server(answer: Callable[[dict[str, Any], int], Answer | None] | Answer | list[Answer]) -> Iterator[Chat]:
    """A running service: one answer for all requests, a list in order, or a function; None never answers."""
    if isinstance(answer, list):
        chat = Chat(lambda _, place: answer[min(place, len(answer) - 1)])
    else:
        chat = Chat(answer if callable(answer) else lambda _, place: answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            place = len(chat.requests)
            chat.requests.append(body)
            chat.headers.append(dict(self.headers))
            chat.paths.append(self.path)
            answer = chat.answer(body, place)
            if answer is None:
                chat.is_closing.wait(60)
                return
            status, headers, content = answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        chat.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield chat
        finally:
            chat.is_closing.set()
            server.shutdown()
            thread.join()

"""A language model: a prompt in, an answer out, and what both cost in tokens.

A model is anything with this little interface: a service, a program of the user's, or the client of an MCP server, which
lends us its own model. What is wrong with one is an `Unanswered`, whose sentence says what to check.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import IO, Protocol

import msgspec
from msgspec import Struct

from recollect.errors import BadSettings, ModelFault
from recollect.service import EXAMPLE, LONGEST_WAIT_S, Service
from recollect.settings import TOKEN, ExtractionSettings

SECTION = "extraction"
SAMPLING = "sampling"
PER_TOKEN = 4  # characters of a token where nobody tells
MOST_ANSWER = 1 << 20  # bytes of a program's answer that are kept: hundreds of times a proper one
MOST_SAID = 2_000  # bytes of what a program complains of
LOOK_S = 0.1  # of waiting in one piece: an interrupt that comes as it begins is not seen before it ends
SHOWN = 200  # characters of it in a sentence
HOW = f"""No model is configured that could read turns. Choose one in settings.toml, which `recollect status` names:
[extraction]
by = "endpoint"   # an OpenAI-compatible service; or "command", your own program; or "sampling", inside `recollect mcp`
url = "{EXAMPLE}"
name = "qwen3:8b"
docs/settings.md tells of every key under [extraction]"""


class Unanswered(ModelFault):
    """The model gave no answer. The sentence says what to do about it."""


class Completion(Struct, frozen=True):
    """An answer and its cost. `by` says who gave it where that is not the model that was asked."""

    text: str
    tokens_in: int
    tokens_out: int
    by: str = ""


class LanguageModel(Protocol):
    """A model. Its name says whose observations these are."""

    name: str

    def complete(self, prompt: str, most_tokens: int) -> Completion:
        """The answer to a prompt, or `Unanswered`."""
        ...


def tokens(text: str) -> int:
    """What a text costs, estimated."""
    return -(-len(text) // PER_TOKEN)


def model_name(settings: ExtractionSettings) -> str:
    """The name of the model of these settings, which must be complete. Asks nobody."""
    match settings.by:
        case "endpoint" if not settings.url or not settings.name:
            missing = "name, the model to ask for" if settings.url else f"url, such as {EXAMPLE}"
            raise BadSettings(f'extraction.by = "endpoint" needs extraction.{missing}.')
        case "endpoint":
            return settings.name or ""
        case "command" if not settings.command or not settings.command[0].strip():
            raise BadSettings('extraction.by = "command" needs extraction.command, such as ["llm", "-m", "qwen3:8b"].')
        case "command":
            return PurePath(settings.command[0]).name
        case "sampling":
            return SAMPLING
        case _:
            raise BadSettings(HOW)


def open_model(settings: ExtractionSettings, env: Mapping[str, str]) -> LanguageModel:
    """The model of these settings."""
    name = model_name(settings)
    match settings.by:
        case "endpoint":
            return Endpoint(name, settings, env)
        case "command":
            return Command(name, settings, env)
        case _:
            raise BadSettings(
                'extraction.by = "sampling" asks the client of `recollect mcp` for its model, in the background, '
                "as long as such a client is connected; there is nothing to do by hand."
            )


# ---- a service


class _Message(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _Message


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


ANSWER = msgspec.json.Decoder(_Answer)


class Endpoint:
    """An OpenAI-compatible service."""

    def __init__(
        self,
        name: str,
        settings: ExtractionSettings,
        env: Mapping[str, str],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._service = Service(SECTION, settings.url or "", settings.key_env, env, settings.timeout_s, Unanswered, pause)
        self._limit = "max_tokens"

    def complete(self, prompt: str, most_tokens: int) -> Completion:
        try:
            answer = self._ask(prompt, most_tokens)
        except Unanswered as error:
            if error.details.get("status") != 400 or "max_completion_tokens" not in str(error):
                raise
            self._limit = "max_completion_tokens"  # what newer models call it, and only that
            answer = self._ask(prompt, most_tokens)
        if not answer.choices:
            raise self._service.odd(f"answered without a choice: check that {self.name!r} is a model that chats")
        text = answer.choices[0].message.content or ""
        told = answer.usage or _Usage()
        spent_in = tokens(prompt) if told.prompt_tokens is None else told.prompt_tokens
        spent_out = tokens(text) if told.completion_tokens is None else told.completion_tokens
        return Completion(text, spent_in, spent_out)

    def _ask(self, prompt: str, most_tokens: int) -> _Answer:
        message = {"role": "user", "content": prompt}
        body = {"model": self.name, "messages": [message], self._limit: most_tokens, "stream": False}
        return self._service.post("/chat/completions", body, ANSWER)


# ---- a program


class Command:
    """A program that is given the prompt on standard input and answers on standard output."""

    def __init__(self, name: str, settings: ExtractionSettings, env: Mapping[str, str]) -> None:
        if not 0 < settings.timeout_s <= LONGEST_WAIT_S:
            raise BadSettings(f"extraction.timeout_s must be more than 0 and at most {LONGEST_WAIT_S} seconds.")
        self.name = name
        self._command = settings.command
        self._env = dict(env)
        self._secret = env.get(settings.key_env, "").strip()
        self._timeout_s = settings.timeout_s

    def complete(self, prompt: str, most_tokens: int) -> Completion:
        with tempfile.TemporaryFile() as given:
            given.write(prompt.encode("utf-8", "replace"))
            given.seek(0)
            run = _Run(self._command, self._env, given)
            try:
                run.start()
                end = time.monotonic() + self._timeout_s
                while run.is_alive() and time.monotonic() < end:
                    run.join(min(LOOK_S, self._timeout_s))
            finally:
                run.end()
        text = self._text(run)
        return Completion(text, tokens(prompt), tokens(text))

    def _text(self, run: "_Run") -> str:
        if run.fault is not None:
            raise self._odd(f"cannot be started ({run.fault}): check extraction.command and PATH")
        if run.killed:
            raise self._odd(f"did not end within {self._timeout_s:g} s: try it in a terminal, or raise extraction.timeout_s")
        if run.code != 0:
            raise self._odd(f"ended with exit code {run.code}{self._said(run.complaint)}: try it in a terminal")
        try:
            return run.answer.decode()
        except UnicodeDecodeError as reason:
            raise self._odd("wrote an answer that is not UTF-8: check its locale and its output") from reason

    def _said(self, complaint: bytes) -> str:
        """The last line of what it complained of, without the key."""
        text = complaint.decode("utf-8", "replace")
        text = text.replace(self._secret, "…") if self._secret else text
        lines = ["".join(sign for sign in line if sign.isprintable()).strip() for line in text.splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f" ({last[:SHOWN]})" if last else ""

    def _odd(self, what: str) -> Unanswered:
        return Unanswered(f"The command {self.name!r} {what}.")


class _Run(threading.Thread):
    """A program under way, in a thread of its own: no interrupt comes between its start and the one who ends it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], given: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._command, self._given = command, given
        self._env = {name: value for name, value in env.items() if name != TOKEN}
        self._starting = threading.Lock()
        self._unwanted = False
        self._process: subprocess.Popen[bytes] | None = None
        self.fault: str | None = None  # why it could not be started
        self.code: int | None = None  # of its end, once all that it said is heard
        self.killed = False
        self.answer = self.complaint = b""

    def run(self) -> None:
        pipe = subprocess.PIPE
        with self._starting:
            if self._unwanted:
                return
            try:
                process = self._process = subprocess.Popen(
                    self._command, env=self._env, stdin=self._given, stdout=pipe, stderr=pipe, start_new_session=True
                )
            except (OSError, ValueError) as reason:
                self.fault = (isinstance(reason, OSError) and reason.strerror) or str(reason)
                return
        assert process.stdout and process.stderr
        answer, complaint = _Listener(process.stdout, MOST_ANSWER), _Listener(process.stderr, MOST_SAID)
        self.answer, self.complaint = answer.heard(), complaint.heard()
        self.code = process.wait()

    def end(self) -> None:
        """Whatever happened, the program and everything it started are gone: they are a group of their own."""
        with self._starting:
            self._unwanted = True
        if self._process is not None and self.code is None:
            self.killed = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class _Listener(threading.Thread):
    """Hears a pipe out to its end and keeps the beginning. A program that never stops talking fills no memory."""

    def __init__(self, pipe: IO[bytes], most: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._most = most
        self._kept = bytearray()
        self.start()

    def run(self) -> None:
        with self._pipe:
            while block := os.read(self._pipe.fileno(), 1 << 16):
                self._kept += block[: self._most - len(self._kept)]

    def heard(self) -> bytes:
        self.join()
        return bytes(self._kept)

"""A language model: it takes a prompt and returns an answer, with the tokens that both cost.

Three things implement this interface: a service, a program of the user's, or the client of an MCP server, which lends
its own model. Every failure is a `ModelDidNotAnswer`, whose sentence says what to check.
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
from recollect.model_service import EXAMPLE_URL, MAX_TIMEOUT_S, ModelService
from recollect.settings import TOKEN, ExtractionSettings

SECTION = "extraction"
SAMPLING = "sampling"
CHARACTERS_PER_TOKEN = 4  # an estimate, for a model that does not report its usage
MAX_ANSWER_BYTES = 1 << 20  # of a program's answer that are read: hundreds of times the usual size
MAX_ERROR_OUTPUT_BYTES = 2_000  # of a program's standard error that are read
MAX_QUOTE = 200  # characters of standard error that an error message quotes
JOIN_S = 0.1  # seconds of one wait: an interrupt that arrives as a wait begins is only noticed when the wait ends
NOT_CONFIGURED = f"""No language model is configured. Choose one in settings.toml (`recollect status` shows where it is):
[extraction]
by = "endpoint"   # an OpenAI-compatible service; or "command", your own program; or "sampling", inside `recollect mcp`
url = "{EXAMPLE_URL}"
name = "qwen3:8b"
docs/settings.md describes every key under [extraction]"""


class ModelDidNotAnswer(ModelFault):
    """The model gave no usable answer. The sentence says what to do about it."""


class Completion(Struct, frozen=True):
    """An answer and its cost. `by` names the model that answered, if it is not the one that was called."""

    text: str
    tokens_in: int
    tokens_out: int
    by: str = ""


class LanguageModel(Protocol):
    """A model. Its name is stored with the observations that it makes."""

    name: str

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """The answer to a prompt. Raises `ModelDidNotAnswer`."""
        ...


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of a text, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def model_name(settings: ExtractionSettings) -> str:
    """The name of the configured model. Checks that the settings are complete, without calling the model."""
    match settings.by:
        case "endpoint" if not settings.url or not settings.name:
            missing = "name, the model to use" if settings.url else f"url, such as {EXAMPLE_URL}"
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
            raise BadSettings(NOT_CONFIGURED)


def open_model(settings: ExtractionSettings, env: Mapping[str, str]) -> LanguageModel:
    """The configured model, ready to be called."""
    name = model_name(settings)
    match settings.by:
        case "endpoint":
            return ServiceLanguageModel(name, settings, env)
        case "command":
            return ProgramLanguageModel(name, settings, env)
        case _:
            raise BadSettings(
                'extraction.by = "sampling" uses the model of the client of `recollect mcp`, in the background, '
                "while such a client is connected. There is nothing to run by hand."
            )


# ---- a service


class _Message(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _Message


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _ChatResponse(Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


CHAT_RESPONSE = msgspec.json.Decoder(_ChatResponse)


class ServiceLanguageModel:
    """A model behind an OpenAI-compatible service."""

    def __init__(
        self,
        name: str,
        settings: ExtractionSettings,
        env: Mapping[str, str],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._service = ModelService(
            SECTION, settings.url or "", settings.key_env, env, settings.timeout_s, ModelDidNotAnswer, pause
        )
        self._max_tokens_field = "max_tokens"

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        try:
            response = self._post(prompt, max_tokens)
        except ModelDidNotAnswer as error:
            if error.details.get("status") != 400 or "max_completion_tokens" not in str(error):
                raise
            self._max_tokens_field = "max_completion_tokens"  # newer models accept only this name
            response = self._post(prompt, max_tokens)
        if not response.choices:
            raise self._service.error(f"answered without a choice: check that {self.name!r} is a chat model")
        text = response.choices[0].message.content or ""
        usage = response.usage or _Usage()
        tokens_in = estimate_tokens(prompt) if usage.prompt_tokens is None else usage.prompt_tokens
        tokens_out = estimate_tokens(text) if usage.completion_tokens is None else usage.completion_tokens
        return Completion(text, tokens_in, tokens_out)

    def _post(self, prompt: str, max_tokens: int) -> _ChatResponse:
        message = {"role": "user", "content": prompt}
        body = {"model": self.name, "messages": [message], self._max_tokens_field: max_tokens, "stream": False}
        return self._service.post("/chat/completions", body, CHAT_RESPONSE)


# ---- a program


class ProgramLanguageModel:
    """A program that reads the prompt from standard input and writes its answer to standard output."""

    def __init__(self, name: str, settings: ExtractionSettings, env: Mapping[str, str]) -> None:
        if not 0 < settings.timeout_s <= MAX_TIMEOUT_S:
            raise BadSettings(f"extraction.timeout_s must be more than 0 and at most {MAX_TIMEOUT_S} seconds.")
        self.name = name
        self._command = settings.command
        self._env = dict(env)
        self._secret = env.get(settings.key_env, "").strip()
        self._timeout_s = settings.timeout_s

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(prompt.encode("utf-8", "replace"))
            stdin.seek(0)
            run = _ProgramRun(self._command, self._env, stdin)
            try:
                run.start()
                deadline = time.monotonic() + self._timeout_s
                while run.is_alive() and time.monotonic() < deadline:
                    run.join(min(JOIN_S, self._timeout_s))
            finally:
                run.end()
        text = self._read_answer(run)
        return Completion(text, estimate_tokens(prompt), estimate_tokens(text))

    def _read_answer(self, run: "_ProgramRun") -> str:
        if run.start_error is not None:
            raise self._error(f"cannot be started ({run.start_error}): check extraction.command and PATH")
        if run.was_killed:
            raise self._error(
                f"did not end within {self._timeout_s:g} s: try it in a terminal, or raise extraction.timeout_s"
            )
        if run.exit_code != 0:
            raise self._error(f"ended with exit code {run.exit_code}{self._quote(run.error_output)}: try it in a terminal")
        try:
            return run.answer.decode()
        except UnicodeDecodeError as reason:
            raise self._error("wrote an answer that is not UTF-8: check its locale and its output") from reason

    def _quote(self, error_output: bytes) -> str:
        """The last line of a program's standard error in parentheses, without the key."""
        text = error_output.decode("utf-8", "replace")
        text = text.replace(self._secret, "…") if self._secret else text
        lines = ["".join(character for character in line if character.isprintable()).strip() for line in text.splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return f" ({last[:MAX_QUOTE]})" if last else ""

    def _error(self, problem: str) -> ModelDidNotAnswer:
        return ModelDidNotAnswer(f"The command {self.name!r} {problem}.")


class _ProgramRun(threading.Thread):
    """One run of a program, in a thread, so that no interrupt comes between its start and the code that ends it."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], stdin: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._command, self._stdin = command, stdin
        self._env = {name: value for name, value in env.items() if name != TOKEN}
        self._start_lock = threading.Lock()
        self._has_ended = False
        self._process: subprocess.Popen[bytes] | None = None
        self.start_error: str | None = None
        self.exit_code: int | None = None  # set once all output is read
        self.was_killed = False
        self.answer = self.error_output = b""

    def run(self) -> None:
        pipe = subprocess.PIPE
        with self._start_lock:
            if self._has_ended:
                return
            try:
                process = self._process = subprocess.Popen(
                    self._command, env=self._env, stdin=self._stdin, stdout=pipe, stderr=pipe, start_new_session=True
                )
            except (OSError, ValueError) as reason:
                self.start_error = (isinstance(reason, OSError) and reason.strerror) or str(reason)
                return
        assert process.stdout and process.stderr
        stdout, stderr = _PipeReader(process.stdout, MAX_ANSWER_BYTES), _PipeReader(process.stderr, MAX_ERROR_OUTPUT_BYTES)
        self.answer, self.error_output = stdout.result(), stderr.result()
        self.exit_code = process.wait()

    def end(self) -> None:
        """Kill the program and its child processes, if it still runs. They share one process group."""
        with self._start_lock:
            self._has_ended = True
        if self._process is not None and self.exit_code is None:
            self.was_killed = True
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class _PipeReader(threading.Thread):
    """Reads a pipe to its end and stores the beginning, so that endless output does not fill the memory."""

    def __init__(self, pipe: IO[bytes], max_bytes: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._max_bytes = max_bytes
        self._content = bytearray()
        self.start()

    def run(self) -> None:
        with self._pipe:
            while block := os.read(self._pipe.fileno(), 1 << 16):
                self._content += block[: self._max_bytes - len(self._content)]

    def result(self) -> bytes:
        self.join()
        return bytes(self._content)

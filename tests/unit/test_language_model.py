"""Language models: their requests, the cost of their answers, and the errors when there is no answer."""

import resource
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import BadSettings
from recollect.language_model import (
    ModelDidNotAnswer,
    ProgramLanguageModel,
    ServiceLanguageModel,
    estimate_tokens,
    model_name,
    open_model,
)
from recollect.settings import ExtractionSettings
from tests.chat import Answer, chat_error, chat_reply, chat_server
from tests.e2e.processes import is_alive, until

KEY = "sk-very-secret-1234567890"


def endpoint(
    url: str, env: dict[str, str] | None = None, timeout_s: float = 20.0, name: str = "tiny"
) -> ServiceLanguageModel:
    settings = ExtractionSettings(by="endpoint", url=url, name=name, key_env="TEST_KEY", timeout_s=timeout_s)
    model = open_model(settings, env or {})
    assert isinstance(model, ServiceLanguageModel)
    return model


def command(*words: str, timeout_s: float = 20.0, env: dict[str, str] | None = None) -> ProgramLanguageModel:
    settings = ExtractionSettings(by="command", command=words, key_env="TEST_KEY", timeout_s=timeout_s)
    model = open_model(settings, env or {"PATH": "/usr/bin:/bin"})
    assert isinstance(model, ProgramLanguageModel)
    return model


def python(code: str, **more: Any) -> ProgramLanguageModel:
    return command(sys.executable, "-c", code, **more)


# ---- a service


def test_a_request_names_the_model_the_key_and_a_limit() -> None:
    with chat_server(chat_reply("hello")) as chat:
        answer = endpoint(chat.url, {"TEST_KEY": f"{KEY}\n"}).complete("greet me", 77)
    assert answer.text == "hello"
    assert chat.paths == ["/v1/chat/completions"]
    assert (chat.requests[0]["model"], chat.requests[0]["max_tokens"], chat.prompts()) == ("tiny", 77, ["greet me"])
    assert chat.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorization_is_sent() -> None:
    with chat_server(chat_reply("hello")) as chat:
        endpoint(chat.url).complete("greet me", 10)
    assert "Authorization" not in chat.headers[0]


def test_the_cost_is_reported_by_the_service_or_estimated() -> None:
    with chat_server([chat_reply("hello", 11, 3), chat_reply("hello")]) as chat:
        model = endpoint(chat.url)
        reported, estimated = model.complete("x" * 41, 10), model.complete("x" * 41, 10)
    assert (reported.tokens_in, reported.tokens_out) == (11, 3)
    assert (estimated.tokens_in, estimated.tokens_out) == (11, 2) == (estimate_tokens("x" * 41), estimate_tokens("hello"))


def test_an_answer_without_text_is_an_empty_answer() -> None:
    with chat_server(chat_reply(None)) as chat:
        assert endpoint(chat.url).complete("x", 10).text == ""


def test_a_model_with_another_name_for_the_limit_gets_that_name_from_then_on() -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    def answer(body: dict[str, Any], place: int) -> Answer:
        return chat_error(400, words) if "max_tokens" in body else chat_reply("fine")

    with chat_server(answer) as chat:
        model = endpoint(chat.url)
        assert [model.complete("x", 9).text for _ in range(2)] == ["fine", "fine"]
    assert [body.get("max_completion_tokens") for body in chat.requests] == [None, 9, 9]


REFUSALS = {
    401: "TEST_KEY",
    403: "TEST_KEY",
    404: "extraction.url",
    400: "extraction.name",
    429: "quota",
    500: "log of the service",
    302: "extraction.url",
}


@pytest.mark.parametrize("status", REFUSALS)
def test_the_error_for_a_refusal_says_what_to_check_and_shows_no_secret(status: int) -> None:
    with chat_server(chat_error(status, f"bad key {KEY}", Location="http://127.0.0.1:9/elsewhere")) as chat:
        with pytest.raises(ModelDidNotAnswer) as caught:
            endpoint(chat.url, {"TEST_KEY": KEY}).complete("x", 10)
        assert len(chat.requests) == 1
    assert f"HTTP {status}" in str(caught.value)
    assert REFUSALS[status] in str(caught.value)
    assert KEY not in str(caught.value)
    assert caught.value.details["status"] == status


def model_with_recorded_pauses(url: str, pauses: list[float]) -> ServiceLanguageModel:
    return ServiceLanguageModel("tiny", ExtractionSettings(by="endpoint", url=url, name="tiny"), {}, pauses.append)


def test_a_busy_service_gets_one_retry_at_the_time_that_it_names() -> None:
    pauses: list[float] = []
    with chat_server([chat_error(429, Retry_After="7"), chat_reply("now")]) as chat:
        assert model_with_recorded_pauses(chat.url, pauses).complete("x", 10).text == "now"
    assert pauses == [7.0]


def test_a_service_that_stays_busy_gets_only_one_retry() -> None:
    pauses: list[float] = []
    with chat_server(chat_error(429, Retry_After="1")) as chat, pytest.raises(ModelDidNotAnswer, match="HTTP 429"):
        model_with_recorded_pauses(chat.url, pauses).complete("x", 10)
    assert (len(chat.requests), pauses) == (2, [1.0])


@pytest.mark.parametrize(
    "wait", ["86400", "Fri, 31 Dec 2100 23:59:59 GMT", f"1 Jan 2{'0' * 30} 00:00:00 GMT", "soon", "-1", "1e999", "²"]
)
def test_a_wait_that_is_too_long_or_unclear_is_an_error(wait: str) -> None:
    pauses: list[float] = []
    with chat_server(chat_error(429, Retry_After=wait)) as chat, pytest.raises(ModelDidNotAnswer, match="HTTP 429"):
        model_with_recorded_pauses(chat.url, pauses).complete("x", 10)
    assert (len(chat.requests), pauses) == (1, [])


def test_the_error_names_a_service_that_is_down_and_what_to_check() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ModelDidNotAnswer) as caught:
            endpoint(url).complete("x", 10)
    assert url in str(caught.value)
    assert "check that it runs" in str(caught.value)


def test_a_service_that_does_not_answer_times_out() -> None:
    with (
        chat_server(lambda body, place: None) as chat,
        pytest.raises(ModelDidNotAnswer, match=r"within 0\.2 s.*extraction.timeout_s"),
    ):
        endpoint(chat.url, timeout_s=0.2).complete("x", 10)


def test_a_service_that_does_not_accept_connections_times_out() -> None:
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # these are never accepted, and they fill the queue
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        with pytest.raises(ModelDidNotAnswer, match=r"within 0\.3 s"):
            endpoint(f"http://127.0.0.1:{full.getsockname()[1]}/v1", timeout_s=0.3).complete("x", 10)


ODD: dict[str, Answer] = {
    "a web page": (200, {"Content-Type": "text/html"}, b"<html>Welcome</html>"),
    "a stream": (200, {"Content-Type": "text/event-stream"}, b'data: {"choices": []}\n\n'),
    "no choices": (200, {"Content-Type": "application/json"}, b'{"error": {"message": "no such model"}}'),
    "empty choices": (200, {"Content-Type": "application/json"}, b'{"choices": []}'),
    "another shape": (200, {"Content-Type": "application/json"}, b'{"choices": [{"text": "old"}]}'),
    "not UTF-8": (200, {"Content-Type": "application/json"}, b'{"choices": "\xff"}'),
    "nothing": (200, {"Content-Type": "application/json"}, b""),
}


@pytest.mark.parametrize("kind", ODD)
def test_an_invalid_answer_is_explained_in_a_sentence(kind: str) -> None:
    with chat_server(ODD[kind]) as chat, pytest.raises(ModelDidNotAnswer, match="check that"):
        endpoint(chat.url).complete("x", 10)


def test_the_error_names_a_wrong_content_type() -> None:
    with chat_server(ODD["a web page"]) as chat, pytest.raises(ModelDidNotAnswer, match=r"text/html.*/v1"):
        endpoint(chat.url).complete("x", 10)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://host/v1", "host", "http://", "http://a b/v1", "http://h:99999/", "http://a..b/v1"]
)
def test_an_invalid_address_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(BadSettings, match=r"extraction\.url"):
        endpoint(url)


def test_a_key_that_cannot_be_sent_is_not_shown() -> None:
    with pytest.raises(BadSettings) as caught:
        endpoint("http://127.0.0.1:9/v1", {"TEST_KEY": f"{KEY}\nX: y"})
    assert "TEST_KEY" in str(caught.value)
    assert KEY not in str(caught.value)


# ---- a program


@pytest.mark.process
def test_a_program_gets_the_prompt_and_answers() -> None:
    answer = python("import sys; print(sys.stdin.read().upper(), end='')").complete("grüß mich " * 10_000, 10)
    assert answer.text == "GRÜSS MICH " * 10_000
    assert (answer.tokens_in, answer.tokens_out) == (25_000, 27_500)


@pytest.mark.process
def test_a_program_that_does_not_read_its_input_may_still_answer() -> None:
    assert python("print('[]')").complete("x" * 1_000_000, 10).text.strip() == "[]"


@pytest.mark.process
def test_the_error_names_a_missing_program() -> None:
    with pytest.raises(ModelDidNotAnswer, match=r"no-such-program.*extraction.command"):
        command("no-such-program").complete("x", 10)


@pytest.mark.process
def test_the_error_quotes_a_failed_program_without_the_key() -> None:
    code = f"import sys; print('one\\nno model for {KEY}\\n', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ModelDidNotAnswer) as caught:
        python(code, env={"TEST_KEY": KEY}).complete("x", 10)
    assert "exit code 3 (no model for …)" in str(caught.value)
    assert KEY not in str(caught.value)


@pytest.mark.process
def test_the_error_says_that_a_program_wrote_no_text() -> None:
    with pytest.raises(ModelDidNotAnswer, match="not UTF-8"):
        python("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')").complete("x", 10)


@pytest.mark.process
def test_a_program_that_hangs_is_ended_with_its_child_processes(tmp_path: Path) -> None:
    pid_file = tmp_path / "pids"
    script = f"sleep 600 & echo $! $$ > {pid_file}; wait"
    with pytest.raises(ModelDidNotAnswer, match=r"within 1 s.*extraction.timeout_s"):
        command("sh", "-c", script, timeout_s=1).complete("x", 10)
    pids = [int(pid) for pid in pid_file.read_text().split()]
    assert len(pids) == 2
    until(lambda: not any(map(is_alive, pids)))


@pytest.mark.process
def test_a_program_whose_child_keeps_its_output_open_is_ended_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with pytest.raises(ModelDidNotAnswer, match="within 1 s"):
        command("sh", "-c", f"sleep 600 & echo $! > {pid_file}; echo done", timeout_s=1).complete("x", 10)
    until(lambda: not is_alive(int(pid_file.read_text())))


@pytest.mark.process
def test_a_program_that_never_stops_writing_does_not_fill_the_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelDidNotAnswer, match="within"):
        command("yes", timeout_s=1).complete("x", 10)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


# ---- settings


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        (ExtractionSettings(), r"\[extraction\]"),
        (ExtractionSettings(by="endpoint"), r"extraction\.url"),
        (ExtractionSettings(by="endpoint", url="http://127.0.0.1:9/v1"), r"extraction\.name"),
        (ExtractionSettings(by="command"), r"extraction\.command"),
        (ExtractionSettings(by="sampling"), "recollect mcp"),
        (ExtractionSettings(by="command", command=("true",), timeout_s=0), r"extraction\.timeout_s"),
    ],
)
def test_the_error_names_missing_settings(settings: ExtractionSettings, missing: str) -> None:
    with pytest.raises(BadSettings, match=missing):
        open_model(settings, {})


def test_a_model_has_a_name_before_the_first_request() -> None:
    assert model_name(ExtractionSettings(by="endpoint", url="http://127.0.0.1:9/v1", name="qwen3:8b")) == "qwen3:8b"
    assert model_name(ExtractionSettings(by="command", command=("/opt/bin/llm", "-m", "x"))) == "llm"
    assert model_name(ExtractionSettings(by="sampling")) == "sampling"

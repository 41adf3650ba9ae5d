"""Reading a log never fails, whatever it contains; reading it in pieces gives the same as reading it at once."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.ingest import Ingester
from recollect.model import SEARCHABLE
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader
from tests.golden import cases, contents
from tests.logs import Claude

NOW = 1_780_000_000  # seconds: the age of every log here, for records that have no time of their own
few = settings(max_examples=40, deadline=None)
many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SESSION = "11111111-1111-4111-8111-111111111111"
PLACES = {
    "claude-code": ".claude/projects/-work-app/{}.jsonl",
    "codex": ".codex/sessions/2026/01/02/rollout-2026-01-02T00-00-00-{}.jsonl",
}
LOGS = [(case / "home", path.relative_to(case / "home")) for case in cases() for path in case.rglob("home/**/*.jsonl")]
every_source = pytest.mark.parametrize("source", list(PLACES))


def _values(source: str) -> list[Any]:
    """Every JSON object in the fixtures of a source."""
    lines = {
        line
        for home, log in LOGS
        if home.parents[1].name == source
        for line in (home / log).read_bytes().split(b"\n")
        if line.startswith(b'{"')
    }
    return [value for line in sorted(lines) if (value := _value(line)) is not None]


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


VALUES = {source: _values(source) for source in PLACES}
NAMES = sorted(set(re.findall(r'"(\w+)":', json.dumps(VALUES))))


# ---- nothing raises


class Inbox:
    """A home where every example is a new log, followed by one realm."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.ingester = Ingester(folder / "realm", Settings(home=folder), all_sources(), {"HOME": str(self.home)})
        self.names = (f"{number:08x}{SESSION[8:]}" for number in count(1))

    def receive(self, source: str, content: bytes) -> None:
        log = self.home / PLACES[source].format(next(self.names))
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(content)
        try:
            report = self.ingester.sync()
        finally:
            log.unlink()
        assert (report.files, report.unreadable) == (1, [])

    def count(self, text: str) -> int:
        """The number of events with this text."""
        reader = Reader(self.ingester.archive.path)
        found = [event for rows in reader.events_to_index(0, len(SEARCHABLE)) for event, *_ in rows if event.text() == text]
        reader.close()
        return len(found)


@pytest.fixture(scope="module")
def inbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inbox]:
    inbox = Inbox(tmp_path_factory.mktemp("inbox"))
    with inbox.ingester:
        yield inbox


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=8,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to every value inside a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield (*path, name)
        yield from _places(part, (*path, name))


@st.composite
def changed_lines(draw: st.DrawFn, source: str) -> bytes:
    """A line of a fixture in which one value, anywhere, is something else."""
    line = deepcopy(draw(st.sampled_from(VALUES[source])))
    *path, last = draw(st.sampled_from(list(_places(line))))
    inside = line
    for name in path:
        inside = inside[name]
    inside[last] = draw(anything)
    return json.dumps(line).encode()


@every_source
@many
@given(content=st.binary(max_size=300) | st.lists(anything.map(json.dumps)).map(lambda lines: "\n".join(lines).encode()))
def test_any_bytes_as_a_log_never_raise(inbox: Inbox, source: str, content: bytes) -> None:
    inbox.receive(source, content)


@every_source
@many
@given(data=st.data())
def test_a_line_with_any_value_in_any_place_never_raises(inbox: Inbox, source: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(changed_lines(source), min_size=1, max_size=4))
    inbox.receive(source, b"\n".join(lines) + b"\n")


def _result(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "call", "content": content, "is_error": True}


def _nested(depth: int) -> Any:
    value: Any = "core"
    for _ in range(depth):
        value = {"content": [value]}
    return value


HOSTILE = {
    "an exit code beyond 64 bits": Claude().prompt([_result("Exit code 99999999999999999999")]),
    "an exit code of 5,000 digits": Claude().prompt([_result("Exit code " + "9" * 5_000)]),
    "tokens beyond 64 bits": Claude().prompt("x")
    | {"type": "assistant", "message": {"id": "m", "content": [], "usage": {"output_tokens": 10**23}}},
    "a result nested 400 deep": Claude().prompt([_result(_nested(400))]),
    "arguments nested 400 deep": Claude().calls("Tool", "call", value=_nested(400)),
    "an attachment nested 400 deep": Claude().prompt("x") | {"type": "attachment", "attachment": _nested(400)},
    "a sub-agent named like a path": Claude().prompt("x")
    | {"type": "progress", "data": {"type": "agent_progress", "agentId": "../a/b", "message": Claude().prompt("x")}},
    "a sub-agent with a name of 300 letters": Claude().prompt("x")
    | {"type": "progress", "data": {"type": "agent_progress", "agentId": "a" * 300, "message": Claude().prompt("x")}},
    "a working folder of 5,000 letters": Claude(cwd="/" + "a" * 5_000).prompt("x"),
    "a working folder with a NUL in it": Claude(cwd="/work/\0app").prompt("x"),
    "times at both ends of the calendar": Claude().prompt("x") | {"timestamp": "0001-01-01T00:00:00+14:00"},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_line_after_a_hostile_line_is_read(inbox: Inbox, name: str) -> None:
    lines = [HOSTILE[name], Claude(start=9).prompt(f"after {name}")]
    inbox.receive("claude-code", "\n".join(map(json.dumps, lines)).encode())
    assert inbox.count(f"after {name}") == 1


def test_a_repeated_record_is_one_event_even_if_its_id_is_used_for_another_text(inbox: Inbox) -> None:
    first = Claude(next(inbox.names)).prompt("said in one session")
    other = json.dumps(first).replace("in one session", "in another")
    inbox.receive("claude-code", json.dumps(first).encode())
    inbox.receive("claude-code", f"{other}\n{other}\n".encode())
    assert (inbox.count("said in one session"), inbox.count("said in another")) == (1, 1)


# ---- pieces


def archive_after(log: Path, pieces: Iterable[bytes]) -> list[str]:
    """The archive of a realm after a log was written in these pieces, each followed by a sync."""
    with TemporaryDirectory() as folder:
        home, realm = Path(folder, "home"), Path(folder, "realm")
        (home / log).parent.mkdir(parents=True)
        with Ingester(realm, Settings(home=Path(folder)), all_sources(), {"HOME": str(home)}) as intake:
            for piece in pieces:
                with (home / log).open("ab") as stream:
                    stream.write(piece)
                os.utime(home / log, (NOW, NOW))
                intake.sync()
        return [line for line in contents(realm, home) if not line.startswith('{"tally"')]


@st.composite
def cut(draw: st.DrawFn, content: bytes) -> list[bytes]:
    """The content in up to seven pieces, cut anywhere: inside a line, inside a character."""
    cuts = draw(st.lists(st.integers(0, len(content)), min_size=1, max_size=6))
    return [content[start:end] for start, end in pairwise([0, *sorted(cuts), len(content)])]


@settings(few, max_examples=60)
@given(data=st.data())
def test_a_real_log_in_any_pieces_gives_the_same_as_at_once(data: st.DataObject) -> None:
    home, log = data.draw(st.sampled_from(LOGS))
    content = (home / log).read_bytes()
    pieces = data.draw(cut(content))
    assert archive_after(log, pieces) == archive_after(log, [content])


def _queued(claude: Claude, operation: str, **more: str) -> dict[str, Any]:
    stamp = "2026-02-01T00:00:00.000Z"
    return {"type": "queue-operation", "operation": operation, "timestamp": stamp, "sessionId": claude.session, **more}


def _call(claude: Claude) -> str:
    return f"toolu_{claude.clock // 3}"  # so that some results find their call


ACTS: dict[str, Callable[[Claude, str], list[Any]]] = {
    "prompt": lambda claude, text: [claude.prompt(text)],
    "answer": lambda claude, text: [claude.says(text)],
    "remark": lambda claude, text: [claude.says(text, stop=None)],
    "thought": lambda claude, text: [claude.thinks(text)],
    "call": lambda claude, text: [claude.calls("Bash", _call(claude), command=text)],
    "result": lambda claude, text: [claude.result(_call(claude), text)],
    "interrupt": lambda claude, text: [claude.interrupted()],
    "command": lambda claude, text: [claude.prompt("<command-name>/bake</command-name>\n<command-args></command-args>")],
    "echo": lambda claude, text: [claude.prompt(f"<local-command-stdout>{text}</local-command-stdout>")],
    "injected": lambda claude, text: [claude.prompt(text, isMeta=True)],
    "steering": lambda claude, text: [_queued(claude, "enqueue", content=text), _queued(claude, "remove")],
    "duration": lambda claude, text: [claude.system("turn_duration", durationMs=5)],
    "title": lambda claude, text: [{"type": "ai-title", "aiTitle": text, "sessionId": claude.session}],
    "junk": lambda claude, text: [text],
}
TEXTS = ["oven", "two words", "größer als 80 °C", "面包 出炉", "🥐", "a\u2028b", "API_KEY=hunter2hunter2hunter2"]


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    """A session in which anything may follow anything."""
    claude = Claude(SESSION)
    acts = draw(st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from(TEXTS)), min_size=1, max_size=25))
    lines = [json.dumps(line, ensure_ascii=False) for act, text in acts for line in ACTS[act](claude, text)]
    newline, last = draw(st.sampled_from([("\n", "\n"), ("\n", ""), ("\r\n", "\r\n")]))
    return (newline.join(lines) + last).encode()


@settings(few, max_examples=60)
@given(data=st.data())
def test_any_session_in_any_pieces_gives_the_same_as_at_once(data: st.DataObject) -> None:
    content = data.draw(sessions())
    pieces = data.draw(cut(content))
    log = Path(PLACES["claude-code"].format(SESSION))
    assert archive_after(log, pieces) == archive_after(log, [content])


@few
@given(content=sessions())
def test_reading_a_log_again_changes_nothing(content: bytes) -> None:
    log = Path(PLACES["claude-code"].format(SESSION))
    with TemporaryDirectory() as folder:
        home, realm = Path(folder, "home"), Path(folder, "realm")
        (home / log).parent.mkdir(parents=True)
        (home / log).write_bytes(content)
        os.utime(home / log, (NOW, NOW))
        with Ingester(realm, Settings(home=Path(folder)), all_sources(), {"HOME": str(home)}) as intake:
            intake.sync()
            first = list(contents(realm, home))
            os.utime(home / log, (NOW + 1, NOW + 1))
            assert intake.sync().events == 0
            assert list(contents(realm, home)) == first
            intake.archive.drop_cursors()
            os.utime(home / log, (NOW, NOW))
            intake.sync()
        assert list(contents(realm, home)) == first

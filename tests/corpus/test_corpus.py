"""Hundreds of real sessions: all can be read, and the archive has what a person sees in the raw logs."""

import csv
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from recollect.ingest import Ingester, SyncReport
from recollect.ingest.tally import UNDATED
from recollect.model import Kind
from recollect.settings import Settings
from recollect.sources import Line, Lines, Source, all_sources, claude_code, codex
from recollect.sources.formats.jsonl import decode, raw_lines
from recollect.store import Reader, SessionRow
from recollect.title import MAX_TITLE
from tests.golden import contents

pytestmark = pytest.mark.corpus

NOW = 1_780_000_000  # seconds: the age of every log here, for records that have no time of their own
HOMES = {"claude": ".claude/projects", "codex": ".codex/sessions"}
SOURCES = {"claude": claude_code.SOURCE, "codex": codex.SOURCE}
SPEECH = re.compile(rb'"role": ?"user"|"type": ?"user_message"')
UNKNOWN = 0.001  # of the lines of real sessions, at most

# Counted by eye in the raw logs: prompts that begin a turn, and prompts typed while the agent worked.
PROMPTS = {
    "claude/obra_episodic-memory/tiny-conversation.jsonl": (2, 0),
    "claude/entireio_cli/4ec443d0-063b-4de3-8ede-e35160c2c1de.jsonl": (7, 0),  # 2.0.76: /exit, an interrupt
    "claude/entireio_cli/8b418ea5-895d-4ad5-abe8-4489d36e454f.jsonl": (5, 0),  # 2.1.12: /mcp is local, /pr is answered
    "claude/entireio_cli/d563fb6b-39cf-4895-bb5f-681c33e58bbc.jsonl": (4, 0),  # 2.1.17: twice /exit, an interrupt
    "claude/microsoft_vscode-copilot-chat/98b76fb9-f5d3-40c5-ab82-b970c20e3764.jsonl": (3, 0),  # 2.1.37: /compact
    "claude/MoonshotAI_kimi-cli/d530d2dc-eba4-4a3a-9aa1-0658cddb8af2.jsonl": (2, 2),  # 2.1.55: only in the queue
    "claude/MoonshotAI_kimi-cli/116e5aa5-77ff-42f7-b1e4-067c43f61818.jsonl": (4, 2),  # 2.1.71: sub-agents, interrupts
    "claude/entireio_git-sync/8ff21ea1-e320-4771-a636-a6590f0b5080.jsonl": (7, 0),  # 2.1.159: notifications are queued
    "claude/entireio_git-sync/0708a5fa-06bd-4274-b1fe-513c7202217e.jsonl": (9, 2),  # 2.1.170: queue and attachment
    "claude/entireio_git-sync/68029492-648e-49c8-b0e1-c90a712dadc5.jsonl": (5, 0),  # 2.1.199
    "codex/entireio_git-sync/019d7dbf-7740-75c1-8da4-7be31d857597.jsonl": (1, 0),  # 0.118, exec
    "codex/entireio_git-sync/019d7e30-2f7a-7f60-a942-c59ab0be98d9.jsonl": (1, 0),  # 0.118: a fork, eight turns copied
    "codex/entireio_git-sync/019d95a4-64c6-7b20-97f0-81e518d38258.jsonl": (3, 0),  # 0.120: one aborted
    "codex/entireio_git-sync/019ddd6f-3680-7fb3-8f93-e567af97d303.jsonl": (4, 0),  # 0.125: the last one aborted
    "codex/entireio_git-sync/019ddba6-d9ca-71d2-89c3-5dd074c317b3.jsonl": (9, 0),  # 0.126
    "codex/entireio_git-sync/019ed6c3-ed1e-73a2-8651-8353917974b6.jsonl": (1, 0),  # 0.139: a review, by its parent
    "codex/jdx_mise/019f231b-5acc-7043-9961-f5a62286e3db.jsonl": (5, 0),  # 0.142: one aborted, a second header
    "codex/jdx_mise/019f690b-34ad-7623-95b0-75e74fd5cb75.jsonl": (9, 1),  # 0.144
    "codex/jdx_mise/019f6c47-e36c-7610-840f-f18570705592.jsonl": (3, 0),  # 0.144: four headers
}


class Realm:
    """A home folder with the real sessions, and a realm that has read them."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.home = folder / "home"
        for provider, home in HOMES.items():
            shutil.copytree(corpus / provider, self.home / home)
        self.intake = Ingester(folder / "realm", Settings(home=folder), all_sources(), {"HOME": str(self.home)})
        self.report: SyncReport = self.intake.sync()
        self.reader = Reader(self.intake.archive.path)
        self.sessions = self.reader.sessions_overlapping(-(2**62), 2**62, None, newest_first=False, after=None, limit=10_000)

    def log(self, name: str) -> Path:
        """The path of a file of the corpus: `claude/…` or `codex/…`."""
        provider, _, rest = name.partition("/")
        return self.home / HOMES[provider] / rest

    def session(self, name: str) -> SessionRow:
        """The session of a log; the names of its sub-agents' sessions begin with its name."""
        return min((row for row in self.sessions if row.path == str(self.log(name))), key=lambda row: len(row.native_id))

    def tally(self, name: str) -> Counter[str]:
        cursor = self.intake.archive.cursor(str(self.log(name)))
        assert cursor is not None
        return Counter({kind: count for kind, count in cursor.tally.items() if kind != UNDATED})


@pytest.fixture(scope="module")
def realm(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    realm = Realm(tmp_path_factory.mktemp("realm"), corpus)
    with realm.intake:
        yield realm
        realm.reader.close()


@pytest.fixture(scope="module")
def real(corpus: Path) -> list[str]:
    """The names of the logs that are neither invented nor trimmed."""
    with Path(os.environ["RECOLLECT_CORPUS"], "INDEX.tsv").open(encoding="utf-8", newline="") as index:
        rows = list(csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row["path"] for row in rows if row["provider"] in HOMES and row["kind"] == "real"]


# ---- everything is read


def test_every_session_is_read(realm: Realm, real: list[str]) -> None:
    logs = list(realm.home.rglob("*.jsonl"))
    assert realm.report.unreadable == []
    assert (realm.report.files, realm.report.files_read) == (len(logs), len(logs))
    spoken = [log for log in map(realm.log, real) if SPEECH.search(log.read_bytes())]
    assert {row.path for row in realm.sessions} >= set(map(str, spoken))
    assert len(spoken) > len(real) * 0.9


def test_a_second_sync_parses_nothing(realm: Realm) -> None:
    again = realm.intake.sync()
    assert (again.bytes, again.files_read, again.events) == (0, 0, 0)


@pytest.mark.parametrize("provider", HOMES)
def test_every_line_becomes_something(realm: Realm, real: list[str], provider: str) -> None:
    source = SOURCES[provider]
    for name in real:
        if name.startswith(f"{provider}/"):
            assert _silent_lines(realm.log(name), source) == [], name


def _silent_lines(log: Path, source: Source) -> list[int]:
    """The numbers of the lines that are not blank and give no entry."""
    format = source.formats[0]
    assert isinstance(format, Lines)
    decoder = msgspec.json.Decoder(format.shape)
    memory = format.begin(log, [])
    silent = []
    with log.open("rb") as stream:
        for number, (offset, raw, _) in enumerate(raw_lines(stream, 0), 1):
            values = list(decode(log, offset, number, raw, decoder))
            said = [entry for value in values if isinstance(value, Line) for entry in format.read(value, memory)]
            if raw.strip() and not said:
                silent.append(number)
    return silent


def test_the_tally_accounts_for_every_line(realm: Realm, real: list[str]) -> None:
    for name in real:
        lines = sum(1 for line in realm.log(name).read_bytes().split(b"\n") if line.strip())
        assert sum(realm.tally(name).values()) >= lines, name


def test_real_sessions_have_no_problems(realm: Realm, real: list[str]) -> None:
    assert {name: count for name in real if (count := realm.tally(name)["problem"])} == {}


@pytest.mark.parametrize("provider", HOMES)
def test_almost_nothing_is_unknown(realm: Realm, real: list[str], provider: str) -> None:
    names = [name for name in real if name.startswith(f"{provider}/")]
    unknown = sum(realm.tally(name)["unknown"] for name in names)
    lines = sum(realm.log(name).read_bytes().count(b"\n") for name in names)
    assert unknown < lines * UNKNOWN


# ---- the archive agrees with the raw logs


@pytest.mark.parametrize("name", PROMPTS)
def test_turns_are_the_prompts_that_a_person_counts(realm: Realm, name: str) -> None:
    session = realm.session(name)
    typed_ahead = [
        event.text()
        for turn in realm.reader.turns(session.key)
        for event in realm.reader.events_of_turn(session.key, turn.ordinal)
        if event.kind is Kind.USER_INPUT and event.seq != turn.prompt and not event.text().startswith("/")
    ]
    assert (session.turn_count, len(typed_ahead)) == PROMPTS[name]


def test_the_stored_records_of_a_session_are_consistent(realm: Realm) -> None:
    for session in realm.sessions:
        turns = realm.reader.turns(session.key)
        events = [realm.reader.events_of_turn(session.key, turn.ordinal) for turn in turns]
        assert [turn.ordinal for turn in turns] == list(range(1, session.turn_count + 1))
        assert [event.seq for part in events for event in part] == list(range(session.event_count))
        assert bool(session.completed) is (turns[-1].terminal is not None)
        for turn, part in zip(turns, events, strict=True):
            assert (turn.event_count, turn.last) == (len(part), part[-1].seq)
            assert {turn.prompt, turn.answer, turn.terminal} <= {None, *(event.seq for event in part)}
            assert turn.terminal is not None or turn is turns[-1]


def test_no_prompt_and_no_title_is_injected_text(realm: Realm) -> None:
    tags = (
        "<system-reminder",
        "<environment_context",
        "<task-notification",
        "<local-command",
        "<user_instructions",
        "# AGENTS.md",
    )
    for session in realm.sessions:
        assert 0 < len(session.title) <= MAX_TITLE
        assert not session.title.startswith(tags)
        for turn in realm.reader.turns(session.key):
            for event in realm.reader.events_of_turn(session.key, turn.ordinal):
                assert event.kind is not Kind.USER_INPUT or not event.text().startswith(tags)


def test_a_response_answers_a_call_of_its_own_session(realm: Realm) -> None:
    for session in realm.sessions:
        events = {
            event.seq: event
            for turn in realm.reader.turns(session.key)
            for event in realm.reader.events_of_turn(session.key, turn.ordinal)
        }
        for event in events.values():
            if event.answers is not None:
                call = events[event.answers]
                assert (event.kind, call.kind) == (Kind.TOOL_RESPONSE, Kind.TOOL_CALL)
                assert event.tool == call.tool


# ---- sessions that grow


@pytest.mark.parametrize("provider", HOMES)
def test_a_session_that_grew_gives_the_same_as_its_last_state(corpus: Path, provider: str, tmp_path: Path) -> None:
    series = sorted((corpus / "_growth" / provider).iterdir())
    assert series
    different = []
    for states in series:
        log = Path(HOMES[provider], f"{states.name.partition('__')[2]}.jsonl")
        grown = sorted(states.iterdir())
        if _after(tmp_path / states.name / "grown", log, grown) != _after(tmp_path / states.name / "fresh", log, grown[-1:]):
            different.append(states.name)
    assert different == []


def _after(folder: Path, log: Path, states: list[Path]) -> list[str]:
    """The archive of a realm after one log had these states, each followed by a sync."""
    home = folder / "home"
    (home / log).parent.mkdir(parents=True)
    with Ingester(folder / "realm", Settings(home=folder), all_sources(), {"HOME": str(home)}) as intake:
        for state in states:
            (home / log).write_bytes(state.read_bytes())
            os.utime(home / log, (NOW, NOW))
            intake.sync()
    return [line for line in contents(folder / "realm", home) if not line.startswith('{"tally"')]

"""The files of every provider of the corpus are recognised by content, read to the last line, and read once."""

import csv
import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.ingest import Ingester, SyncReport
from recollect.ingest.tally import UNDATED
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader

pytestmark = pytest.mark.corpus

PROVIDERS = {  # of the corpus, and the source that reads them
    "aider": "aider",
    "antigravity": "antigravity",
    "atif": "atif",
    "claude": "claude-code",
    "claude-cowork": "claude-cowork",
    "codex": "codex",
    "copilot": "copilot-cli",
    "crush": "crush",
    "cursor": "cursor",
    "droid": "droid",
    "gemini": "gemini-cli",
    "gptme": "gptme",
    "grok": "grok",
    "hermes": "hermes",
    "iflow": "iflow",
    "kimi": "kimi",
    "kiro": "kiro",
    "mini-swe-agent": "mini-swe-agent",
    "nac": "nac",
    "omnigent": "omnigent",
    "openclaw": "openclaw",
    "opencode": "opencode",
    "openhands": "openhands",
    "pi": "pi",
    "posit-assistant": "posit-assistant",
    "prime-agent": "prime",
    "qwen": "qwen-code",
    "qwenpaw": "qwenpaw",
    "specstory": "specstory",
    "swe-agent": "swe-agent",
    "traex": "traex",
    "vibe": "vibe",
    "visualstudio-copilot": "visualstudio-copilot",
    "zed": "zed",
}
NO_LOGS = {"codex-tui-log"}  # debug output of a terminal, except one file that is a rollout
NO_SESSIONS = {"omnigent", "zed"}  # single records, and an empty database
STRANGERS = {"aider/Aider-AI_aider/chat-transcript-css.md"}  # a page of their website, generated from a chat
UNKNOWN = 0.01  # of the entries of real sessions, at most

every_provider = pytest.mark.parametrize("provider", PROVIDERS)


class Reading:
    """The files of one provider, synced by name into their own realm."""

    def __init__(self, files: Path, folder: Path) -> None:
        self.files = files
        self.intake = Ingester(folder / "realm", Settings(home=folder), all_sources(), {"HOME": str(folder)})
        self.report: SyncReport = self.intake.sync([files])
        self.reader = Reader(self.intake.archive.path)

    def tally(self, path: str) -> Counter[str] | None:
        """The tally of a file; None for a file that is read as a part of another."""
        cursor = self.intake.archive.cursor(path)
        if cursor is None:
            return None
        return Counter({kind: count for kind, count in cursor.tally.items() if kind != UNDATED})


@pytest.fixture(scope="module")
def readings(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Reading]]:
    readings = {}
    for provider in PROVIDERS:
        _make_databases(corpus / provider)
        readings[provider] = Reading(corpus / provider, tmp_path_factory.mktemp(provider))
    yield readings
    for reading in readings.values():
        reading.reader.close()
        reading.intake.__exit__()


def _make_databases(folder: Path) -> None:
    """Some databases came as scripts."""
    for script in folder.rglob("*.sql"):
        db = sqlite3.connect(script.with_suffix(".db"))
        db.executescript(script.read_text("utf-8"))
        db.close()


@pytest.fixture(scope="module")
def index(corpus: Path) -> list[dict[str, str]]:
    with Path(os.environ["RECOLLECT_CORPUS"], "INDEX.tsv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_provider_of_the_corpus_is_read(index: list[dict[str, str]]) -> None:
    providers = {row["provider"] for row in index if not row["provider"].startswith("_growth")}
    assert providers == {*PROVIDERS, *NO_LOGS}


@every_provider
def test_real_files_are_recognised_as_their_source(
    readings: dict[str, Reading], corpus: Path, index: list[dict[str, str]], provider: str
) -> None:
    report = readings[provider].report
    taken = {path: source for path, source in report.recognised.items() if source != PROVIDERS[provider]}
    assert taken == {}
    real = [str(corpus / row["path"]) for row in index if row["provider"] == provider and row["kind"] == "real"]
    strangers = {str(corpus / path) for path in STRANGERS}
    assert [path for path in real if path in report.unrecognised and path not in strangers] == []


@every_provider
def test_nothing_is_unreadable(readings: dict[str, Reading], provider: str) -> None:
    reading = readings[provider]
    assert reading.report.unreadable == []
    reasons = [reason for _, reason, *_ in reading.reader.problems()]
    assert [reason for reason in reasons if "could not be understood" in reason] == []


@pytest.mark.parametrize("provider", sorted({*PROVIDERS} - NO_SESSIONS))
def test_every_provider_has_prompts_and_answers(readings: dict[str, Reading], provider: str) -> None:
    (counts,) = readings[provider].reader.counts().values()
    assert counts["sessions"] > 0


@every_provider
def test_almost_nothing_real_is_unknown(
    readings: dict[str, Reading], corpus: Path, index: list[dict[str, str]], provider: str
) -> None:
    reading = readings[provider]
    paths = {str(corpus / row["path"]) for row in index if row["provider"] == provider and row["kind"] == "real"}
    tally = sum((reading.tally(path) or Counter() for path in paths), Counter[str]())
    assert tally["unknown"] <= UNKNOWN * tally.total()
    assert tally["problem"] == 0


@every_provider
def test_the_tally_accounts_for_every_record(readings: dict[str, Reading], provider: str) -> None:
    reading = readings[provider]
    short = {}
    for path in reading.report.recognised:
        there, told = _units(Path(path)), reading.tally(path)
        if told is not None and told.total() < there and "noise: copy of another log" not in told:
            short[path] = (there, told)
    assert short == {}


def _units(path: Path) -> int:
    """The number of records in a file, counted without knowing its format: lines, items of its longest list, messages."""
    content = path.read_bytes()
    if content.startswith(b"SQLite format 3\0") or path.suffix == ".md":
        return 0
    try:
        return max((len(items) for items in _lists(json.loads(content))), default=0)
    except ValueError:
        return sum(1 for line in content.split(b"\n") if line.strip()) if path.suffix == ".jsonl" else 0


def _lists(value: Any) -> Iterator[list[Any]]:
    """The lists of messages in a document, without lists inside a message."""
    if isinstance(value, dict):
        for item in value.values():
            if isinstance(item, list) and item and all(isinstance(part, dict) for part in item):
                yield item


@every_provider
def test_no_source_claims_more_real_sessions_than_there_are(
    readings: dict[str, Reading], corpus: Path, index: list[dict[str, str]], provider: str
) -> None:
    source = next(source for source in all_sources() if source.name == PROVIDERS[provider])
    ours = [row for row in index if row["provider"] == provider and row["kind"].startswith("real")]
    real = {str(corpus / row["path"]) for row in ours}
    reader = readings[provider].reader
    sessions = reader.sessions_overlapping(-(2**62), 2**62, None, newest_first=False, after=None, limit=10_000)
    assert source.real_sessions <= sum(session.path in real for session in sessions)


@every_provider
def test_a_log_that_was_read_is_not_read_again(readings: dict[str, Reading], provider: str) -> None:
    reading = readings[provider]
    again = reading.intake.sync([reading.files])
    assert (again.files_read, again.bytes, again.events) == (0, 0, 0)


def test_files_that_are_not_logs_are_not_recognised(corpus: Path, tmp_path: Path) -> None:
    for provider in NO_LOGS:
        reading = Reading(corpus / provider, tmp_path / provider)
        assert set(reading.report.recognised.values()) <= {"codex"}
        assert len(reading.report.unrecognised) == len(list((corpus / provider).rglob("*.jsonl"))) - 1
        reading.reader.close()
        reading.intake.__exit__()

"""The tokens of real sessions equal those that an independent counter finds in the raw logs (L5).

The counters here read the logs with plain `json`, and share no code with the sources. What counts, by agent:

- Claude Code: each API message once, with the numbers of its last line; a message is written as several lines, which repeat its
  numbers, and streaming raises the output. Messages of sub-agents inside progress records count too, in the same file. Answers
  that the program made up (`<synthetic>`) do not count. Copies of messages in resumed sessions count once, where they were first.
- Codex: `total_token_usage` counts up over a session, so its last value counts; it includes cached tokens in the input. If it
  falls, counting started again. A fork begins with a copy of its parent's counts: what the parent had then is not the fork's.
  Versions that have only `last_token_usage` add up.
- OpenCode: each assistant message's `tokens`. Newer versions leave reasoning out of the output, and write a `total`.
- Pi: each assistant message's `usage`.
- Gemini CLI: each message's last version. Thoughts are part of what is paid as output.

A cost counts if the agent recorded one for the message.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect.ingest import Ingester
from recollect.model import Usage
from recollect.settings import Settings
from recollect.sources import all_sources
from recollect.store import Reader

pytestmark = pytest.mark.corpus

Counts = tuple[int, int, int, int]  # input, output, read from a cache, written to one
MADE_UP = 20  # characters: shorter message ids are of hand-written samples, which use the same ids in several files
FOLDERS = {"claude": "claude-code", "codex": "codex", "opencode": "opencode", "pi": "pi", "gemini": "gemini-cli"}


@pytest.fixture(scope="module")
def archive(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    state = tmp_path_factory.mktemp("state")
    with Ingester(state / "realms" / "main", Settings(home=state), all_sources(), {"HOME": str(state)}) as ingester:
        ingester.sync([corpus / folder for folder in FOLDERS])
    return Reader(state / "realms" / "main" / "archive.db")


def archived(archive: Reader, source: str) -> dict[str, Usage]:
    """What the archive has, by the log's path."""
    paths = dict(archive._rows("SELECT key, path FROM session WHERE source = ?", (source,)))
    found: dict[str, Usage] = defaultdict(Usage)
    for row in archive.spent_by_session():
        if row.key in paths:
            found[paths[row.key]] += row.usage
    return found


def counts_of(usage: Usage) -> Counts:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text("utf-8", "replace").split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def number(counts: Any, *names: str) -> int:
    """The first of these fields that is a number."""
    return next((counts[name] for name in names if isinstance(counts.get(name), int)), 0) if isinstance(counts, dict) else 0


def assert_equal(archive: Reader, source: str, expected: dict[str, Counts]) -> None:
    found = {path: counts_of(usage) for path, usage in archived(archive, source).items()}
    different = {path: (counts, found.get(path)) for path, counts in expected.items() if found.get(path, (0,) * 4) != counts}
    assert different == {}
    assert len(expected) > 3


# ---- Claude Code


def claude_messages(path: Path) -> dict[str, Counts]:
    """The tokens of each API message of a log."""
    messages: dict[str, Counts] = {}
    for place, line in enumerate(json_lines(path)):
        if line.get("type") == "progress" and isinstance(line.get("data"), dict):
            line = line["data"].get("message") or {}
        message = line.get("message") if isinstance(line, dict) else None
        if line.get("type") != "assistant" or not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
            continue
        if message.get("model") == "<synthetic>" or line.get("isApiErrorMessage"):
            continue
        usage = message["usage"]
        messages[message.get("id") or f"@{place}"] = (
            number(usage, "input_tokens"),
            number(usage, "output_tokens"),
            number(usage, "cache_read_input_tokens"),
            number(usage, "cache_creation_input_tokens"),
        )
    return messages


def test_claude_code_counts_each_message_once(archive: Reader, corpus: Path) -> None:
    by_file = {str(path): claude_messages(path) for path in sorted((corpus / "claude").rglob("*.jsonl"))}
    files_of: dict[str, set[str]] = defaultdict(set)
    for path, messages in by_file.items():
        for name in messages:
            if len(name) >= MADE_UP:
                files_of[name].add(path)
    copied = {path for paths in files_of.values() if len(paths) > 1 for path in paths}
    sums = {path: add(messages.values()) for path, messages in by_file.items() if messages and path not in copied}
    assert_equal(archive, "claude-code", sums)
    # Of files that share messages, the sum of all: each message once.
    found = archived(archive, "claude-code")
    together = {name: counts for path in copied for name, counts in by_file[path].items()}
    assert add(counts_of(found[path]) for path in copied) == add(together.values())


def add(counts: Any) -> Counts:
    columns = [*zip(*counts, strict=True)] or [()] * 4
    first, second, third, fourth = (sum(column) for column in columns)
    return first, second, third, fourth


# ---- Codex


def codex_totals(path: Path) -> Iterator[tuple[Counts | None, Counts | None]]:
    """(total so far, tokens of the last call) of each count of a log."""
    for line in json_lines(path):
        payload = line.get("payload")
        if line.get("type") == "event_msg" and isinstance(payload, dict) and payload.get("type") == "token_count":
            info = payload.get("info") or {}
            yield codex_counts(info.get("total_token_usage")), codex_counts(info.get("last_token_usage"))


def codex_counts(usage: Any) -> Counts | None:
    if not isinstance(usage, dict):
        return None
    cached = number(usage, "cached_input_tokens")
    return number(usage, "input_tokens") - cached, number(usage, "output_tokens"), cached, 0


def codex_session(path: Path) -> tuple[str, str | None]:
    """The session's id, and the id of the session that it is a fork of."""
    for line in json_lines(path):
        if line.get("type") == "session_meta":
            payload = line["payload"]
            return payload.get("id", ""), payload.get("forked_from_id")
    return "", None


def test_codex_counts_up_and_forks_begin_anew(archive: Reader, corpus: Path) -> None:
    logs = sorted((corpus / "codex").rglob("*.jsonl"))
    totals = {path: [total for total, _ in codex_totals(path) if total] for path in logs}
    path_of = {codex_session(path)[0]: path for path in logs}
    sums: dict[str, Counts] = {}
    for path in logs:
        if totals[path]:
            parent = path_of.get(codex_session(path)[1] or "")
            copied = [total for total in totals[path] if parent and total in totals[parent]]
            sums[str(path)] = subtract(counted_up(totals[path]), copied[-1] if copied else (0, 0, 0, 0))
        elif calls := [call for _, call in codex_totals(path) if call]:
            sums[str(path)] = add(calls)
    assert_equal(archive, "codex", sums)


def counted_up(totals: list[Counts]) -> Counts:
    """The last total, and the last one before each time that counting started again."""
    ends = [before for before, after in pairwise(totals) if sum(after) < sum(before)]
    return add([*ends, totals[-1]])


def subtract(counts: Counts, other: Counts) -> Counts:
    return counts[0] - other[0], counts[1] - other[1], counts[2] - other[2], counts[3] - other[3]


# ---- OpenCode


def opencode_message(message: dict[str, Any]) -> tuple[Counts, float]:
    tokens = message.get("tokens")
    if message.get("role") != "assistant" or not isinstance(tokens, dict):
        return (0, 0, 0, 0), 0.0
    cache = tokens.get("cache") or {}
    output = number(tokens, "output") + (number(tokens, "reasoning") if "total" in tokens else 0)
    cost = message.get("cost")
    counts = (number(tokens, "input"), output, number(cache, "read"), number(cache, "write"))
    return counts, cost if isinstance(cost, int | float) else 0.0


def test_opencode_counts_every_message_with_its_cost(archive: Reader, corpus: Path) -> None:
    sums: dict[str, Counts] = {}
    costs: dict[str, float] = {}
    for path in sorted((corpus / "opencode").rglob("ses_*.json")):
        document = json.loads(path.read_text("utf-8", "replace"))
        if isinstance(document, dict) and isinstance(document.get("messages"), list):
            counted = [opencode_message(message.get("info") or {}) for message in document["messages"]]
            sums[str(path)] = add(counts for counts, _ in counted)
            costs[str(path)] = sum(cost for _, cost in counted)
    assert_equal(archive, "opencode", sums)
    found = archived(archive, "opencode")
    assert any(costs.values())
    for log, cost in costs.items():
        assert found[log].cost == pytest.approx(cost * 1_000_000, abs=len(sums))


# ---- Pi


def test_pi_counts_every_answer_with_its_cost(archive: Reader, corpus: Path) -> None:
    sums: dict[str, Counts] = {}
    costs: dict[str, float] = {}
    for path in sorted((corpus / "pi").rglob("*.jsonl")):
        answers = [
            line["message"].get("usage")
            for line in json_lines(path)
            if line.get("type") == "message"
            and isinstance(line.get("message"), dict)
            and line["message"].get("role") == "assistant"
        ]
        usages = [usage for usage in answers if isinstance(usage, dict)]
        sums[str(path)] = add(
            tuple(number(usage, name) for name in ("input", "output", "cacheRead", "cacheWrite")) for usage in usages
        )
        costs[str(path)] = sum((usage.get("cost") or {}).get("total") or 0 for usage in usages)
    assert_equal(archive, "pi", sums)
    found = archived(archive, "pi")
    for log, cost in costs.items():
        assert found[log].cost == pytest.approx(cost * 1_000_000, abs=1_000)


# ---- Gemini CLI


def test_gemini_cli_counts_the_last_version_of_every_message(archive: Reader, corpus: Path) -> None:
    sums: dict[str, Counts] = {}
    for path in sorted((corpus / "gemini").rglob("*.json*")):
        text = path.read_text("utf-8", "replace")
        lines = [*json_lines(path)] if path.suffix == ".jsonl" else json.loads(text).get("messages") or []
        messages = {line.get("id") or place: line for place, line in enumerate(lines) if isinstance(line, dict)}
        counted = [message["tokens"] for message in messages.values() if isinstance(message.get("tokens"), dict)]
        if counted:
            sums[str(path)] = add(
                (
                    number(tokens, "input") - number(tokens, "cached"),
                    number(tokens, "output") + number(tokens, "thoughts"),
                    number(tokens, "cached"),
                    0,
                )
                for tokens in counted
            )
    assert_equal(archive, "gemini-cli", sums)
    tokens_of: Callable[[Usage], int] = Usage.total
    assert sum(map(tokens_of, archived(archive, "gemini-cli").values())) == sum(map(sum, sums.values()))

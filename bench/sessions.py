"""Generates the content of sessions of coding agents, independent of any agent's log format.

Evidence: 235 public Claude Code sessions and 94 Codex rollouts. Lengths of texts and of sessions are log-normal.
Tool output has a median of 600 characters and a mean of 1,700, because of a long tail that agents cut off near 30 KB.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import log
from random import Random

from words import Vocabulary, identifier, vocabulary

NEWEST = datetime(2026, 6, 30, tzinfo=UTC)  # fixed: the same seed writes the same bytes on any day
SPAN = timedelta(days=365)
CODEX_SHARE = 0.3  # of the events; all others are Claude Code
SHORTEST_SESSION, LONGEST_SESSION = 2, 3000
PROJECTS = 40
REASONING_SHARE, REMARK_SHARE = 0.5, 0.4  # of the rounds
ROUNDS = 6  # tool calls in a turn, on average
DEFAULT_SEED = 1


@dataclass(frozen=True, slots=True)
class Length:
    median: int
    sigma: float
    maximum: int = 30_000

    def draw(self, rng: Random) -> int:
        return min(self.maximum, round(rng.lognormvariate(log(self.median), self.sigma)))


PROMPT = Length(110, 1.1)  # mean 200
ANSWER = Length(350, 1.0)  # mean 580
REMARK = Length(110, 0.7)  # mean 140: an agent's text between two tool calls
REASONING = Length(140, 1.1)  # mean 260
COMMAND = Length(60, 0.8)  # mean 80
EDIT = Length(300, 1.1)  # mean 550
OUTPUT = Length(600, 1.5)  # mean 1,700
SESSION = Length(80, 1.2, LONGEST_SESSION)  # events


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: dict[str, str]
    output: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Round:
    """One answer of the model: a tool call, with or without reasoning and a remark."""

    reasoning: str
    remark: str
    call: Call

    def events(self) -> int:
        return 2 + bool(self.reasoning) + bool(self.remark)


@dataclass(frozen=True, slots=True)
class Turn:
    prompt: str
    rounds: list[Round]
    answer: str

    def events(self) -> int:
        return 2 + sum(model_round.events() for model_round in self.rounds)


@dataclass(frozen=True, slots=True)
class Session:
    number: int
    agent: str
    folder: str
    started: datetime
    turns: list[Turn]
    rng: Random = field(compare=False)  # for the ids and pauses that a writer adds

    def events(self) -> int:
        return sum(turn.events() for turn in self.turns)


def sessions(events: int, seed: int = DEFAULT_SEED) -> Iterator[Session]:
    """Sessions with about `events` events in all. The sessions of a smaller size are the first ones of a larger size."""
    counts = {"claude-code": 0, "codex": 0}
    number = 0
    while sum(counts.values()) < events:
        agent = "codex" if counts["codex"] < CODEX_SHARE * sum(counts.values()) else "claude-code"
        generated = session(number, agent, seed)
        counts[agent] += generated.events()
        number += 1
        yield generated


def session(number: int, agent: str, seed: int) -> Session:
    rng = Random(f"session {seed} {number}")
    vocab = vocabulary(seed)
    missing = max(SHORTEST_SESSION, SESSION.draw(rng))  # events
    names = [identifier(rng, vocab.words) for _ in range(12)]
    subjects = rng.choices(vocab.prose.pieces, k=40) + [f"{name} " for name in names]
    turns: list[Turn] = []
    while missing > 0:
        turns.append(turn(rng, vocab, subjects, [f"{name}\n" for name in names], missing))
        missing -= turns[-1].events()
    folder = f"/home/dev/{vocab.words[int(PROJECTS * rng.random() ** 2)]}"
    return Session(number, agent, folder, NEWEST - SPAN * rng.random(), turns, rng)


def turn(rng: Random, vocab: Vocabulary, subjects: list[str], names: list[str], max_events: int) -> Turn:
    prompt = vocab.prose.text(rng, PROMPT.draw(rng), subjects)
    rounds: list[Round] = []
    for _ in range(int(rng.expovariate(1 / ROUNDS))):
        if sum(model_round.events() for model_round in rounds) + 2 >= max_events:
            break
        rounds.append(new_round(rng, vocab, subjects, names))
    return Turn(prompt, rounds, vocab.prose.text(rng, ANSWER.draw(rng), subjects))


def new_round(rng: Random, vocab: Vocabulary, subjects: list[str], names: list[str]) -> Round:
    reasoning = vocab.prose.text(rng, REASONING.draw(rng), subjects) if rng.random() < REASONING_SHARE else ""
    remark = vocab.prose.text(rng, REMARK.draw(rng), subjects) if rng.random() < REMARK_SHARE else ""
    return Round(reasoning, remark, call(rng, vocab, names))


def call(rng: Random, vocab: Vocabulary, names: list[str]) -> Call:
    path = f"src/{rng.choice(names).strip()}"
    tool = rng.choices(["Bash", "Read", "Edit", "Grep"], weights=[40, 25, 20, 15])[0]
    match tool:
        case "Bash":
            arguments = {"command": vocab.code.text(rng, COMMAND.draw(rng), names).replace("\n", " ")}
        case "Edit":
            before, after = (vocab.code.text(rng, EDIT.draw(rng), names) for _ in range(2))
            arguments = {"file_path": path, "old_string": before, "new_string": after}
        case "Grep":
            arguments = {"pattern": rng.choice(names).strip(), "path": "src"}
        case _:
            arguments = {"file_path": path}
    output = f"{path} was updated." if tool == "Edit" else vocab.code.text(rng, OUTPUT.draw(rng), names)
    return Call(tool, arguments, output, failed=rng.random() < 0.04)

"""Made-up sessions of coding agents: what was said and done, before any agent's way of writing it down.

Evidence: 235 public Claude Code sessions and 94 Codex rollouts. Lengths of texts and of sessions are log-normal;
tool output is 600 characters at the median and 1,700 on average, through a tail that agents cut off near 30 KB.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import log
from random import Random

from words import Vocabulary, identifier, vocabulary

NEWEST = datetime(2026, 6, 30, tzinfo=UTC)  # fixed: the same seed writes the same bytes on any day
SPAN = timedelta(days=365)
CODEX_SHARE = 0.3  # of the events; the rest is Claude Code
SHORTEST_SESSION, LONGEST_SESSION = 2, 3000
PROJECTS = 40
REASONING_SHARE, REMARK_SHARE = 0.5, 0.4  # of the rounds
ROUNDS = 6  # tool calls in a turn, on average
DEFAULT_SEED = 1


@dataclass(frozen=True, slots=True)
class Length:
    median: int
    sigma: float
    most: int = 30_000

    def draw(self, rng: Random) -> int:
        return min(self.most, round(rng.lognormvariate(log(self.median), self.sigma)))


PROMPT = Length(110, 1.1)  # mean 200
ANSWER = Length(350, 1.0)  # mean 580
REMARK = Length(110, 0.7)  # mean 140: what an agent says between two tool calls
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
    """One answer of the model: it may think, may say something, and calls a tool."""

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
        return 2 + sum(each.events() for each in self.rounds)


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
    """Sessions of about so many events in all; a smaller size is the beginning of a larger one."""
    written = {"claude-code": 0, "codex": 0}
    number = 0
    while sum(written.values()) < events:
        agent = "codex" if written["codex"] < CODEX_SHARE * sum(written.values()) else "claude-code"
        made = session(number, agent, seed)
        written[agent] += made.events()
        number += 1
        yield made


def session(number: int, agent: str, seed: int) -> Session:
    rng = Random(f"session {seed} {number}")
    vocab = vocabulary(seed)
    wanted = max(SHORTEST_SESSION, SESSION.draw(rng))
    names = [identifier(rng, vocab.words) for _ in range(12)]
    subjects = rng.choices(vocab.prose.pieces, k=40) + [f"{name} " for name in names]
    turns: list[Turn] = []
    while wanted > 0:
        turns.append(turn(rng, vocab, subjects, [f"{name}\n" for name in names], wanted))
        wanted -= turns[-1].events()
    folder = f"/home/dev/{vocab.words[int(PROJECTS * rng.random() ** 2)]}"
    return Session(number, agent, folder, NEWEST - SPAN * rng.random(), turns, rng)


def turn(rng: Random, vocab: Vocabulary, subjects: list[str], names: list[str], most: int) -> Turn:
    prompt = vocab.prose.text(rng, PROMPT.draw(rng), subjects)
    rounds: list[Round] = []
    for _ in range(int(rng.expovariate(1 / ROUNDS))):
        if sum(each.events() for each in rounds) + 2 >= most:
            break
        rounds.append(model_round(rng, vocab, subjects, names))
    return Turn(prompt, rounds, vocab.prose.text(rng, ANSWER.draw(rng), subjects))


def model_round(rng: Random, vocab: Vocabulary, subjects: list[str], names: list[str]) -> Round:
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

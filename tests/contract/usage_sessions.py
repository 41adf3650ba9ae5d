"""Three sessions whose tokens and costs are known."""

from typing import Any

from tests.conftest import Person
from tests.logs import Claude, write

SONNET, OPUS, UNKNOWN = "claude-sonnet-4-5-20250929", "claude-opus-4-6", "polly-1"
PARENT, SECOND, LATE = (f"aaaaaaaa-000{number}-4000-8000-000000000000" for number in (1, 2, 3))


def answer(log: Claude, at: str, model: str = SONNET, **tokens: int) -> dict[str, Any]:
    """A line with an answer at a time, and the tokens of its call."""
    line = log.says("Done.", model=model, timestamp=at)
    line["message"]["usage"] = {f"{name}_tokens": count for name, count in tokens.items()}
    return line


def ask(log: Claude, at: str) -> dict[str, Any]:
    return log.prompt("Go on with it", timestamp=at)


def fill(person: Person) -> None:
    """Three sessions, one with two sub-agents, the one inside the other."""
    parent = Claude(PARENT, "/work/app")
    write(
        person.claude_log(PARENT),
        [
            ask(parent, "2026-02-01T10:00:00Z"),
            answer(parent, "2026-02-01T10:01:00Z", input=100, output=10, cache_read_input=1_000, cache_creation_input=50),
            ask(parent, "2026-02-01T23:30:00Z"),  # in Berlin it is the next day
            answer(parent, "2026-02-01T23:31:00Z", OPUS, input=200, output=20),
        ],
    )
    folder = person.claude_log(PARENT).with_suffix("") / "subagents"
    for name, tokens, start in (("a1", 7, 100), ("a2", 3, 200)):
        child = Claude(PARENT, "/work/app", start=start)
        lines = [ask(child, "2026-02-01T10:02:00Z"), answer(child, "2026-02-01T10:03:00Z", input=tokens, output=tokens)]
        write(folder / f"agent-{name}.jsonl", [{**line, "isSidechain": True, "agentId": name} for line in lines])
    second = Claude(SECOND, "/work/yard", start=300)
    write(
        person.claude_log(SECOND, "-work-yard"),
        [ask(second, "2026-02-03T10:00:00Z"), answer(second, "2026-02-03T10:00:05Z", UNKNOWN, input=1_000, output=1)],
    )
    late = Claude(LATE, "/work/=cmd", start=400)
    write(
        person.claude_log(LATE, "-work-cmd"),
        [ask(late, "2026-03-29T00:30:00Z"), answer(late, "2026-03-29T02:10:00Z", input=5, output=5)],
    )
    person.sync()

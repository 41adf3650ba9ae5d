"""For any turn, observing never raises, and every observation is within its limits and has evidence."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model import Event, Kind, Observation
from recollect.observe import observe
from tests.observed.turns import CWD, Turn

TYPES = {"decision", "bug-fix", "pattern", "feature", "refactor", "discovery", "diagnosis", "test", "config", "general"}


def _check(observation: Observation, events: list[Event]) -> None:
    ids = {event.id for event in events}
    assert observation.type in TYPES
    assert 1 <= len(observation.title) <= 80 and not observation.title.endswith(".") and "\n" not in observation.title
    assert len(observation.subtitle) <= 160 and len(observation.narrative) <= 900
    assert len(observation.facts) <= 6 and all(
        0 < len(fact) <= 200 and fact != observation.title for fact in observation.facts
    )
    assert len(observation.concepts) <= 8 and not {concept.lower() for concept in observation.concepts} & {
        "the",
        "fix",
        "add",
        "use",
    }
    assert len(observation.files_read) <= 20 and len(observation.files_modified) <= 20
    assert (
        1 <= len(observation.evidence) <= 6
        and set(observation.evidence) <= ids
        and len(set(observation.evidence)) == len(observation.evidence)
    )
    assert observation.at in {event.at for event in events}


PIECES = [
    "", "fix ", "I've added ", "because ", "`Name`", "```\ncode\n", "**", "[x](y)", "\x1b[31m", "<system-reminder>", "|a|b|\n", "# H\n", ". ", "\n", "ERR_X ",
    "Done! ", "instead of ", "always ", "好的。", "?", "'", '"', "(", "*** Update File: a\n", "cat > a.py <<EOF\n", "git commit -m \"", "://", "…", "1. ", "\ud800", '"Which one?"="This."', "Changed files:\na.py\n", "diff --git a b\n+++ b/a\n",
]  # fmt: skip
TEXT = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
NAMES = st.one_of(
    st.sampled_from(
        ["command", "cmd", "file_path", "path", "input", "changes", "edits", "files", "workdir", "plan", "result"]
    ),
    TEXT,
)
TOOLS = st.one_of(
    st.none(),
    st.sampled_from(
        ["Bash", "Edit", "Read", "exec", "apply_patch", "question", "finish", "ExitPlanMode", "str_replace_editor"]
    ),
    TEXT,
)


@st.composite
def any_events(draw: Callable[..., Any]) -> list[Event]:
    turn = Turn()
    for _ in range(draw(st.integers(0, 8))):
        turn.add(
            draw(st.sampled_from(list(Kind))),
            draw(TEXT),
            arguments=draw(st.one_of(st.none(), st.dictionaries(NAMES, VALUE, max_size=4))),
            tool=draw(TOOLS),
            answers=draw(st.one_of(st.none(), st.integers(0, 8))),
            exit_code=draw(st.sampled_from([None, 0, 1, -9])),
            failed=draw(st.booleans()),
            own=draw(st.booleans()),
        )
    return turn.events


@settings(max_examples=200, deadline=None)
@given(events=any_events(), cwd=st.one_of(st.none(), st.just(CWD), TEXT))
def test_any_turn_gives_observations_within_their_limits(events: list[Event], cwd: str | None) -> None:
    for seen in observe(events, cwd):
        _check(seen, events)


@pytest.mark.parametrize(
    "filler", ["a", "a ", "1", "(", "`", "*", "| ", "\n", "A. ", "because ", "'", "<", "/", "好", "$(", '-m "', "1. "]
)
def test_a_huge_text_does_not_take_longer_than_a_long_one(filler: str) -> None:
    text = filler * (2_000_000 // len(filler))
    turn = (
        Turn()
        .ask(text)
        .run(text, text, failed=True)
        .use("apply_patch", {"input": text})
        .use("Edit", {"file_path": "a.py"})
        .say(text)
    )
    for seen in turn.observed():
        _check(seen, turn.events)

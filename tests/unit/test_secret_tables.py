"""Every row of the secret tables redacts a value like its example under its name."""

import random
import re

import pytest
from secret_kinds import made_up

from recollect.redact import redact
from recollect.redact.files import EXAMPLES as FILE_EXAMPLES
from recollect.redact.forms import EXAMPLES as OTHER_EXAMPLES
from recollect.redact.forms import FORMS
from recollect.redact.named_services import NAMED_SERVICES
from recollect.redact.rules import RULES, TABLES
from recollect.redact.services import ENDING_SERVICES, SERVICES

SHAPES = [(row.name, shape) for row in SERVICES for shape in row.shapes]
EXAMPLES = [*((row.name, row.example) for row in ENDING_SERVICES), *((row.name, row.example) for row in FORMS)]
NAMES = [(row.name, word, row.example) for row in NAMED_SERVICES for word in row.words]
ALPHABETS = {"e": "f", "h": "x", "p": "b"}  # alphabets that the generator does not have, and a subset of each that it has


def _value(shape: str, rng: random.Random) -> str:
    """A generated value of a shape, with the minimum length if several are allowed."""
    plain = re.sub(r"<([a-z])(\d+)[-+0-9]*>", lambda part: f"<{ALPHABETS.get(part[1], part[1])}{part[2]}>", shape)
    return made_up(plain.replace("\\n", "\n"), rng)


@pytest.mark.parametrize(("rule", "shape"), SHAPES + EXAMPLES)
@pytest.mark.parametrize("context", ["use {} here", '{{"a": "{}"}}', "a\\n{}\\nb", "\x1b[32m{}\x1b[0m"])
def test_a_value_of_every_shape_is_redacted_under_the_name_of_its_rule(rule: str, shape: str, context: str) -> None:
    rng = random.Random(shape)
    for _ in range(3):
        value = _value(shape, rng)
        assert redact(context.format(value)) == context.format(f"[REDACTED:{rule}]")


@pytest.mark.parametrize(("rule", "word", "example"), NAMES)
@pytest.mark.parametrize("context", ["{}_ID={}", '"{} client id": "{}"', "--{}-login {}"])
def test_a_value_after_the_name_of_its_service_is_redacted(rule: str, word: str, example: str, context: str) -> None:
    value = _value(example, random.Random(word))
    left = redact(context.format(word, value))
    assert value not in left
    assert "[REDACTED:" in left


@pytest.mark.parametrize(("rule", "example"), [*FILE_EXAMPLES, *OTHER_EXAMPLES])
def test_every_other_rule_redacts_its_example(rule: str, example: str) -> None:
    rng = random.Random(example)
    before, shape, after = re.split("«|»", example)
    value = made_up(shape, rng)
    assert redact(before + value + after) == f"{before}[REDACTED:{rule}]{after}"


def test_every_rule_has_an_example() -> None:
    tried = {name for table in TABLES for name in (row.name for row in table)}
    tried |= {rule for rule, _ in (*FILE_EXAMPLES, *OTHER_EXAMPLES)}
    assert set(RULES) - tried == {"assigned-secret", "basic-auth"}  # their examples are in tests/unit/test_redact.py

"""Requests are declared once: checks, schemas and command line options come from the same declaration."""

from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner
from msgspec import Meta

from recollect.errors import BadRequest
from recollect.operations import OPERATIONS
from recollect.operations.schema import Request, arguments_of, description_of, schema_of
from recollect.surfaces.cli.request_options import request_options


class Find(Request):
    """Find things
    by their words."""

    words: Annotated[str, Meta(min_length=1, max_length=5, description="Up to {max_length}.", extra={"strip": True})]
    count: Annotated[int, Meta(ge=1, le=9, description="{ge} to {le}. Default {default}.")] = 3
    order: Literal["up", "down"] = "up"
    tags: list[str] | None = None
    is_exact: bool = False


@pytest.mark.parametrize(
    ("arguments", "problem", "field"),
    [
        ({}, "words must be a non-empty string", "words"),
        ({"words": 7}, "words must be a non-empty string", "words"),
        ({"words": "  "}, "words must be a non-empty string", "words"),
        ({"words": "longer"}, "words must be at most 5 characters", "words"),
        ({"words": "a", "count": 0}, "count must be an integer from 1 to 9", "count"),
        ({"words": "a", "count": True}, "count must be an integer from 1 to 9", "count"),
        ({"words": "a", "count": "3"}, "count must be an integer from 1 to 9", "count"),
        ({"words": "a", "order": "left"}, "order must be one of up, down", "order"),
        ({"words": "a", "tags": [1]}, "tags must be an array of non-empty strings", "tags"),
        ({"words": "a", "is_exact": "yes"}, "is_exact must be true or false", "is_exact"),
        ({"words": "a", "wrds": "b"}, "unknown argument: wrds", "wrds"),
    ],
)
def test_a_bad_argument_is_named_with_what_it_must_be(arguments: dict[str, Any], problem: str, field: str) -> None:
    with pytest.raises(BadRequest) as refused:
        Find.parse(arguments)
    assert (str(refused.value), refused.value.details) == (problem, {"field": field})


@pytest.mark.parametrize("arguments", ["words", ["words"], 7])
def test_arguments_must_be_an_object(arguments: object) -> None:
    with pytest.raises(BadRequest, match="arguments must be an object"):
        Find.parse(arguments)


def test_an_error_from_a_surface_is_raised_unchanged() -> None:
    with pytest.raises(BadRequest, match="the body must be a JSON object"):
        Find.parse(BadRequest("the body must be a JSON object"))


def test_null_means_the_default() -> None:
    assert Find.parse({"words": " a ", "count": None, "tags": None}) == Find("a", 3, "up", None, False)


def test_the_schema_agrees_with_the_checks() -> None:
    assert schema_of(Find) == {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "Up to 5."},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "1 to 9. Default 3."},
            "order": {"type": "string", "enum": ["up", "down"], "default": "up"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "is_exact": {"type": "boolean", "default": False},
        },
        "required": ["words"],
        "additionalProperties": False,
    }
    assert description_of(Find) == "Find things by their words."


def test_an_option_has_the_type_the_limits_and_the_help_of_its_argument() -> None:
    @click.command()
    @request_options(Find, {"count": "-n --count", "tags": "-t --tag", "is_exact": "--exact"}, help={"tags": "A tag."})
    def command(arguments: dict[str, Any]) -> None:
        click.echo(arguments)

    run = CliRunner().invoke
    assert "1 to 9. Default 3." in run(command, ["--help"]).output and "--tag TAG" in run(command, ["--help"]).output
    given = run(command, ["-n", "2", "-t", "a", "-t", "b", "--exact"])
    assert given.output == "{'count': 2, 'tags': ['a', 'b'], 'is_exact': True}\n"
    assert run(command, []).output == "{}\n"
    assert run(command, ["-n", "two"]).exit_code == 2


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_every_operation_describes_itself_and_its_arguments(operation: Any) -> None:
    assert operation.description and "{" not in str(operation.input_schema["properties"].values()).replace("{'", "")
    fields = arguments_of(operation.request)
    assert list(operation.input_schema["properties"]) == [
        name for name, field in fields.items() if not field.extra.get("is_hidden")
    ]
    for route in operation.routes:
        taken = schema_of(route.request) if route.request else operation.input_schema
        assert {*taken["properties"]} | {*route.implied_arguments} <= {*fields}

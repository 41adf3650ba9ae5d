"""The filters of the library as options of a command."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from recollect.operations.library.observation_requests import ListLibraryObservations
from recollect.operations.library.requests import (
    FilteredRequest,
    GetNow,
    GetUsage,
    ListFiles,
    ListLibrarySessions,
    SearchLibrary,
)
from recollect.operations.schema import arguments_of
from recollect.surfaces.cli.filter_options import FILTERS, FilteredCommand, FilterOption, filter_options

REQUESTS = (GetNow, GetUsage, ListFiles, ListLibraryObservations, ListLibrarySessions, SearchLibrary)


def command_of(request: type[FilteredRequest], **more: Any) -> click.Command:
    """A command that prints the arguments that it gets."""

    @click.command("list", cls=FilteredCommand)
    @filter_options(request, **more)
    def command(arguments: dict[str, Any]) -> None:
        click.echo(repr(arguments))

    return command


def arguments_from(*words: str, request: type[FilteredRequest] = ListLibrarySessions) -> Any:
    done = CliRunner().invoke(command_of(request), words)
    assert done.exit_code == 0, done.output
    return eval(done.output)


def test_a_command_without_options_gets_no_arguments() -> None:
    assert arguments_from() == {}


@pytest.mark.parametrize("name", sorted(FILTERS - {"failed"}))
def test_every_filter_is_an_option_that_can_be_repeated_and_negated(name: str) -> None:
    assert arguments_from(f"--{name}", "one", f"--{name}", "-two") == {name: ["one", "-two"]}


def test_whether_something_failed_is_a_flag_with_two_forms() -> None:
    assert (arguments_from("--failed"), arguments_from("--no-failed")) == ({"failed": True}, {"failed": False})


def test_a_negated_filter_is_a_word_of_the_query() -> None:
    assert arguments_from("-branch:main", "agent:codex", "-failed", "tide") == {
        "query": "-branch:main agent:codex -failed tide"
    }


def test_an_unknown_option_is_still_an_error() -> None:
    done = CliRunner().invoke(command_of(ListLibrarySessions), ["-colour:red"])
    assert (done.exit_code, "No such option" in done.output) == (2, True)


def test_a_date_of_several_words_gets_its_quotes_back() -> None:
    assert arguments_from("since:last week", "tide") == {"query": 'since:"last week" tide'}
    assert arguments_from("since:7d tide") == {"query": "since:7d tide"}


def test_sorting_and_paging_are_options() -> None:
    used = arguments_from("--sort", "-tokens", "-n", "5", "--facets", "agent", "--cursor", "c")
    assert used == {"sort": "-tokens", "limit": 5, "facets": ["agent"], "cursor": "c"}


@pytest.mark.parametrize("request_type", REQUESTS)
def test_every_field_of_a_request_is_an_option_or_the_argument(request_type: type[FilteredRequest]) -> None:
    command = command_of(request_type)
    assert {parameter.name for parameter in command.params} == set(arguments_of(request_type))
    filters = {parameter.name for parameter in command.params if isinstance(parameter, FilterOption)}
    assert filters == FILTERS


@pytest.mark.parametrize("request_type", [ListLibrarySessions, GetNow])
def test_each_filter_is_explained_in_one_line(request_type: type[FilteredRequest]) -> None:
    shown = CliRunner().invoke(command_of(request_type), ["--help"], terminal_width=80).output
    filters = shown.partition("Filters")[2].partition("\n\n")[0].splitlines()[1:]
    assert len(filters) == len(FILTERS), shown


def test_a_command_can_leave_out_fields_and_replace_their_flags_and_texts() -> None:
    command = command_of(
        GetUsage, leave_out=("cursor",), flags={"by": "--by -b"}, help={"by": "What to add up."}, takes_query=False
    )
    shown = CliRunner().invoke(command, ["--help"], terminal_width=80).output
    assert "-b" in shown and "What to add up." in shown
    assert "--cursor" not in shown and "QUERY" not in shown

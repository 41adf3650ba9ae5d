"""All commands with their options and the kinds of their values, as data: for completion in a shell."""

from typing import Any

import click

from recollect.filters.grammar import CLOSED
from recollect.model import FILE_OPERATIONS
from recollect.operations.library.requests import FACET_NAMES, FilteredRequest
from recollect.operations.schema import arguments_of
from recollect.store.sqlite.library_queries import SORTS
from recollect.surfaces.cli import recollect
from recollect.surfaces.cli.filter_options import HELP

KINDS = {  # the name of a parameter, and the kind of its values
    "agent": "agent",
    "provider": "agent",
    "branch": "branch",
    "facets": "facet",
    "from_date": "date",
    "before": "date",
    "ids": "id",
    "label": "label",
    "mode": "mode",
    "model": "model",
    "operation": "operation",
    "project": "project",
    "projects": "project",
    "query": "query",
    "realm_id": "realm",
    "realm_name": "realm",
    "resume": "id",
    "session": "id",
    "session_id": "id",
    "since": "date",
    "sort": "sort",
    "state": "state",
    "to_date": "date",
    "tool": "tool",
    "type": "type",
    "typed_id": "id",
    "until": "date",
    "within": "id",
}
FILES = (click.Path, click.File)
FREE = "text"  # a value that nobody can guess
"""The kind of a value that has no candidates. An option without a kind has no value."""


def command_table() -> dict[str, Any]:
    """The commands, the filters of queries, and the values that are always the same."""
    context = click.Context(recollect, info_name="recollect")
    filters = arguments_of(FilteredRequest)
    names = [name for name in filters if name not in ("query", "failed")]
    choices: dict[str, list[str]] = {key: [str(value) for value in values] for key, values in CLOSED.items()}
    choices |= {
        "facet": list(FACET_NAMES),
        "operation": list(FILE_OPERATIONS),
        "sort": [sign + name for name in SORTS for sign in ("", "-")],
        "failed": ["true", "false"],
    }
    table = _command(recollect, context, choices)
    query = {name: {"kind": KINDS.get(name, FREE), "help": HELP[name]} for name in names}
    query |= {"failed": {"kind": "failed", "help": HELP["failed"]}, "in": {"kind": "id", "help": "Only this session."}}
    return {**table, "filters": query, "choices": choices}


def _command(command: click.Command, context: click.Context, choices: dict[str, list[str]]) -> dict[str, Any]:
    """A command with its options, its arguments, and the commands below it."""
    described: dict[str, Any] = {"help": command.get_short_help_str(80), "options": {}, "arguments": []}
    for parameter in command.get_params(context):
        kind = _kind(parameter, choices)
        if isinstance(parameter, click.Argument):
            described["arguments"].append(kind)
        elif isinstance(parameter, click.Option) and not parameter.hidden:
            about: dict[str, Any] = {"help": parameter.help or ""}
            if not parameter.is_flag and not parameter.count and parameter.name != "help":
                about["kind"] = kind
            if parameter.multiple:
                about["is_repeatable"] = True
            described["options"] |= dict.fromkeys((*parameter.opts, *parameter.secondary_opts), about)
    if isinstance(command, click.Group):
        parts = ((name, command.get_command(context, name)) for name in command.list_commands(context))
        described["commands"] = {
            name: _command(part, click.Context(part, info_name=name, parent=context), choices)
            for name, part in parts
            if part is not None and not part.hidden
        }
    return described


def _kind(parameter: click.Parameter, choices: dict[str, list[str]]) -> str:
    """The kind of a parameter's values."""
    if isinstance(parameter.type, click.Choice):
        kind = f"choice {'|'.join(map(str, parameter.type.choices))}"
        choices[kind] = [str(choice) for choice in parameter.type.choices]
        return kind
    if isinstance(parameter.type, FILES):
        return "file"
    return KINDS.get(str(parameter.name), FREE)

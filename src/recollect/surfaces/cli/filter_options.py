"""The filters of the library as options of a command: one way for every command that lists something.

`@click.command("usage", cls=FilteredCommand)` and `@filter_options(GetUsage)` give a command the words of a query
as its argument, and every field of the request as an option: filters, sorting, paging. The command gets the used ones as
`arguments`, for the operation.
"""

import re
import time
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from recollect.dates import parse_window
from recollect.filters.grammar import FAILED, KEYS
from recollect.operations.library.requests import FilteredRequest, PagedRequest
from recollect.operations.schema import Argument, arguments_of
from recollect.surfaces.cli.realm_options import TEXT
from recollect.surfaces.cli.request_options import derived_option, used_arguments

Function = TypeVar("Function", bound=Callable[..., Any])

FILTERS = frozenset(FilteredRequest.__struct_fields__) - {"query"}
NEGATED = re.compile(rf"-(?:(?:{'|'.join(KEYS)}):.+|{FAILED})", re.IGNORECASE | re.DOTALL)  # `-branch:main` in a query
DATE_WORD = re.compile(r'(since|until):([^"]* [^"]*)', re.IGNORECASE)  # `since:"last week"`, after the shell took the quotes
MARK = "\ufdd0"  # begins an argument that click must not take for an option; no text has this character
SHORT_FLAGS = {"limit": ("-n", "--limit"), "failed": ("--failed/--no-failed",)}
PLACEHOLDERS = {"since": "WHEN", "until": "WHEN", "limit": "N"}
HELP = {  # in place of the descriptions for programs: one line of 80 columns each
    "agent": "Only this agent: claude-code, codex, …",
    "project": "Only this project: its name or folder.",
    "branch": "Only this branch.",
    "model": "Only this model; opus* fits claude-opus-4-6.",
    "tool": "Only with a call of this tool.",
    "file": "Only with this file: deck.py, src/auth.ts, *.go.",
    "type": "Only with events of this type: tool_call, …",
    "mode": "Only chat, tool_calling, web_search, mcp_internal.",
    "state": "Only working, waiting, idle, ended, died.",
    "label": "Only with this label.",
    "machine": "Only from this machine.",
    "failed": "Only with a failed tool call, or only without.",
    "since": "Only active since: 7d, yesterday, last week …",
    "until": "Only begun before this time.",
    "limit": "How many, {ge} to {le} (default: {default}).",
    "cursor": "Continue after an earlier page: its page.next.",
}


class FilterOption(click.Option):
    """An option that help lists among the filters."""


class FilteredCommand(click.Command):
    """A command with filters. Help lists them apart. `-branch:main` is a filter of its query, not an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f"{MARK}{word}" if NEGATED.fullmatch(word) else word for word in args])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and record[1]:
                rows[isinstance(parameter, FilterOption)].append(record)
        with formatter.section("Filters (repeatable; a leading - leaves out: --agent -codex)"):
            formatter.write_dl(rows[True])
        with formatter.section("Options"):
            formatter.write_dl(rows[False])


def filter_options(
    request: type[FilteredRequest],
    *,
    flags: Mapping[str, str] | None = None,
    help: Mapping[str, str] | None = None,  # noqa: A002
    leave_out: Collection[str] = (),
    takes_query: bool = True,
    query: str | None = None,
    query_is_required: bool = False,
) -> Callable[[Function], Callable[..., Any]]:
    """Options for the fields of a request, and an argument for its query.

    `flags` and `help` replace the spelling and the description of a field; fields in `leave_out` get no option.
    `query` replaces the name of the query in the help.
    """
    declared = {name: field for name, field in arguments_of(request).items() if name not in leave_out and name != "query"}
    shared = arguments_of(PagedRequest)
    texts = {name: text for name, text in HELP.items() if name in declared and _is_same(declared[name], shared[name])}
    texts |= help or {}

    def decorate(function: Function) -> Callable[..., Any]:
        @wraps(function)
        def collect(*args: Any, **values: Any) -> Any:
            arguments = used_arguments({name: values.pop(name) for name in declared})
            if words := values.pop("query", ()):
                arguments["query"] = query_of(words)
            return function(*args, arguments=arguments, **values)

        command: Callable[..., Any] = collect
        for name, field in reversed(declared.items()):
            command = _option(field, (flags or {}).get(name), texts.get(name))(command)
        if takes_query:
            is_required = query_is_required or arguments_of(request)["query"].is_required
            command = click.argument("query", nargs=-1, type=TEXT, required=is_required, metavar=query)(command)
        return command

    return decorate


def query_of(words: Collection[str]) -> str:
    """The query that was typed, with the quotes around dates that the shell took away."""
    return " ".join(_quoted_date(word.removeprefix(MARK)) for word in words)


def _quoted_date(word: str) -> str:
    match = DATE_WORD.fullmatch(word)
    if match is None or parse_window(match[2], round(time.time() * 1000)) is None:
        return word
    return f'{match[1]}:"{match[2]}"'


def _is_same(field: Argument, shared: Argument) -> bool:
    """Whether a request has left a field's meaning as all requests declare it."""
    return field.meta.description == shared.meta.description


def _option(field: Argument, spelling: str | None, text: str | None) -> Callable[[Any], Any]:
    flags = tuple(spelling.split()) if spelling else SHORT_FLAGS.get(field.name, (f"--{field.name.replace('_', '-')}",))
    option_class = FilterOption if field.name in FILTERS else click.Option
    return derived_option(field, flags, text, option_class, PLACEHOLDERS.get(field.name))

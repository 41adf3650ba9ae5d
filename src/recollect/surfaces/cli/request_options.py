"""Command line options derived from typed requests: their types, limits and help texts."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, get_origin

import click

from recollect.operations.schema import Argument, Request, arguments_of
from recollect.surfaces.cli.realm_options import TEXT

Function = TypeVar("Function", bound=Callable[..., Any])


def request_options(
    request: type[Request],
    flags: Mapping[str, str],
    help: Mapping[str, str] | None = None,  # noqa: A002
) -> Callable[[Function], Callable[..., Any]]:
    """Options for some arguments of a request, by their flags: {"n_hits": "-n --hits"}.

    The command gets the options that were used as `arguments`. `help` replaces descriptions, which are written for models.
    """
    declared = arguments_of(request)

    def decorate(function: Function) -> Callable[..., Any]:
        @wraps(function)
        def collect(*args: Any, **values: Any) -> Any:
            options = {name: values.pop(name) for name in flags}
            return function(*args, arguments=_arguments(options), **values)

        command: Callable[..., Any] = collect
        for name, spelling in reversed(list(flags.items())):
            command = _option(declared[name], spelling, (help or {}).get(name))(command)
        return command

    return decorate


def _option(argument: Argument, spelling: str, text: str | None) -> Callable[[Any], Any]:
    kind = argument.bare_type
    settings: dict[str, Any] = {"help": argument.fill_in(text) if text else argument.description}
    if kind is bool:
        settings["is_flag"] = True
    elif kind is int:
        settings["type"] = int
    else:
        is_list = get_origin(_without_none(kind)) is list
        settings |= {"type": TEXT, "multiple": is_list, "metavar": _metavar(argument, is_list=is_list)}
    return click.option(*spelling.split(), argument.name, **settings)


def _without_none(kind: Any) -> Any:
    parts = [part for part in getattr(kind, "__args__", ()) if part is not type(None)]
    return parts[0] if type(None) in getattr(kind, "__args__", ()) else kind


def _metavar(argument: Argument, *, is_list: bool) -> str:
    """The placeholder of the value in help: the last word of the argument's name, in the singular."""
    word = argument.name.rsplit("_", 1)[-1]
    return (word.removesuffix("s") if is_list else word).upper()


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the options that were used."""
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return {name: value for name, value in values.items() if value is not None and value is not False and value != []}

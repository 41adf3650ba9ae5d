"""Command line options derived from typed requests: their types, limits and help texts."""

from collections.abc import Callable, Iterable, Mapping
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
            return function(*args, arguments=used_arguments(options), **values)

        command: Callable[..., Any] = collect
        for name, spelling in reversed(list(flags.items())):
            command = derived_option(declared[name], spelling.split(), (help or {}).get(name))(command)
        return command

    return decorate


def derived_option(
    argument: Argument,
    flags: Iterable[str],
    text: str | None = None,
    option_class: type[click.Option] = click.Option,
    placeholder: str | None = None,
) -> Callable[[Any], Any]:
    """The option for an argument, with the type, limits and choices that the request declares."""
    kind = argument.bare_type
    settings: dict[str, Any] = {"help": argument.fill_in(text or argument.meta.description or "").replace("`", "")}
    if _without_none(kind) is bool:
        settings |= {"is_flag": True, "default": None}
    elif kind is int:
        settings |= {"type": int, "metavar": placeholder}
    else:
        is_list = get_origin(_without_none(kind)) in (list, tuple)
        settings |= {"type": TEXT, "multiple": is_list, "metavar": placeholder or _metavar(argument, is_list=is_list)}
    return click.option(*flags, argument.name, cls=option_class, **settings)


def _without_none(kind: Any) -> Any:
    parts = [part for part in getattr(kind, "__args__", ()) if part is not type(None)]
    return parts[0] if type(None) in getattr(kind, "__args__", ()) else kind


def _metavar(argument: Argument, *, is_list: bool) -> str:
    """The placeholder of the value in help: the last word of the argument's name, in the singular."""
    word = argument.name.rsplit("_", 1)[-1]
    return (word.removesuffix("s") if is_list else word).upper()


def used_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the options that were used."""
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    return {name: value for name, value in values.items() if value is not None and value != []}

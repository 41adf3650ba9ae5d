"""The options of every command that opens a realm, and the realm that they choose."""

import os
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from recollect.errors import BadSettings
from recollect.live import LiveRealm
from recollect.model import replace_surrogates
from recollect.realms import DEFAULT
from recollect.realms.catalog import exists
from recollect.realms.manifest import Backend, Manifest, Origin, read_or_create
from recollect.realms.names import check_instance, new_realm_name
from recollect.settings import Settings, read_settings

Function = TypeVar("Function", bound=Callable[..., Any])


def typed(text: str) -> str:
    """A typed text as UTF-8, whatever the locale. Invalid bytes are replaced."""
    return replace_surrogates(text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))


BYTE = re.compile(r"\(byte (\d+)\)")  # in msgspec's messages
TEXT = click.types.FuncParamType(typed)  # a text that can be stored and sent, even if invalid bytes were typed
TEXT.name = "text"  # in help


backend_option = click.option(
    "--realm-backend",
    type=click.Choice([backend.value for backend in Backend]),
    help="How a new realm is stored (default: sqlite).",
)


def realm_options(function: Function) -> Function:
    """--realm, --isolated, --instance and --realm-backend."""
    options = (
        click.option("--realm", "realm_name", metavar="ID", help=f"Store to use (default: {DEFAULT})."),
        click.option("--isolated", is_flag=True, help="Use a new, empty realm."),
        click.option("--instance", metavar="ID", help="Name of this process in logs and leases."),
        backend_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


def realm_to_read(realm_name: str | None, isolated: bool, instance: str | None, realm_backend: str | None) -> LiveRealm:
    """The chosen realm, for a command that only reads. A missing realm is not created; it reads as empty."""
    _check_one(realm_name, isolated=isolated)
    current = settings()
    name = new_realm_name() if isolated else DEFAULT if realm_name is None else realm_name
    if exists(current, name):
        return chosen_realm(realm_name, isolated, instance, realm_backend)
    realm = LiveRealm(current, name, instance, is_temporary=True)
    if realm_name is not None:
        click.echo(f"! There is no realm {name!r} yet. `recollect realm list` shows all realms.", err=True)
    return realm


def chosen_realm(realm_name: str | None, isolated: bool, instance: str | None, realm_backend: str | None) -> LiveRealm:
    """The chosen realm, created if it does not exist."""
    _check_one(realm_name, isolated=isolated)
    if instance is not None:
        check_instance(instance)
    name = new_realm_name() if isolated else DEFAULT if realm_name is None else realm_name
    realm = LiveRealm(settings(), name, instance)
    origin = Origin.GENERATED if isolated else Origin.EXPLICIT if realm_name is not None else Origin.WORKSPACE
    pin_manifest(realm, realm_backend, origin)
    return realm


def _check_one(realm_name: str | None, *, isolated: bool) -> None:
    if realm_name is not None and isolated:
        raise BadSettings("Use either --realm or --isolated, not both.")


def pin_manifest(realm: LiveRealm, backend: str | None, origin: Origin) -> Manifest:
    """The manifest of a realm, created if there is none."""
    return read_or_create(realm.home, realm.name, Backend(backend) if backend else None, origin)


def settings() -> Settings:
    return read_settings(os.environ)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)


def labels_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Labels from KEY=VALUE texts."""
    labels = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"Not a label: {pair!r}. Write KEY=VALUE.")
        labels[name] = value
    return labels


def invalid_json(reason: Exception) -> str:
    """The message for invalid JSON, with the place: `Invalid JSON at byte 4`."""
    match = BYTE.search(str(reason))
    return f"Invalid JSON at byte {match[1]}" if match is not None else f"Invalid JSON: {reason}"

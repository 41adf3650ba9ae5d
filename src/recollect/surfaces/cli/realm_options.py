"""The options that every command which opens a realm understands, and the realm they mean."""

import os
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
    """What somebody typed: UTF-8, also where the locale does not say so; without bytes that are not."""
    return replace_surrogates(text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"))


TEXT = click.types.FuncParamType(typed)  # an option that can be stored and sent, whatever bytes were typed
TEXT.name = "text"  # in help


def realm_options(function: Function) -> Function:
    """--realm, --isolated, --instance and --realm-backend."""
    options = (
        click.option(
            "--realm", "realm_name", metavar="ID", help=f"The realm to use. Default: {DEFAULT}; of rpc, a new one."
        ),
        click.option("--isolated", is_flag=True, help="Use a new realm of its own."),
        click.option("--instance", metavar="ID", help="Name this instance, for logs and leases."),
        click.option(
            "--realm-backend", type=click.Choice([backend.value for backend in Backend]), help="How the realm is stored."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def realm_to_read(realm_name: str | None, isolated: bool, instance: str | None, realm_backend: str | None) -> LiveRealm:
    """The same for a command that only reads, which never creates a realm: one that does not exist is read as empty."""
    _check_one(realm_name, isolated=isolated)
    known = settings()
    name = new_realm_name() if isolated else DEFAULT if realm_name is None else realm_name
    if exists(known, name):
        return chosen_realm(realm_name, isolated, instance, realm_backend)
    realm = LiveRealm(known, name, instance, is_temporary=True)
    if realm_name is not None:
        click.echo(f"! There is no realm {name!r} yet. `recollect realm list` shows all realms.", err=True)
    return realm


def chosen_realm(realm_name: str | None, isolated: bool, instance: str | None, realm_backend: str | None) -> LiveRealm:
    _check_one(realm_name, isolated=isolated)
    if instance is not None:
        check_instance(instance)
    name = new_realm_name() if isolated else DEFAULT if realm_name is None else realm_name
    realm = LiveRealm(settings(), name, instance)
    origin = Origin.GENERATED if isolated else Origin.EXPLICIT if realm_name is not None else Origin.WORKSPACE
    pinned(realm, realm_backend, origin)
    return realm


def _check_one(realm_name: str | None, *, isolated: bool) -> None:
    if realm_name is not None and isolated:
        raise BadSettings("--realm and --isolated exclude each other.")


def pinned(realm: LiveRealm, backend: str | None, origin: Origin) -> Manifest:
    """The manifest of a realm, made now if there is none."""
    return read_or_create(realm.home, realm.name, Backend(backend) if backend else None, origin)


def settings() -> Settings:
    return read_settings(os.environ)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)


def labels_of(given: tuple[str, ...]) -> dict[str, str]:
    """Labels as they are typed: KEY=VALUE."""
    labels = {}
    for label in given:
        name, is_one, value = label.partition("=")
        if not is_one or not name:
            raise click.UsageError(f"A label is KEY=VALUE, not {label!r}.")
        labels[name] = value
    return labels

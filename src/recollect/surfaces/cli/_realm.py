"""The options that every command which opens a realm understands, and the realm they mean."""

import os
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import click

from recollect.errors import BadSettings
from recollect.realms import DEFAULT, Realm
from recollect.settings import Settings, read_settings

Function = TypeVar("Function", bound=Callable[..., Any])


def realm_options(function: Function) -> Function:
    """--realm, --isolated, --instance and --realm-backend."""
    options = (
        click.option("--realm", "realm_name", metavar="ID", help=f"The realm to use. Default: {DEFAULT}."),
        click.option("--isolated", is_flag=True, help="Use a new realm of its own."),
        click.option("--instance", metavar="ID", help="Name this instance, for logs and leases."),
        click.option("--realm-backend", type=click.Choice(["sqlite", "jsonl", "memory"]), help="How the realm is stored."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def chosen_realm(realm_name: str | None, isolated: bool, instance: str | None, realm_backend: str | None) -> Realm:
    if realm_name is not None and isolated:
        raise BadSettings("--realm and --isolated exclude each other.")
    if realm_backend not in (None, "sqlite"):
        raise BadSettings(f"This version stores realms in sqlite only, not in {realm_backend}.")
    name = f"isolated-{uuid.uuid4().hex[:12]}" if isolated else realm_name or DEFAULT
    return Realm(settings(), name)


def settings() -> Settings:
    return read_settings(os.environ)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)

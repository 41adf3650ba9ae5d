"""recollect realm"""

from typing import Any

import click

from recollect.live import LiveRealm
from recollect.realms.manifest import Origin
from recollect.surfaces.cli.output import ask
from recollect.surfaces.cli.realm_options import (
    backend_option,
    chosen_realm,
    json_option,
    pin_manifest,
    realm_options,
    realm_to_read,
    settings,
)
from recollect.surfaces.cli.render import ago, console, say, size


@click.group("realm")
def command() -> None:
    """List, create and delete realms: separate stores.

    Imported history is in `main`.

    \b
    recollect realm list
    recollect realm create experiments
    recollect search "flaky test" --realm experiments
    """


@command.command("current")
@json_option
@realm_options
def current(as_json: bool, **realm: Any) -> None:
    """Show the realm that these options choose.

    \b
    recollect realm current --json
    """
    chosen = chosen_realm(**realm) if realm["isolated"] else realm_to_read(**realm)
    ask("realm_get", {"realm_id": chosen.name}, _draw_one, as_json=as_json, realm=chosen)


@command.command("list")
@json_option
def listed(as_json: bool) -> None:
    """List all realms.

    \b
    recollect realm list
    """
    ask("realm_list", {}, _draw_all, as_json=as_json, realm=LiveRealm(settings()))


@command.command("show")
@click.argument("realm_id", metavar="ID")
@json_option
def show(realm_id: str, as_json: bool) -> None:
    """Show a realm and its size.

    \b
    recollect realm show main
    """
    ask("realm_get", {"realm_id": realm_id}, _draw_one, as_json=as_json, realm=LiveRealm(settings()))


@command.command("create")
@click.argument("realm_id", metavar="ID")
@backend_option
@json_option
def create(realm_id: str, realm_backend: str | None, as_json: bool) -> None:
    """Create a realm, unless it exists.

    \b
    recollect realm create experiments
    """
    realm = LiveRealm(settings(), realm_id)
    pin_manifest(realm, realm_backend, Origin.EXPLICIT)
    ask("realm_get", {"realm_id": realm_id}, _draw_one, as_json=as_json, realm=realm)


@command.command("delete")
@click.argument("realm_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def delete(realm_id: str, yes: bool, as_json: bool) -> None:
    """Delete a realm with everything in it. Agents' own logs stay.

    \b
    recollect realm delete experiments --yes
    """
    if as_json and not yes:
        raise click.UsageError("--json cannot ask for confirmation. Add --yes to delete the realm.")
    if not yes:
        click.confirm(f"Delete realm {realm_id} with everything in it?", abort=True, err=True)
    ask("realm_delete", {"realm_id": realm_id}, _draw_deleted, as_json=as_json, realm=LiveRealm(settings()))


@command.command("prune")
@json_option
def prune(as_json: bool) -> None:
    """Delete realms made by --isolated that are not in use.

    \b
    recollect realm prune
    """
    ask("realm_prune", {}, _draw_pruned, as_json=as_json, realm=LiveRealm(settings()))


def _draw_all(answer: dict[str, Any]) -> None:
    out = console()
    for row in answer["realms"]:
        out.print(f"[bold]{row['realm_id']}[/]  [dim]{_details(row)}[/]")
    failed = answer.get("failed", ())
    for row in failed:
        say(f"! Realm {row['realm_id']} cannot be listed: {row['message']}", err=True)
    if not answer["realms"] and not failed:
        out.print("No realm yet. `recollect sync` creates the first one.")


def _draw_one(row: dict[str, Any]) -> None:
    out = console()
    out.print(
        f"[bold]{row['realm_id']}[/]  [dim]{_details(row)}, {size(row['bytes'])}, config {row['config_generation']}[/]"
    )
    out.print(row["folder"], style="dim", soft_wrap=True)


def _draw_deleted(row: dict[str, Any]) -> None:
    console().print(f"Deleted realm {row['realm_id']} ({size(row['bytes'])}).")


def _draw_pruned(answer: dict[str, Any]) -> None:
    out = console()
    count = len(answer["realms"])
    freed = size(sum(row["bytes"] for row in answer["realms"]))
    out.print(f"Deleted {count} realm{'s' if count != 1 else ''} ({freed}).")
    for row in answer["failed"]:
        out.print(f"Realm {row['realm_id']} was not deleted: {row['message']}", markup=False, soft_wrap=True)


def _details(row: dict[str, Any]) -> str:
    created = f", {row['origin']}, created {ago(row['created_at'])}" if row["created_at"] else ""
    return f"{row['backend']}{created}"

"""recollect labels"""

from typing import Any

import click
import msgspec

from recollect.display import one_line
from recollect.label import plural
from recollect.live import LiveRealm
from recollect.operations.library.requests import PutLabel
from recollect.surfaces.cli.output import ask, library_answer
from recollect.surfaces.cli.realm_options import TEXT, chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say


@click.command("labels")
@click.argument("typed_id", type=TEXT, metavar="[ID", required=False)
@click.argument("names", type=TEXT, metavar="[NAME]...]", nargs=-1)
@click.option("--remove", is_flag=True, help="Remove these labels from the session.")
@json_option
@realm_options
def command(typed_id: str | None, names: tuple[str, ...], remove: bool, as_json: bool, **realm: Any) -> None:
    """List all labels, or label a session.

    \b
    recollect labels                          all labels, with their sessions
    recollect labels 9ab2c3d4 shipped billing
    recollect labels last shipped --remove
    recollect list --label shipped            the sessions with a label
    """
    if remove and not names:
        raise click.UsageError("Name the session and the labels to remove: recollect labels ID NAME --remove")
    if typed_id is None:
        ask("library_labels", {}, _print_all, as_json=as_json, realm=realm)
    elif not names:
        _print_of(realm_to_read(**realm), typed_id, as_json=as_json)
    else:
        _change(chosen_realm(**realm), typed_id, names, remove=remove, as_json=as_json)


def _print_all(answer: Any) -> None:
    labels = answer["data"]["labels"]
    width = max((len(one_line(label["name"])) for label in labels), default=0)
    for label in labels:
        say(f"{one_line(label['name']):<{width}}  {plural(label['sessions'], 'session')}")
    if not labels:
        say("No labels yet. Put one: recollect labels ID NAME")


def _print_of(realm: LiveRealm, session: str, *, as_json: bool) -> None:
    """Print the labels of a session, one per line."""
    view = library_answer(realm, "session", {"id": session}, as_json=as_json)["data"]["session"]
    if as_json:
        answer = {"data": {"session": view["id"], "labels": view["labels"]}, "warnings": []}
        print_json(msgspec.json.encode(answer).decode())
    else:
        say("\n".join(map(one_line, view["labels"])) or "This session has no labels.")


def _change(realm: LiveRealm, session: str, names: tuple[str, ...], *, remove: bool, as_json: bool) -> None:
    """Put or remove labels, all or none if a name is not valid."""
    requests = [{"id": session, "name": name} for name in dict.fromkeys(names)]
    for request in requests:
        PutLabel.parse(request)
    *earlier, last = requests
    name = "remove_label" if remove else "put_label"
    for request in earlier:
        library_answer(realm, name, request, as_json=as_json)
    ask(f"library_{name}", last, _print_changed, as_json=as_json, realm=realm)


def _print_changed(answer: Any) -> None:
    labels = ", ".join(map(one_line, answer["data"]["labels"]))
    say(f"Labels: {labels}" if labels else "The session has no labels now.")

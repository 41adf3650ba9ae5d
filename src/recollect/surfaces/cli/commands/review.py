"""recollect review"""

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec

from recollect.label import plural
from recollect.operations.library.observation_requests import EditObservation
from recollect.surfaces.cli.output import library_answer
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.cli.request_options import request_options

Function = TypeVar("Function", bound=Callable[..., Any])


@click.group("review")
def command() -> None:
    """Confirm, correct or remove observations.

    Who decided, and when, is kept with the observation.

    \b
    recollect observations "why do we retry uploads"    # their IDs
    recollect review confirm obs-4f0c…
    recollect review edit obs-4f0c… --title "Uploads retry with jitter"
    """


def _review_options(function: Function) -> Callable[..., Any]:
    """What every review takes: who decides, and the usual options."""
    reviewer = click.option("--reviewer", metavar="NAME", type=TEXT, help="Who decides (default: you).")
    return reviewer(json_option(realm_options(function)))


_ids = click.argument("ids", metavar="ID...", nargs=-1, type=TEXT, required=True)


@command.command("confirm")
@_ids
@_review_options
def confirm(ids: tuple[str, ...], reviewer: str | None, as_json: bool, **realm: Any) -> None:
    """Confirm observations. A retired one is found again.

    \b
    recollect review confirm obs-4f0c…
    """
    _review("confirm", ids, {"reviewer": reviewer}, as_json=as_json, realm=realm)


@command.command("retire")
@_ids
@_review_options
def retire(ids: tuple[str, ...], reviewer: str | None, as_json: bool, **realm: Any) -> None:
    """Hide observations from searches, but keep them.

    \b
    recollect review retire obs-4f0c…
    recollect observations --state retired
    """
    _review("retire", ids, {"reviewer": reviewer}, as_json=as_json, realm=realm)


@command.command("edit")
@click.argument("identity", metavar="ID", type=TEXT)
@request_options(
    EditObservation,
    {"title": "--title", "type": "--type", "subtitle": "--subtitle", "narrative": "--narrative", "facts": "--fact"},
    {
        "type": "Its type: decision, bug-fix, …",
        "facts": "A fact, in a sentence; can be repeated. All facts are replaced.",
    },
)
@_review_options
def edit(identity: str, arguments: dict[str, Any], reviewer: str | None, as_json: bool, **realm: Any) -> None:
    """Change the words of an observation.

    \b
    recollect review edit obs-4f0c… --title "Uploads retry with jitter"
    recollect review edit obs-4f0c… --fact "At most 5 times." --fact "Jitter of 20 %."
    """
    _review("edit", (identity,), {"reviewer": reviewer, **arguments}, as_json=as_json, realm=realm)


@command.command("delete")
@_ids
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_review_options
def delete(ids: tuple[str, ...], yes: bool, reviewer: str | None, as_json: bool, **realm: Any) -> None:
    """Delete observations for good.

    \b
    recollect review delete obs-4f0c…
    """
    if as_json and not yes:
        raise click.UsageError("--json cannot ask for confirmation. Add --yes to delete.")
    if not yes:
        click.confirm(f"Delete {plural(len(ids), 'observation')} for good?", abort=True, err=True)
    _review("delete", ids, {"reviewer": reviewer}, as_json=as_json, realm=realm)


def _review(verb: str, ids: tuple[str, ...], arguments: dict[str, Any], *, as_json: bool, realm: dict[str, Any]) -> None:
    """Review observations one by one, and print what became of each."""
    opened = realm_to_read(**realm)
    given = {name: value for name, value in arguments.items() if value is not None}
    for identity in ids:
        answer = library_answer(opened, f"{verb}_observation", {"id": identity, **given}, as_json=as_json)
        if as_json:
            print_json(msgspec.json.encode(answer).decode())
        elif verb == "delete":
            say(f"Deleted {identity}")
        else:
            observation = answer["data"]["observation"]
            say(f"{observation['verdict'].capitalize()} by {observation['reviewer']}: {observation['title']}")

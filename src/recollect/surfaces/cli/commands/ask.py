"""recollect ask"""

import os
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from recollect.operations import RequestContext
from recollect.operations.memory.ask import EVERY_OBSERVATION, EVERYTHING, answer
from recollect.operations.memory.search import notes
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say


@click.command("ask")
@click.argument("question", type=TEXT, nargs=-1, required=True)
@click.option("--project", type=TEXT, help="Only sessions of this project.")
@click.option("--extract", is_flag=True, help="Quote passages, even if a model is configured.")
@json_option
@realm_options
def command(question: tuple[str, ...], project: str | None, extract: bool, as_json: bool, **realm: object) -> None:
    """Answer a question from past sessions, with sources.

    \b
    recollect ask "why did we move to JWT?"
    recollect ask how was the flaky upload test fixed --project webapp

    Quotes the passages it finds. A model writes the answer if [extraction] in settings.toml names one.
    """
    opened = realm_to_read(**realm)  # type: ignore[arg-type]
    context = RequestContext.now(has_deadline=as_json)
    limited: dict[str, Any] = {}
    if project:
        limited = {
            "events": replace(EVERYTHING, project=project),
            "observations": replace(EVERY_OBSERVATION, projects=(project,)),
        }
    reply = answer(opened, " ".join(question), context, os.environ, by_model=not extract, **limited)
    reply.warnings += notes(opened)
    for warning in reply.warnings:
        say(f"! {warning}", err=True)
    if as_json:
        print_json(msgspec.json.encode(reply).decode())
    else:
        say(reply.answer)

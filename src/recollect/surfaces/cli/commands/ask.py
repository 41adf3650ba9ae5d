"""recollect ask"""

from typing import Any

import click
import msgspec

from recollect.operations.library.requests import AskLibrary
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.output import answer_of, print_warnings
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say


@click.command("ask", cls=FilteredCommand)
@filter_options(AskLibrary, leave_out=("question",), query="QUESTION...", query_is_required=True)
@click.option("--extract", is_flag=True, help="Quote passages, even if a model is configured.")
@json_option
@realm_options
def command(arguments: dict[str, Any], extract: bool, as_json: bool, **realm: Any) -> None:
    """Answer a question from past sessions, with sources.

    \b
    recollect ask "why did we move to JWT?"
    recollect ask how was the flaky upload test fixed --project webapp
    recollect ask what did we decide about retries --agent codex --since "last month"

    Quotes the passages it finds. A model writes the answer if [extraction] in settings.toml names one.
    """
    answer = answer_of(realm_to_read(**realm), "library_ask", arguments, as_json=as_json, by_model=not extract)
    print_warnings(answer)
    if as_json:
        print_json(msgspec.json.encode({**answer["data"], "warnings": answer["warnings"]}).decode())
    else:
        say(answer["data"]["answer"])

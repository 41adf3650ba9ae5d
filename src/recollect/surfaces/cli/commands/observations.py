"""recollect observations"""

from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.text import Text

from recollect.label import plural
from recollect.live import LiveRealm
from recollect.operations import RequestContext
from recollect.operations.library.context import open_library
from recollect.operations.library.observation_requests import ListLibraryObservations
from recollect.operations.library.observations import find_observation
from recollect.operations.memory.views import observations
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.library_pages import library_pages
from recollect.surfaces.cli.local_times import local_day
from recollect.surfaces.cli.output import library_answer
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, plain, print_json, say

ID = "obs-"  # what an observation's ID begins with
COUNT = 20  # observations for a person: about a screen
FACTS = 3  # of an observation in a list


@click.command("observations", cls=FilteredCommand)
@filter_options(
    ListLibraryObservations,
    flags={"type": "-t --type"},
    help={
        "type": "Only this type: decision, bug-fix, pattern, …",
        "concept": "Only tagged with this concept.",
        "file": "Only about this file: deck.py, src/auth.ts, *.go.",
        "state": "Only retired. Or of sessions in a state: ended, …",
        "since": "Only since: 7d, yesterday, last week …",
        "until": "Only before this time.",
        "limit": f"How many (default: {COUNT}).",
    },
    query="[QUESTION | ID…]",
)
@json_option
@realm_options
def command(arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Show what was learnt in past sessions.

    Lists the newest observations, finds those that answer a question, or shows some in full.
    `recollect review` confirms or corrects them.

    \b
    recollect observations --type decision --project webapp
    recollect observations "why do we retry uploads"
    recollect observations obs-4f0c…
    """
    opened = realm_to_read(**realm)
    ids = arguments.get("query", "").split()
    if ids and all(word.startswith(ID) for word in ids):
        _print_in_full(opened, ids, as_json=as_json)
        return
    count = arguments.get("limit", COUNT)
    answers = list(library_pages(opened, "observations", arguments, "observations", count, as_json=as_json))
    found = [row for answer in answers for row in answer["data"]["observations"]]
    if as_json:
        whole = {**answers[0], "data": {"observations": found}, "page": answers[-1]["page"]}
        print_json(msgspec.json.encode(whole).decode())
    else:
        _draw(found, answers[0]["page"]["total"], arguments)


def _print_in_full(realm: LiveRealm, ids: list[str], *, as_json: bool) -> None:
    if as_json:
        found = [library_answer(realm, "observation", {"id": identity}, as_json=True) for identity in ids]
        data = {"observations": [answer["data"]["observation"] for answer in found]}
        page = {"next": None, "total": len(ids)}
        print_json(msgspec.json.encode({"data": data, "page": page, "warnings": found[0]["warnings"]}).decode())
        return
    with open_library(realm, RequestContext.now(has_deadline=False)) as library:
        rows = [find_observation(library.reader, library.memory, identity).row for identity in ids]
    say(observations(rows))


def _draw(found: Sequence[Any], total: int | None, arguments: dict[str, Any]) -> None:
    out = console()
    if not found:
        is_filtered = arguments.keys() - {"limit", "cursor"}
        hint = "" if is_filtered else " yet. `recollect sync` extracts them from your agents' logs"
        say(f"No observations found{hint}.")
        return
    for row in found:
        head = f"  {local_day(row['at'], estimated=row['estimated_time'])}  {row['type']}  {row['project'] or ''}"
        head += f"  {row['score']:.2f}" if row["score"] is not None else ""
        verdict = f"  {row['verdict']} by {row['reviewer']}" if row["verdict"] else ""
        out.print(Text.assemble((plain(row["title"]), "bold"), (plain(head + verdict), "dim")))
        for fact in row["facts"][:FACTS]:
            out.print(Text(f"   - {plain(' '.join(fact.split()))}"))
        out.print(f"   [blue]{row['id']}[/]")
    shown = plural(len(found), "observation")
    of_all = f"{shown} of {total:,}" if total is not None and total > len(found) else shown
    out.print(Text(f"{of_all}. In full: recollect observations ID", "dim"))

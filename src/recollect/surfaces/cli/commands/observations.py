"""recollect observations"""

import sys

import click
import msgspec
from rich.text import Text

from recollect.label import plural
from recollect.model import observation_type, timestamp
from recollect.operations.memory.observations import as_object, newest_observations, observations_by_key
from recollect.operations.memory.requests import GetObservations
from recollect.operations.memory.search import find_observations, notes
from recollect.operations.memory.views import observation_ref, observations
from recollect.store.memory import ObservationRow
from recollect.store.observation_filters import ObservationFilters
from recollect.surfaces.cli.local_times import local_day
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, plain, print_json, say
from recollect.surfaces.cli.times import since_option, until_option


@click.command("observations")
@click.argument("words", type=TEXT, metavar="[QUESTION | ID…]", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Number of observations.")
@click.option("-t", "--type", "types", type=TEXT, multiple=True, help="Only this type: decision, bug-fix, pattern …")
@click.option("--project", "projects", type=TEXT, multiple=True, help="Only this project.")
@click.option("--concept", "concepts", type=TEXT, multiple=True, help="Only tagged with this concept.")
@click.option("--file", "files", type=TEXT, multiple=True, help="Only about this file: a name or the end of a path.")
@click.option("--since", metavar="WHEN", help="Only since: yesterday, 7d, 2026-04-30, last week …")
@click.option("--until", metavar="WHEN", help="Only before this time.")
@json_option
@realm_options
def command(
    words: tuple[str, ...],
    limit: int,
    types: tuple[str, ...],
    projects: tuple[str, ...],
    concepts: tuple[str, ...],
    files: tuple[str, ...],
    since: str | None,
    until: str | None,
    as_json: bool,
    **realm: object,
) -> None:
    """Show what was learnt in past sessions.

    Lists the newest observations, finds those that answer a question, or shows some in full.

    \b
    recollect observations --type decision --project webapp
    recollect observations "why do we retry uploads"
    recollect observations obs-4f0c…
    """
    opened = realm_to_read(**realm)  # type: ignore[arg-type]
    filters = ObservationFilters(
        since=since_option(since),
        until=until_option(until),
        projects=projects,
        types=tuple(map(observation_type, types)),
        concepts=concepts,
        files=files,
    )
    if words and all(word.startswith("obs-") for word in words):
        selected = observations_by_key(opened, GetObservations.parse({"ids": list(words)}).ids)
        if as_json:
            print_json(_encoded([(row, None) for row in selected]))
        else:
            say(observations(selected))
        return
    rows: list[tuple[ObservationRow, float | None]]
    if words:
        results = find_observations(opened, " ".join(words), filters, opened.settings.search.mode, limit)
        rows = [(result.observation, result.score) for result in results]
    else:
        rows = [(row, None) for row in newest_observations(opened, filters, limit)]
    for note in notes(opened) if words else ():
        say(f"! {note}", err=True)
    if as_json:
        print_json(_encoded(rows))
    else:
        _draw(rows, filters, has_query=bool(words))


def _encoded(rows: list[tuple[ObservationRow, float | None]]) -> str:
    return msgspec.json.encode([as_object(row, score) for row, score in rows]).decode()


def _draw(rows: list[tuple[ObservationRow, float | None]], filters: ObservationFilters, *, has_query: bool) -> None:
    out = console()
    for row, score in rows:
        head = f"{local_day(timestamp(row.at), estimated=row.estimated)}  {row.type}" + (
            f"  {score:.2f}" if score is not None else ""
        )
        out.print(Text.assemble((plain(row.title), "bold"), (f"  {head}  {row.project or ''}", "dim")))
        for fact in row.facts[:3]:
            out.print(Text(f"   - {plain(' '.join(fact.split()))}"))
        out.print(f"   [blue]{observation_ref(row.id)}[/]")
    if not rows:
        is_filtered = has_query or not filters.is_empty()
        hint = "" if is_filtered else " yet. `recollect sync` extracts them from your agents' logs"
        out.print(f"No observations found{hint}.")
        sys.exit(0)
    out.print(f"[dim]{plural(len(rows), 'observation')}. In full: recollect observations ID[/]")

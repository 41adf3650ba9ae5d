"""recollect observations"""

import sys
from typing import Any

import click
import msgspec

from recollect.operations.memory import notes, observations_of, recalled, search_filters
from recollect.operations.memory.views import observation_ref, observations
from recollect.shown_time import day, estimate_field
from recollect.store.memory import ObservationFilters, ObservationRow
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import console, plain, print_json, say
from recollect.surfaces.cli.times import milliseconds_of


@click.command("observations")
@click.argument("words", type=TEXT, metavar="[QUESTION | ID…]", nargs=-1)
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many.")
@click.option("-t", "--type", "types", type=TEXT, multiple=True, help="Only this type: decision, bug-fix, pattern, …")
@click.option("--project", "projects", type=TEXT, multiple=True, help="Only this project.")
@click.option("--concept", "concepts", type=TEXT, multiple=True, help="Only what is tagged with this concept.")
@click.option("--file", "files", type=TEXT, multiple=True, help="Only what is about this file: a name, or a path's tail.")
@click.option("--since", metavar="WHEN", help="Only from then on: 2026-04-30, 12h, 7d.")
@click.option("--until", metavar="WHEN", help="Only before then.")
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
    """What was learnt in past sessions: the newest observations, those that answer a question, or some in full.

    \b
    recollect observations --type decision --project webapp
    recollect observations "why do we retry uploads"
    recollect observations obs-4f0c…
    """
    opened = realm_to_read(**realm)  # type: ignore[arg-type]
    filters = search_filters(
        types, projects, concepts, files, milliseconds_of(since, "--since"), milliseconds_of(until, "--until")
    )
    if words and all(word.startswith("obs-") for word in words):
        named = observations_of(opened, list(words))
        if as_json:
            print_json(_encoded([(row, None) for row in named]))
        else:
            say(observations(named))
        return
    rows: list[tuple[ObservationRow, float | None]]
    if words:
        found = recalled(opened, " ".join(words), filters, opened.settings.search.mode, limit)
        rows = [(one.observation, one.score) for one in found]
    else:
        with opened.open_archive() as reader, opened.open_memory() as memory:
            newest = memory.newest(filters, limit)
            rows = [(row, None) for row in newest if reader.session(row.session) is not None]
    for note in notes(opened) if words else ():
        say(f"! {note}", err=True)
    if as_json:
        print_json(_encoded(rows))
    else:
        _draw(rows, filters, asked=bool(words))


def _encoded(rows: list[tuple[ObservationRow, float | None]]) -> str:
    return msgspec.json.encode([_listed(row, score) for row, score in rows]).decode()


def _listed(row: ObservationRow, score: float | None) -> dict[str, Any]:
    fields = msgspec.structs.asdict(row)
    del fields["key"], fields["estimated"]
    return {
        **fields,
        **estimate_field(row.estimated),
        "id": observation_ref(row.id),
        "session": f"session:{row.session.hex()}",
        "turn": f"turn:{row.session.hex()}-{row.turn}",
        "evidence": [f"event:{event.hex()}" for event in row.evidence],
        **({"score": score} if score is not None else {}),
    }


def _draw(rows: list[tuple[ObservationRow, float | None]], filters: ObservationFilters, *, asked: bool) -> None:
    from rich.text import Text

    out = console()
    for row, score in rows:
        head = f"{day(row.at, estimated=row.estimated)}  {row.type}" + (f"  {score:.2f}" if score is not None else "")
        out.print(Text.assemble((plain(row.title), "bold"), (f"  {head}  {row.project or ''}", "dim")))
        for fact in row.facts[:3]:
            out.print(Text(f"   - {plain(' '.join(fact.split()))}"))
        out.print(f"   [blue]{observation_ref(row.id)}[/]")
    if not rows:
        narrowed = asked or not filters.is_empty()
        hint = "" if narrowed else " yet. `recollect sync` makes them of what your agents wrote"
        out.print(f"No observations found{hint}.")
        sys.exit(0)
    out.print(f"[dim]{len(rows)} observation{'s' if len(rows) != 1 else ''}. In full: recollect observations ID[/]")

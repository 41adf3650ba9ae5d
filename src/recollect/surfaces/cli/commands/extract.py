"""recollect extract"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import click
import msgspec

from recollect.errors import StoreBusy
from recollect.extract import EXTRACTING, ExtractionReport, Limits, Plan, UnusableAnswer, extract, plan_extraction
from recollect.language_model import ModelDidNotAnswer, model_name, open_model
from recollect.live import LiveRealm
from recollect.store import OutOfDate
from recollect.store.lock import exclusive
from recollect.store.memory import Memory
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say

NAMED = 10  # turns that are listed one by one


@click.command("extract")
@click.option("--dry-run", is_flag=True, help="Show what would be read and its cost. Asks no model.")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="Most tokens to use, input and output.")
@click.option("--limit", type=click.IntRange(min=1), metavar="TURNS", help="Read at most this many turns.")
@click.option("--again", is_flag=True, help="Also read turns that this model has read before.")
@json_option
@realm_options
def command(dry_run: bool, budget: int | None, limit: int | None, again: bool, as_json: bool, **realm: object) -> None:
    """Let a model read turns and record observations.

    Reads finished turns, newest first, each of them once. [extraction] in settings.toml names the model and its budget:
    an OpenAI-compatible service or your own command. No model reads anything unless you run this.

    \b
    recollect extract --dry-run            # how many turns, how many tokens
    recollect extract --limit 5            # try it on five turns
    recollect extract --budget 50000
    """
    opened = realm_to_read(**realm) if dry_run else chosen_realm(**realm)  # type: ignore[arg-type]
    settings = opened.settings.extraction
    limits = Limits(budget=settings.budget if budget is None else budget, turns=limit, again=again)
    if dry_run:
        _deliver(_planned(opened, model_name(settings), limits, quiet=as_json), as_json, _plan_in_words)
        return
    report = ExtractionReport(model=model_name(settings), budget=limits.budget)
    try:
        _extract(opened, limits, report, quiet=as_json)
    except ModelDidNotAnswer as error:
        if report.turns and not as_json:
            say(_report_in_words(report), err=True)
        error.details["report"] = _for_programs(report)
        raise
    _deliver(report, as_json, _report_in_words)


def _planned(realm: LiveRealm, name: str, limits: Limits, *, quiet: bool) -> Plan:
    try:
        with closing(Memory(realm.folder)) as memory:
            read = memory.extracted_turns(name)
    except OutOfDate:  # there are no observations yet
        read = {}
    with realm.open_archive() as reader, _progress(quiet) as show:
        return plan_extraction(
            reader, read, name, limits, lambda found: show(found.turns, found.fits_tokens, found.budget, 0)
        )


def _extract(realm: LiveRealm, limits: Limits, report: ExtractionReport, *, quiet: bool) -> None:
    model = open_model(realm.settings.extraction, os.environ)

    def on_progress(done: ExtractionReport) -> None:
        show(done.turns, done.tokens_in + done.tokens_out, done.budget, done.observations)

    try:
        with (
            exclusive(realm.folder, EXTRACTING),
            closing(Memory(realm.folder, writable=True)) as memory,
            realm.open_archive() as reader,
            _progress(quiet) as show,
        ):
            extract(reader, memory, model, limits, report, on_progress)
    except StoreBusy as busy:
        raise StoreBusy(
            "Another process is already extracting. Wait for it: two would pay for the same turns twice."
        ) from busy


# ---- output


def _deliver(found: Any, as_json: bool, in_words: Callable[[Any], str]) -> None:
    if as_json:
        print_json(msgspec.json.encode(_for_programs(found)).decode())
    else:
        say(in_words(found))


def _for_programs(found: Plan | ExtractionReport) -> dict[str, Any]:
    values = msgspec.structs.asdict(found)
    if isinstance(found, ExtractionReport):
        values["nonsense"] = [{"turn": _turn(odd), "reason": odd.reason} for odd in found.nonsense]
    return values


def _turn(odd: UnusableAnswer) -> str:
    """An ID for `recollect open`."""
    return f"turn:{odd.session.hex()}-{odd.turn}"


def _plan_in_words(found: Plan) -> str:
    if not found.turns:
        return f"Nothing to read for {found.model}: it has read every finished turn."
    return (
        f"{found.turns:,} turns to read for {found.model}: about {found.tokens_in:,} tokens in, "
        f"at most {found.tokens_out:,} out. {found.trivial:,} more are too short to be worth reading.\n"
        f"The budget of {found.budget:,} tokens is enough for at least {found.fits:,} of them, the newest "
        f"({found.fits_tokens:,} tokens). No model was asked."
    )


def _report_in_words(report: ExtractionReport) -> str:
    lines = [
        f"{report.model} read {report.turns:,} turns: {report.observations:,} observations, {report.tokens_in:,} tokens in, "
        f"{report.tokens_out:,} out (budget {report.budget:,})."
    ]
    if report.refused:
        lines.append(f"{report.refused:,} observations were rejected: without evidence, malformed, or too many at once.")
    if report.nonsense:
        lines.append(f"{len(report.nonsense):,} answers contained no observations; `--again` asks again:")
        lines += [f"  {_turn(odd)}: {odd.reason}" for odd in report.nonsense[:NAMED]]
        lines += ["  …"] if len(report.nonsense) > NAMED else []
    match report.ended:
        case "budget":
            lines.append("The next turn does not fit the budget: `recollect extract` continues from here.")
        case "all read":
            lines.append("Every finished turn has been read.")
    return "\n".join(lines)


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[int, int, int, int], None]]:
    """Progress on a terminal: turns, observations, and the part of the budget that they used."""
    if quiet or not sys.stderr.isatty():
        yield lambda turns, tokens, budget, observations: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    words = TextColumn(
        "{task.fields[turns]:,} turns, {task.fields[observations]:,} observations, {task.completed:,.0f} tokens"
    )
    with Progress(TextColumn("Reading"), BarColumn(), words, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("extract", total=None, turns=0, observations=0)
        yield lambda turns, tokens, budget, observations: bar.update(
            task, completed=tokens, total=budget, turns=turns, observations=observations
        )

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
from recollect.label import plural
from recollect.language_model import ModelDidNotAnswer, model_name, open_model
from recollect.live import LiveRealm
from recollect.store import OutOfDate
from recollect.store.lock import exclusive
from recollect.store.memory import Memory
from recollect.surfaces.cli.realm_options import chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say

MAX_LISTED = 10  # turns that are listed one by one


@click.command("extract")
@click.option("--dry-run", is_flag=True, help="Show what would be read and its cost. Calls no model.")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="Maximum tokens to use, input and output.")
@click.option("--limit", type=click.IntRange(min=1), metavar="TURNS", help="Read at most this many turns.")
@click.option("--again", is_flag=True, help="Also read turns that this model has already read.")
@json_option
@realm_options
def command(dry_run: bool, budget: int | None, limit: int | None, again: bool, as_json: bool, **realm: object) -> None:
    """Let a model read turns and record observations.

    Reads every finished turn once, newest first. [extraction] in settings.toml names the model and its budget:
    an OpenAI-compatible service or your own command. A model reads turns only when you run this command.
    `recollect ask` sends it the excerpts that it found.

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
        error.details["report"] = _as_object(report)
        raise
    _deliver(report, as_json, _report_in_words)


def _planned(realm: LiveRealm, name: str, limits: Limits, *, quiet: bool) -> Plan:
    try:
        with closing(Memory(realm.folder)) as memory:
            extracted = memory.extracted_turns(name)
    except OutOfDate:  # there are no observations yet
        extracted = {}
    with realm.open_archive() as reader, _progress(quiet) as show:
        return plan_extraction(
            reader, extracted, name, limits, lambda plan: show(plan.turns, plan.fits_tokens, plan.budget, 0)
        )


def _extract(realm: LiveRealm, limits: Limits, report: ExtractionReport, *, quiet: bool) -> None:
    model = open_model(realm.settings.extraction, os.environ)

    def on_progress(progress: ExtractionReport) -> None:
        show(progress.turns, progress.tokens_in + progress.tokens_out, progress.budget, progress.observations)

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


def _deliver(result: Any, as_json: bool, in_words: Callable[[Any], str]) -> None:
    if as_json:
        print_json(msgspec.json.encode(_as_object(result)).decode())
    else:
        say(in_words(result))


def _as_object(result: Plan | ExtractionReport) -> dict[str, Any]:
    """The fields for JSON."""
    values = msgspec.structs.asdict(result)
    if isinstance(result, ExtractionReport):
        values["nonsense"] = [{"turn": _turn(answer), "reason": answer.reason} for answer in result.nonsense]
    return values


def _turn(answer: UnusableAnswer) -> str:
    """The turn's ID, for `recollect open`."""
    return f"turn:{answer.session.hex()}-{answer.turn}"


def _plan_in_words(plan: Plan) -> str:
    if not plan.turns:
        return f"Nothing to read for {plan.model}: it has read every finished turn."
    return (
        f"{plural(plan.turns, 'turn')} to read for {plan.model}: about {plan.tokens_in:,} tokens in, "
        f"at most {plan.tokens_out:,} out. {plan.trivial:,} more are too short to be worth reading.\n"
        f"The budget of {plan.budget:,} tokens is enough for at least {plan.fits:,} of them, the newest "
        f"({plan.fits_tokens:,} tokens). No model was called."
    )


def _report_in_words(report: ExtractionReport) -> str:
    lines = [
        f"{report.model} read {plural(report.turns, 'turn')}: {plural(report.observations, 'observation')}, "
        f"{report.tokens_in:,} tokens in, "
        f"{report.tokens_out:,} out (budget {report.budget:,})."
    ]
    if report.refused:
        lines.append(f"{report.refused:,} observations were rejected: without evidence, malformed, or too many at once.")
    if report.nonsense:
        lines.append(f"{len(report.nonsense):,} answers contained no observations; `--again` retries them:")
        lines += [f"  {_turn(answer)}: {answer.reason}" for answer in report.nonsense[:MAX_LISTED]]
        lines += ["  …"] if len(report.nonsense) > MAX_LISTED else []
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
    # 5 ms of CPU, only needed to draw progress
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

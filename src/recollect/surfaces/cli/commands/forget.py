"""recollect forget"""

import sys
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from recollect.display import one_line
from recollect.label import plural
from recollect.operations import OPERATIONS, RequestContext
from recollect.realms.forget import finish_forgetting
from recollect.surfaces.cli.output import deliver, library_answer
from recollect.surfaces.cli.realm_options import TEXT, chosen_realm, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import ago, console, plain, say, size, tilde
from recollect.surfaces.cli.short_forms import Shorten, short_forms
from recollect.surfaces.cli.step_progress import StepProgress

TITLE, PROJECT = 1, 2  # columns of the plan
LISTED = 20  # sessions and logs that are listed before the rest is counted


@click.command("forget")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=TEXT)
@click.option("--project", type=TEXT, metavar="NAME", help="Forget all sessions of this project.")
@click.option("--before", type=TEXT, metavar="WHEN", help="Forget all sessions that ended before this time.")
@click.option("--dry-run", is_flag=True, help="Show what would go. Forgets nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--finish", is_flag=True, hidden=True, help="Finish what a killed process began to forget.")
@click.option("-q", "--quiet", is_flag=True, hidden=True, help="Print nothing.")
@json_option
@realm_options
def command(
    ids: tuple[str, ...],
    project: str | None,
    before: str | None,
    dry_run: bool,
    yes: bool,
    finish: bool,
    quiet: bool,
    as_json: bool,
    **realm: Any,
) -> None:
    """Forget sessions for good. Agents' own logs stay.

    Nothing of them is left in any file of the store, and no log brings them back. Sub-agents go with their parent.

    \b
    recollect forget 3f9a --dry-run
    recollect forget --project client-x
    recollect forget --before "last year" --yes
    """
    if finish:
        finish_forgetting(chosen_realm(**realm))
        return
    chosen = {"ids": list(ids), "project": [project] if project else [], "before": before}
    arguments = {name: value for name, value in chosen.items() if value}
    if not arguments:
        raise click.UsageError('Name what to forget: an ID, --project NAME or --before WHEN. See "recollect forget --help".')
    if not dry_run and not yes and (as_json or not sys.stdin.isatty()):
        raise click.UsageError("Forgetting asks for confirmation, which needs a terminal. Add --yes, or --dry-run to look.")
    opened = realm_to_read(**realm)
    if not as_json:
        plan = library_answer(opened, "forget", {**arguments, "dry_run": True})["data"]
        with short_forms(opened) as shorten:
            _draw_plan(plan, shorten)
        if dry_run or not plan["sessions"]:
            return
        if not yes:
            click.confirm(f"Forget {_these(plan)} for good?", abort=True, err=True)
        arguments["confirm"] = plan["counts"]["sessions"]
    with StepProgress() as progress:
        reply = _run(opened, {**arguments, "dry_run": dry_run}, on_step=progress.update)
    deliver(reply, as_json=as_json, show=lambda answer: _draw_receipt(answer["data"]))


def _run(realm: Any, arguments: dict[str, Any], **options: Any) -> Any:
    return OPERATIONS["library_forget"].run(realm, arguments, RequestContext.now(has_deadline=False), **options)


def _these(plan: dict[str, Any]) -> str:
    count = plan["counts"]["sessions"]
    return "this session" if count == 1 else f"these {count:,} sessions"


def _draw_plan(plan: dict[str, Any], shorten: Shorten) -> None:
    out = console()
    if not plan["sessions"]:
        out.print("No session fits.")
        return
    table = Table.grid(padding=(0, 2), expand=out.is_terminal)
    rows = [_plan_row(session, shorten) for session in plan["sessions"][:LISTED]]
    for number, cells in enumerate(zip(*rows, strict=True)):
        width = max(cell.cell_len for cell in cells)
        is_text = number in (TITLE, PROJECT)  # only these are cut
        ratio = 3 if number == TITLE else 1
        table.add_column(no_wrap=True, **({"ratio": ratio, "max_width": width} if is_text else {"min_width": width}))
    for row in rows:
        table.add_row(*row)
    out.print(table)
    more = len(plan["sessions"]) - LISTED
    if more > 0:
        out.print(f"… and {plural(more, 'more session')}")
    out.print(f"\nThis would go: {_counted(plan['counts'])}.")
    _draw_logs(plan["logs"], "would still have")


def _plan_row(session: dict[str, Any], shorten: Shorten) -> list[Text]:
    return [
        Text(shorten(session["id"]), "blue"),
        Text(f"{'  ' * session['is_sub_agent']}{plain(one_line(session['title']))}"),
        Text(plain(session["project"] or ""), "dim"),
        Text(session["agent"], "dim"),
        Text(plural(session["events"], "event"), "dim"),
        Text(ago(session["updated_at"]), "dim"),
    ]


def _draw_receipt(receipt: dict[str, Any]) -> None:
    freed = f" {size(receipt['bytes_freed'])} freed." if receipt["bytes_freed"] else ""
    say(f"Forgot {_counted(receipt['counts'])}.{freed}")
    _draw_logs(receipt["logs"], "still has" if len(receipt["logs"]) == 1 else "still have")


def _counted(counts: dict[str, int]) -> str:
    names = {
        "sessions": "session", "turns": "turn", "events": "event", "observations": "observation", "labels": "label",
        "notes": "note",
    }  # fmt: skip
    parts = [plural(counts[name], noun) for name, noun in names.items() if counts[name]]
    if counts["sub_agents"]:
        parts[0] += f" ({plural(counts['sub_agents'], 'sub-agent')} among them)"
    return ", ".join(parts)


def _draw_logs(logs: list[str], verb: str) -> None:
    """Print which logs have the text. Recollect never writes to them."""
    if not logs:
        return
    say(f"{plural(len(logs), 'log')} of your agents {verb} the text:")
    for log in logs[:LISTED]:
        say(f"  {tilde(log)}")
    if len(logs) > LISTED:
        say(f"  … and {len(logs) - LISTED:,} more; --json lists them all")

"""recollect usage"""

from typing import Any

import click
import msgspec

from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.library.requests import GetUsage
from recollect.operations.library.short_ids import ShortIds
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.render_usage import draw_usage

SHOWN = 30  # rows for a person: a month of days, or what fits a screen


@click.command("usage", cls=FilteredCommand)
@filter_options(
    GetUsage,
    help={"by": "day, week, project, agent, model or session.", "limit": f"Rows, {{ge}} to {{le}} (default: {SHOWN})."},
    leave_out=("format",),
)
@click.option("--csv", "as_csv", is_flag=True, help="Print all rows as CSV.")
@json_option
@realm_options
def command(arguments: dict[str, Any], as_csv: bool, as_json: bool, **realm: Any) -> None:
    """Show tokens and cost by day, project, agent or model.

    Days are local. A session includes its sub-agents. Costs are those that agents recorded; others are estimated.

    \b
    recollect usage --since 7d
    recollect usage --by project --since "last month"
    recollect usage --by session model:opus* -n 10
    recollect usage --by model --csv > usage.csv
    """
    if as_csv and as_json:
        raise click.UsageError("Use either --csv or --json, not both.")
    opened = realm_to_read(**realm)
    if as_csv:
        arguments["format"] = "csv"
    elif not as_json:
        arguments.setdefault("limit", SHOWN)
    reply = OPERATIONS["library_usage"].run(opened, arguments, RequestContext.now(has_deadline=as_json))
    if reply.file is not None:
        for warning in msgspec.json.decode(reply.text)["warnings"]:
            say(f"! {warning}", err=True)
        click.echo(reply.file.text(), nl=False)
        return
    with opened.open_archive() as reader:
        deliver(reply, as_json=as_json, show=lambda answer: draw_usage(answer, ShortIds(reader).of))

"""recollect today"""

from typing import Any

import click

from recollect.operations.library.requests import ListLibrarySessions
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.freshen import no_sync_option, read_new_lines
from recollect.surfaces.cli.pager import pager_option
from recollect.surfaces.cli.period_report import Period, print_report
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read


@click.command("today", cls=FilteredCommand)
@filter_options(ListLibrarySessions, leave_out=("limit", "cursor", "sort", "facets"))
@pager_option
@no_sync_option
@json_option
@realm_options
def command(arguments: dict[str, Any], has_pager: bool, has_sync: bool, as_json: bool, **realm: Any) -> None:
    """Show what agents did today, by project.

    Each session has its outcome; each project its files, tokens and cost.

    \b
    recollect today
    recollect today --since yesterday --project webapp
    """
    opened = realm_to_read(**realm)
    read_new_lines(opened, has_sync=has_sync)
    print_report(opened, arguments, Period("today", "today"), has_pager=has_pager, as_json=as_json)

"""recollect export"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from recollect.export import FORMATS, Receipt
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.answer_file import with_content
from recollect.operations.library.export import Target
from recollect.operations.library.requests import ExportSessions
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.output import deliver
from recollect.surfaces.cli.realm_options import TEXT, json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import print_json, say
from recollect.surfaces.cli.signals import interrupt_on_signals
from recollect.surfaces.cli.step_progress import StepProgress
from recollect.surfaces.cli.written_files import whole_file

ENDINGS = {**{format.ending: name for name, format in FORMATS.items()}, ".htm": "html", ".markdown": "markdown"}
OUTPUT_HELP = "Write to this file; several sessions also to a folder."
FORMAT_HELP = "html, markdown or jsonl (default: by FILE, else html)."


@click.command("export", cls=FilteredCommand)
@click.argument("session_id", type=TEXT, metavar="[ID]", required=False)
@click.option("-q", "--query", "searched", type=TEXT, help="Instead of ID: the sessions that a search finds.")
@filter_options(ExportSessions, takes_query=False, leave_out=("format", "full"))
@click.option("--format", type=click.Choice([*FORMATS]), help=FORMAT_HELP)
@click.option("--full", is_flag=True, help="Do not shorten long outputs in HTML and Markdown.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help=OUTPUT_HELP)
@json_option
@realm_options
def command(
    session_id: str | None,
    searched: str | None,
    arguments: dict[str, Any],
    format: str | None,
    full: bool,
    output: str | None,
    as_json: bool,
    **realm: Any,
) -> None:
    """Write a session as a document: HTML, Markdown or JSONL.

    Secrets are redacted; standard error says which. An HTML document is one file that needs no network.

    \b
    recollect export last -o session.html
    recollect export 9ab2 --format markdown
    recollect export --project cli --since 7d -o ~/transcripts/
    recollect export --query "flaky test" --format jsonl
    """
    if (session_id is None) == (searched is None and not arguments):
        raise click.UsageError("Give the ID of a session, or --query or filters that choose sessions.")
    arguments |= {"format": format or _format_of(output), "full": full or None, "id": session_id, "query": searched}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    operation = OPERATIONS["library_export_session" if session_id is not None else "library_export_sessions"]
    target = None if as_json and output is None else _target(output, is_single=session_id is not None)
    interrupt_on_signals()  # a draft must not stay behind
    with StepProgress() as progress:
        reply = operation.run(
            realm_to_read(**realm),
            arguments,
            RequestContext.now(has_deadline=False),
            target=target,
            progress=lambda done, total: progress.update("Writing", done, total),
        )
    if reply.file is not None:
        print_json(with_content(reply.text.encode(), reply.file).decode())
        return
    deliver(reply, as_json=as_json, show=lambda answer: _show_receipt(answer["data"], output), typed_id=session_id)


def _format_of(output: str | None) -> str:
    """The format that a file's ending means."""
    return ENDINGS.get(Path(output).suffix.lower(), "html") if output is not None else "html"


def _target(output: str | None, *, is_single: bool) -> Target:
    if output is None:
        return Target(lambda name: _standard_output())
    path = Path(output)
    if not is_single and (path.is_dir() or output.endswith(os.sep)):
        path.mkdir(exist_ok=True)
        return Target(lambda name: whole_file(path / name), is_folder=True)
    return Target(lambda name: whole_file(path))


@contextmanager
def _standard_output() -> Iterator[Callable[[str], object]]:
    """A function that prints. The program ends when nobody reads any more, as before `| head`."""
    try:
        yield sys.stdout.write
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _show_receipt(data: dict[str, Any], output: str | None) -> None:
    """Say on standard error what was written, and what was redacted in it."""
    receipt = Receipt.of(data["receipt"])
    if output is not None:
        where = f"{len(data['files']):,} files in {output}" if "files" in data else str(output)
        say(f"Written: {where}", err=True)
    say(" ".join(receipt.sentences()), err=True)

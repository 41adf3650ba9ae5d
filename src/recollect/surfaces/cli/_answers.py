"""From an envelope to the terminal: as it is for programs, drawn for people."""

import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

USAGE_ERRORS = {"invalid_request", "invalid_id", "unsupported_event_type"}


def deliver(envelope: bytes, *, as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """Print an answer. An error keeps its exit code either way: 2 for a bad request, 1 for everything else."""
    answer = msgspec.json.decode(envelope)
    if as_json:
        click.echo(envelope.decode())
    elif "error" in answer:
        click.echo(f"recollect: {answer['error']['message']}", err=True)
    else:
        for warning in answer["warnings"]:
            click.echo(f"! {warning}", err=True)
        show(answer)
    if "error" in answer:
        sys.exit(2 if answer["error"]["code"] in USAGE_ERRORS else 1)

"""From an answer to the terminal: as it is for programs, drawn for people."""

import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

REFUSED = ("invalid_", "unsupported_", "ambiguous_")  # how the codes of usage errors begin, where they are words
BAD_REQUEST = 400


def deliver(body: bytes, *, as_json: bool, show: Callable[[Any], None]) -> None:
    """Print an answer. An error keeps its exit code either way: 2 for a bad request, 1 for everything else."""
    answer = msgspec.json.decode(body)
    error = _error(answer)
    if as_json:
        click.echo(body.decode())
    elif error is not None:
        click.echo(f"recollect: {error['message']}", err=True)
    else:
        for warning in answer.get("warnings") or ():
            click.echo(f"! {warning}", err=True)
        show(answer)
    if error is not None:
        sys.exit(2 if _is_refused(error["code"]) else 1)


def _error(answer: Any) -> dict[str, Any] | None:
    """What an answer says went wrong: some families wrap it, one is a bare code and message."""
    error: dict[str, Any] | None = answer if answer.keys() == {"code", "message"} else answer.get("error")
    return error


def _is_refused(code: str | int) -> bool:
    return code == BAD_REQUEST if isinstance(code, int) else code.startswith(REFUSED)

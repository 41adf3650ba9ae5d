"""recollect files"""

from pathlib import Path
from typing import Any

import click

from recollect.filters import split
from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from recollect.operations.ids import parse_id
from recollect.operations.library.requests import ListFiles
from recollect.operations.library.short_ids import ShortIds
from recollect.surfaces.cli.filter_options import FilteredCommand, filter_options
from recollect.surfaces.cli.output import ask, library_answer
from recollect.surfaces.cli.realm_options import json_option, realm_options, realm_to_read
from recollect.surfaces.cli.render import say
from recollect.surfaces.cli.render_files import FileSum, draw_files, draw_history, sum_by_file

PAGE = 200  # rows that are read at once
MAX_PAGES = 20  # a file may have been read hundreds of times between two others
SHOWN = 30  # files, or accesses to one file, for a person: a screen


@click.command("files", cls=FilteredCommand)
@filter_options(
    ListFiles,
    help={
        "file": "Only this file: deck.py, src/auth.ts, *.go.",
        "since": "Only touched since: 7d, yesterday, last week …",
        "until": "Only touched before this time.",
        "operation": "Only read, changed, created or deleted.",
        "limit": f"How many, {{ge}} to {{le}} (default: {SHOWN}).",
    },
)
@json_option
@realm_options
def command(arguments: dict[str, Any], as_json: bool, **realm: Any) -> None:
    """Show files that agents touched, or a file's history.

    QUERY is a path or the end of one, filters, or both. Without a path the files are listed by project, newest first.

    \b
    recollect files --since 7d
    recollect files project:cli --operation -read
    recollect files src/auth.ts
    recollect files src/auth.ts --agent codex --json
    """
    opened = realm_to_read(**realm)
    found = split(arguments.pop("query", ""))
    if filters := " ".join(term.written for term in found.terms):
        arguments["query"] = filters
    operation = "files"
    if path := found.text.strip():
        operation, arguments["path"] = "file_history", _here(opened, path)
    if as_json:
        ask(f"library_{operation}", arguments, lambda answer: None, as_json=True, realm=opened)
        return
    limit = arguments.pop("limit", SHOWN)
    with opened.open_archive() as reader:
        shorten = ShortIds(reader).of
        if path:
            answer = library_answer(opened, operation, arguments | {"limit": limit})
            _warn(answer)
            identities = {file["session"]: parse_id(file["session"], "session").key for file in answer["data"]["files"]}
            rows = {name: reader.session(key) for name, key in identities.items() if key is not None}
            draw_history(answer, {name: row for name, row in rows.items() if row is not None}, shorten)
        else:
            files, has_more = _recent_files(opened, arguments, limit)
            draw_files(files, shorten, has_more=has_more)


def _warn(answer: dict[str, Any]) -> None:
    for warning in answer["warnings"]:
        say(f"! {warning}", err=True)


def _here(realm: LiveRealm, path: str) -> str:
    """A path as it was typed; absolute if the current folder has such a file and an agent touched it."""
    absolute = Path(path).expanduser().absolute()
    if not absolute.exists() or Path(path).is_absolute():
        return path
    reply = OPERATIONS["library_file_history"].run(realm, {"path": str(absolute), "limit": 1}, RequestContext.now())
    return path if reply.is_error else str(absolute)


def _recent_files(realm: LiveRealm, arguments: dict[str, Any], limit: int) -> tuple[list[FileSum], bool]:
    """The files that were touched last, and whether there are more."""
    rows: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        answer = library_answer(realm, "files", arguments | cursor | {"limit": PAGE})
        if not rows:
            _warn(answer)
        rows += answer["data"]["files"]
        files = sum_by_file(rows)
        if answer["page"]["next"] is None or len(files) > limit:
            break
        cursor = {"cursor": answer["page"]["next"]}
    return files[:limit], len(files) > limit or answer["page"]["next"] is not None

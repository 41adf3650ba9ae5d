"""Reads new log lines before a command that shows what happens now."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import click

from recollect.errors import StoreBusy, StoreFault
from recollect.ingest import sync
from recollect.live import LiveRealm
from recollect.realms.catalog import exists
from recollect.sources import all_sources
from recollect.surfaces.cli.sync_bar import SyncBar

Function = TypeVar("Function", bound=Callable[..., Any])


def no_sync_option(function: Function) -> Function:
    text = "Do not read new log lines first."
    return click.option("--no-sync", "has_sync", flag_value=False, default=True, type=bool, help=text)(function)


def read_new_lines(realm: LiveRealm, *, has_sync: bool = True) -> None:
    """Read what agents wrote since the last sync.

    Nothing is read if another process does, if the state folder is read-only, or if the realm was never synced.
    """
    if not has_sync or not exists(realm.settings, realm.name):
        return
    with suppress(StoreBusy, StoreFault):
        if not sys.stderr.isatty():
            sync(realm.folder, realm.settings, all_sources(), os.environ)
            return
        with SyncBar() as bar:
            sync(realm.folder, realm.settings, all_sources(), os.environ, None, bar.update)

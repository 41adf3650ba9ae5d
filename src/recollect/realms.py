"""A realm is a store: one folder with its archive and its index. Everything is read and written in one."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import BadSettings, Busy, StoreFault
from recollect.index.text import TextIndex, Unusable
from recollect.settings import Settings
from recollect.store import Reader, Writer, archive_of
from recollect.store.lock import exclusive, is_held

DEFAULT = "main"  # where imported history lives
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
BEHIND = 200  # events not yet findable that are worth a warning; fewer are a moment's work
CREATED_WITHIN = 5.0  # seconds that another process may take to make the archive we want to read


class Realm:
    """A realm opened for reading, by any number of threads."""

    def __init__(self, settings: Settings, name: str = DEFAULT) -> None:
        if NAME.fullmatch(name) is None:
            raise BadSettings(f"A realm is named with letters, digits, dots, dashes and underscores, not {name!r}.")
        self.name = name
        self.settings = settings
        self.folder = settings.home / "realms" / name
        self._local = threading.local()
        self._index: TextIndex | None = None
        self._healing: subprocess.Popen[bytes] | None = None
        self._opening = threading.Lock()

    def deadline_ms(self, usual: int) -> int:
        """The time an operation has, unless this realm's config or the settings say otherwise."""
        configured = self._config().get("deadline_ms", self.settings.deadline_ms)
        return usual if configured is None else int(configured)

    def _config(self) -> dict[str, Any]:
        try:
            document = msgspec.json.decode((self.folder / "config.json").read_bytes())
        except (OSError, msgspec.DecodeError):
            return {}
        config = document.get("config", document) if isinstance(document, dict) else {}
        return config if isinstance(config, dict) else {}

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """This thread's connection to the archive; a broken one is not kept."""
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._open_reader()
        try:
            yield reader
        except StoreFault:
            self._local.reader = None
            raise
        finally:
            reader.stop_when(None)

    def _open_reader(self) -> Reader:
        path = archive_of(self.folder)
        if not path.exists():
            self._create(path)
        try:
            return Reader(path)
        except StoreFault as fault:
            if "older schema" not in str(fault):
                raise
            self._create(path)
            return Reader(path)

    def _create(self, path: Path) -> None:
        """Make the archive, or bring its schema up to date, unless whoever is writing does it anyway."""
        until = time.monotonic() + CREATED_WITHIN
        while True:
            try:
                with exclusive(self.folder):
                    Writer(path).close()
                return
            except Busy:
                if path.exists() or time.monotonic() > until:
                    return
                time.sleep(0.02)

    def text_index(self) -> TextIndex | None:
        """The text index, or None while there is none to read."""
        with self._opening:
            if self._index is None:
                try:
                    self._index = TextIndex(self.folder)
                except Unusable:
                    return None
            return self._index

    def index_failed(self) -> None:
        """A search found the index unreadable: open it anew, and if that does not help, have it rebuilt."""
        self._index = None

    def forget(self) -> None:
        """After a repair: open everything anew."""
        self._index = None
        self._local = threading.local()

    def heal_now(self) -> None:
        """Bring the index level before a single question, where nobody else does it and the caller can wait."""
        with self.reading() as reader:
            if not self.warnings(reader):
                return
        if self._healing is not None:
            self._healing.wait()

    def warnings(self, reader: Reader) -> list[str]:
        """What a searcher should know about the state of this realm; and the start of mending it."""
        last = reader.last_key()
        if last == 0:
            return ["Nothing is indexed yet. Run `recollect sync`, or wait for the first sync to finish."]
        index = self.text_index()
        if index is None or not index.is_readable():
            self._heal()
            return ["The text index is missing or damaged and is being rebuilt; results are incomplete until it is done."]
        behind = last - int(reader.meta("indexed") or 0)
        if behind:
            self._heal("--behind")
        if behind > BEHIND:
            return [f"The text index is catching up: {behind} events cannot be found yet."]
        return []

    def _heal(self, *options: str) -> None:
        """Mend the index in a process of its own, unless somebody is writing and so will do it."""
        if is_held(self.folder) or (self._healing is not None and self._healing.poll() is None):
            return
        command = [sys.executable, "-m", "recollect", "rebuild", *options, "--quiet", "--realm", self.name]
        environment = {**os.environ, "RECOLLECT_HOME": str(self.settings.home)}
        nowhere = subprocess.DEVNULL
        self._healing = subprocess.Popen(command, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)

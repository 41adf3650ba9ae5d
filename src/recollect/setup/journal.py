"""What setup changed on this machine, so that it can be undone: a list of files, and a backup of each.

Both are in the folder `setup` of the state folder.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.disk import folder_fault
from recollect.errors import StoreBusy, StoreFault
from recollect.setup.changes import Changes
from recollect.setup.files import digest, missing_folders, read, remove_empty, write
from recollect.store.lock import exclusive

FOLDER = "setup"
FILE = "journal.json"
BACKUPS = "backups"
LOCK = "setup.lock"
USER = "user"  # the scope of a user's files; that of a project's files is its path


class FileRecord(Struct, kw_only=True):
    """A file that setup created or changed."""

    path: str
    """Where it is, with links resolved."""
    agents: list[str]
    scope: str = USER
    format: str | None
    """None for a file that is wholly ours."""
    before: str | None
    """The checksum of its content before. None: it did not exist."""
    after: str
    folders: list[str] = []
    """Folders that were created for it."""
    changes: Changes = []


class Journal(Struct, kw_only=True):
    version: int = 1
    files: list[FileRecord] = []
    folders: list[str] = []
    """Folders that were created for the state folder."""

    def find(self, path: Path) -> FileRecord | None:
        return next((record for record in self.files if record.path == str(path)), None)

    def replace(self, path: Path, record: FileRecord | None) -> None:
        """Store the record of a file, or forget it."""
        self.files = [one for one in self.files if one.path != str(path)] + ([record] if record is not None else [])


class JournalFolder:
    """The folder with the journal and the backups."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.path = state / FOLDER

    def load(self) -> Journal:
        """The journal, which is empty if there is none. Raises `StoreFault` if it is damaged."""
        path = self.path / FILE
        try:
            content = read(path)
            return Journal() if content is None else msgspec.json.decode(content, type=Journal)
        except OSError as reason:
            raise folder_fault("state folder", self.path, reason) from reason
        except (msgspec.DecodeError, msgspec.ValidationError) as reason:
            raise StoreFault(
                f"{path} is damaged ({reason}). Without it, setup does not know what it changed: move it away, and remove "
                f"Recollect's entries from the agents' files by hand. Copies of the files are in {self.path / BACKUPS}."
            ) from reason

    def save(self, journal: Journal) -> None:
        """Store the journal, or delete the folder if nothing is left to undo."""
        if not journal.files:
            shutil.rmtree(self.path, ignore_errors=True)
            remove_empty([*journal.folders, *([str(self.state)] if journal.folders else [])])
            return
        self._write(self.path / FILE, msgspec.json.format(msgspec.json.encode(journal)))
        used = {record.before for record in journal.files}
        for backup in (self.path / BACKUPS).iterdir() if (self.path / BACKUPS).is_dir() else ():
            if backup.name.partition("-")[0] not in used:
                backup.unlink(missing_ok=True)

    def back_up(self, path: str, content: bytes) -> None:
        """Store a copy of a file. Does nothing if there is one."""
        backup = self._backup(path, str(digest(content)))
        if not backup.exists():
            with suppress(FileExistsError):
                backup.parent.mkdir(parents=True, mode=0o700)
            self._write(backup, content)

    def backup(self, record: FileRecord) -> bytes | None:
        """The content of a file before setup changed it, or None if the copy is lost or damaged."""
        if record.before is None:
            return None
        try:
            content = read(self._backup(record.path, record.before))
        except OSError:
            return None
        return content if digest(content) == record.before else None

    def _backup(self, path: str, checksum: str) -> Path:
        return self.path / BACKUPS / f"{checksum}-{Path(path).name}"

    def _write(self, path: Path, content: bytes) -> None:
        try:
            write(path, content, read(path))
        except OSError as reason:
            raise folder_fault("state folder", self.path, reason) from reason

    @contextmanager
    def lock(self, journal: Journal | None = None) -> Iterator[Journal]:
        """Hold the lock of setup and yield the journal. Raises `StoreBusy` if another process holds it."""
        created = [str(folder) for folder in missing_folders(self.path / LOCK)]
        try:
            with exclusive(self.path, LOCK):
                journal = self.load()
                journal.folders = journal.folders or created
                yield journal
        except StoreBusy as busy:
            raise StoreBusy("Another `recollect setup` is running. Run this again when it has finished.") from busy

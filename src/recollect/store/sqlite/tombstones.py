"""The archive's copy of the tombstones, and the cursors of forgotten logs, which name no path."""

from collections.abc import Iterable
from hashlib import blake2b

from recollect.store.jsonl_file import append_lines
from recollect.store.sqlite.database import SqliteDatabase
from recollect.store.tombstones import append_tombstones, read_tombstones, tombstone_of, tombstones_path, tombstones_size

LOADED = "tombstones"  # the meta row with the size of the file of tombstones that the archive has loaded


class Tombstones(SqliteDatabase):
    """The part of the writer that knows what was forgotten."""

    has_tombstones = False

    def load_tombstones(self) -> None:
        """Load the tombstones that the file has and the archive lacks, and write the file again if it was lost."""
        loaded, size = int(self.meta(LOADED) or 0), tombstones_size(self.path.parent)
        if size < loaded:
            tombstones_path(self.path.parent).unlink(missing_ok=True)
            stored = [one for (one,) in self._rows("SELECT hash FROM tombstone")]
            self.put_meta(LOADED, str(append_tombstones(self.path.parent, stored)))
        elif size > loaded:
            with self.transaction():
                self._insert_tombstones(read_tombstones(self.path.parent, loaded))
                self.put_meta(LOADED, str(size))
        if self._one("SELECT 1 FROM tombstone LIMIT 1") is not None:
            self._set_has_tombstones()

    def _set_has_tombstones(self) -> None:
        """Note that there are tombstones. From now on what is deleted is also overwritten, such as a path in a cursor."""
        self.has_tombstones = True
        self._rows("PRAGMA secure_delete = ON")

    def put_tombstones(self, ids: Iterable[bytes]) -> None:
        """Never store these sessions and events again. Call it inside a transaction."""
        ids = set(ids)
        hashes = [tombstone_of(identity) for identity in ids - self.forgotten(ids)]
        if hashes:
            size = append_tombstones(self.path.parent, hashes)
            self._insert_tombstones(hashes)
            self.put_meta(LOADED, str(size))
            self._set_has_tombstones()

    def drop_uncommitted_tombstones(self) -> None:
        """Remove the tombstones of a transaction that was rolled back from the file."""
        append_lines(tombstones_path(self.path.parent), int(self.meta(LOADED) or 0), [])

    def _insert_tombstones(self, hashes: Iterable[int]) -> None:
        self.db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?)", [(one,) for one in hashes])

    def is_forgotten(self, identity: bytes) -> bool:
        """Whether a session or an event was forgotten."""
        return bool(self.forgotten([identity]))

    def forgotten(self, ids: Iterable[bytes]) -> set[bytes]:
        """Those of these ids that were forgotten."""
        if not self.has_tombstones:
            return set()
        hashes = {tombstone_of(identity): identity for identity in ids}
        found = self._rows_in("SELECT hash FROM tombstone WHERE hash IN", hashes)
        return {hashes[one] for (one,) in found}


def hidden_path(path: str) -> str:
    """What the cursor of a forgotten log has in place of its path."""
    return f"forgotten:{blake2b(path.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"

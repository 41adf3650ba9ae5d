"""The format of a backup: a tar file, compressed with zstd. Its first file describes it, its last file has all checksums.

Between them are `settings.toml` and the files of each realm. Indexes are left out, because they can be built again.
"""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import msgspec
import zstandard
from msgspec import Struct

from recollect.errors import BadRequest, BadSettings, StoreFault
from recollect.folders import SETTINGS_FILE
from recollect.realms import config, manifest
from recollect.realms.names import check_name

FORMAT = 1  # a higher number was written by a newer version
LEVEL = 3  # of compression; most of an archive is compressed already
PART = 1 << 20  # bytes that are copied at once
MAX_DESCRIPTION = 64 << 20  # bytes of the first and the last file: a description of a million transcripts
HEADER, CHECKSUMS = "recollect-backup.json", "checksums.json"
REALMS = "realms"
TRANSCRIPT = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl")
REALM_FILES = {
    manifest.FILE,
    config.FILE,
    "archive.db",
    "memory.db",
    "live/live.db",
    "memory.ndjson",
    "forgotten",
}
"""What a backup has of a realm, beside its transcripts."""


class BackupHeader(Struct, frozen=True, kw_only=True):
    """What a backup is. `bytes` is the size of its files when they are restored."""

    format: int
    program: str
    created_at: str
    realms: list[str]
    bytes: int


class FileChecksum(Struct, frozen=True):
    size: int
    sha256: str


Checksums = dict[str, FileChecksum]
"""The checksum of each file of a backup, by its name."""


class BackupWriter:
    """Writes the files of a backup."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._checksums: Checksums = {}

    def add_file(self, name: str, path: Path, size: int) -> None:
        """Add the first `size` bytes of a file. It may grow meanwhile."""
        with path.open("rb") as file:
            self._add(name, size, _Hashed(file, size))

    def add_bytes(self, name: str, content: bytes) -> None:
        self._add(name, len(content), _Hashed(BytesIO(content), len(content)))

    def _add(self, name: str, size: int, content: "_Hashed") -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        self._tar.addfile(entry, content)
        self._checksums[name] = FileChecksum(size, content.digest.hexdigest())

    def finish(self) -> None:
        """Add the checksums. A backup without them is incomplete."""
        self.add_bytes(CHECKSUMS, msgspec.json.encode(self._checksums))


class _Hashed:
    """The first bytes of a stream, with their checksum."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self.digest = hashlib.sha256()
        self._stream, self._remaining = stream, size

    def read(self, count: int = -1) -> bytes:
        part = self._stream.read(self._remaining if count < 0 else min(count, self._remaining))
        self.digest.update(part)
        self._remaining -= len(part)
        return part


@contextmanager
def write_backup(path: Path, header: BackupHeader) -> Iterator[BackupWriter]:
    """Write a new backup file."""
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    with (
        path.open("xb") as file,
        compressor.stream_writer(file, closefd=False) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, bufsize=PART) as tar,
    ):
        writer = BackupWriter(tar)
        writer.add_bytes(HEADER, msgspec.json.format(msgspec.json.encode(header)))
        yield writer
        writer.finish()


# ---- reading


class BackupReader:
    """Reads a backup once, from its start to its end."""

    def __init__(self, path: Path, tar: tarfile.TarFile) -> None:
        self._path = path
        self._members = iter(tar)
        self._tar = tar
        self._read: Checksums = {}
        first = next(self._members, None)
        if first is None or first.name != HEADER or first.size > MAX_DESCRIPTION:
            raise BadRequest(f"{path} is not a backup of Recollect. Nothing was changed.")
        self.header = self._decode_header(self._content(first))

    def _decode_header(self, content: bytes) -> BackupHeader:
        version = msgspec.json.decode(content, type=dict[str, Any]).get("format")
        if isinstance(version, int) and version > FORMAT:
            raise BadRequest(
                f"{self._path} was made by a newer Recollect (backup format {version}, this one knows {FORMAT})."
                " Upgrade Recollect, then restore it. Nothing was changed."
            )
        return msgspec.json.decode(content, type=BackupHeader)

    def extract_to(self, folder: Path, wanted: Callable[[str], bool], on_bytes: Callable[[int], None]) -> None:
        """Write the wanted files below a folder and check all of them. Only names of `REALM_FILES` are ever written."""
        done = 0
        checksums: Checksums | None = None
        for member in self._members:
            if member.name == CHECKSUMS and member.size <= MAX_DESCRIPTION:
                checksums = msgspec.json.decode(self._content(member), type=Checksums)
                continue
            if not member.isreg() or not is_backup_file(member.name):
                raise damaged(self._path, f"it has a file {member.name!r}")
            self._extract(member, folder / member.name if wanted(member.name) else None)
            done += member.size
            on_bytes(done)
        self._read.pop(CHECKSUMS, None)
        if checksums is None:
            raise damaged(self._path, "its end is missing")
        if checksums != self._read:
            raise damaged(self._path, "its checksums are wrong")

    def _extract(self, member: tarfile.TarInfo, target: Path | None) -> None:
        digest, stream = hashlib.sha256(), self._tar.extractfile(member)
        assert stream is not None
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with target.open("xb") if target is not None else BytesIO() as file:
            while part := stream.read(PART):
                digest.update(part)
                if target is not None:
                    file.write(part)
        self._read[member.name] = FileChecksum(member.size, digest.hexdigest())

    def _content(self, member: tarfile.TarInfo) -> bytes:
        stream = self._tar.extractfile(member)
        content = stream.read() if stream is not None else b""
        self._read[member.name] = FileChecksum(len(content), hashlib.sha256(content).hexdigest())
        return content


@contextmanager
def read_backup(path: Path) -> Iterator[BackupReader]:
    """Read a backup. Raises `BadRequest` if it is not one, or not intact."""
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            try:
                with tarfile.open(fileobj=stream, mode="r|", bufsize=PART) as tar:
                    yield BackupReader(path, tar)
            except (zstandard.ZstdError, tarfile.TarError, EOFError, msgspec.DecodeError) as reason:
                raise damaged(path, str(reason)) from reason
    except FileNotFoundError as reason:
        raise BadRequest(f"There is no file {path}.") from reason
    except IsADirectoryError as reason:
        raise BadRequest(f"{path} is a folder, not a backup.") from reason
    except PermissionError as reason:
        raise StoreFault(f"{reason.filename}: {reason.strerror}. Nothing was changed.") from reason


def damaged(path: Path, reason: str) -> BadRequest:
    return BadRequest(f"{path} is not a backup of Recollect, or it is damaged: {reason}. Nothing was changed.")


def is_backup_file(name: str) -> bool:
    """Whether a backup may contain a file of this name."""
    if name == SETTINGS_FILE:
        return True
    folder, _, rest = name.partition("/")
    realm, _, file = rest.partition("/")
    try:
        check_name(realm)
    except BadSettings:
        return False
    return folder == REALMS and (file in REALM_FILES or TRANSCRIPT.fullmatch(file) is not None)


def realm_of(name: str) -> str | None:
    """The realm that a file of a backup belongs to; None for the settings."""
    return name.split("/")[1] if name.startswith(f"{REALMS}/") else None

"""The manifest of a realm: its id, backend and origin. Written once; concurrent creators agree on one."""

import os
import tempfile
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.disk import READ_ONLY, folder_fault
from recollect.errors import BadSettings, StoreFault
from recollect.model import now_ms, timestamp

FILE = "realm_manifest.json"
FORMAT = 1  # a higher number was written by a newer version


class Backend(StrEnum):
    SQLITE = "sqlite"
    JSONL = "jsonl"
    MEMORY = "memory"


class Origin(StrEnum):
    GENERATED = "generated"
    WORKSPACE = "workspace"
    EXPLICIT = "explicit"


class Manifest(Struct, frozen=True, kw_only=True):
    realm_id: str
    backend: Backend
    origin: Origin
    created_at: str
    manifest_format: int = FORMAT


def read(folder: Path) -> Manifest | None:
    """The manifest of a realm; None if there is none yet."""
    path = folder / FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as reason:
        raise StoreFault(f"The manifest {path} cannot be read: {reason.strerror}.") from reason
    try:
        version = msgspec.json.decode(content, type=dict).get("manifest_format", 0)
        if isinstance(version, int) and version > FORMAT:
            raise BadSettings(
                f"The realm in {folder} was made by a newer Recollect (manifest {version}, this one knows {FORMAT})."
            )
        return msgspec.json.decode(content, type=Manifest)
    except (ValueError, RecursionError) as reason:
        raise BadSettings(f"The manifest {path} cannot be understood: {reason}.") from reason


def read_or_create(folder: Path, name: str, backend: Backend | None, origin: Origin) -> Manifest:
    """The manifest of a realm, created if there is none. Raises if its backend is not the requested one."""
    manifest = read(folder) or _create(folder, Manifest(
        realm_id=name, backend=backend or Backend.SQLITE, origin=origin, created_at=timestamp(now_ms())
    ))  # fmt: skip
    if backend is not None and backend is not manifest.backend:
        raise BadSettings(f"realm backend mismatch for '{name}': requested '{backend}', existing '{manifest.backend}'")
    return manifest


def _create(folder: Path, manifest: Manifest) -> Manifest:
    """Write a manifest atomically. If another process was first, return its manifest."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".manifest-") as draft:
            draft.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
            draft.flush()
            os.fsync(draft.fileno())
            os.link(draft.name, folder / FILE)
    except FileExistsError:
        return read(folder) or manifest
    except OSError as reason:
        if reason.errno in READ_ONLY and folder.is_dir():
            return manifest  # a realm of an early version without a manifest can be read
        raise folder_fault("realm folder", folder, reason) from reason
    return manifest

"""The file that names the sessions that are being forgotten, until nothing of them is left."""

from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.disk import folder_fault
from recollect.errors import StoreFault
from recollect.store.jsonl_file import replace_lines

FILE = "forgetting.json"


class Forgetting(Struct, frozen=True):
    """Sessions that are being forgotten: their ids in hexadecimal digits, and the keys that indexes have."""

    sessions: list[str]
    keys: list[int]

    def ids(self) -> list[bytes]:
        return [bytes.fromhex(session) for session in self.sessions]


def is_forgetting_unfinished(realm: Path) -> bool:
    """Whether a process forgets sessions now, or ended while it did."""
    return (realm / FILE).exists()


def write_forgetting(realm: Path, forgetting: Forgetting) -> None:
    replace_lines(realm / FILE, [msgspec.json.encode(forgetting)])


def read_forgetting(realm: Path) -> Forgetting | None:
    path = realm / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Forgetting)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as reason:
        raise StoreFault(f"The file {path} cannot be understood: {reason}.") from reason
    except OSError as reason:
        raise folder_fault("file", path, reason) from reason


def remove_forgetting(realm: Path) -> None:
    (realm / FILE).unlink(missing_ok=True)

"""Checks that a command fits into the address space that `ulimit -v` allows.

The libraries behind search abort the process when an allocation fails, so a command that would not fit is refused before
they are imported.
"""

import resource
from pathlib import Path

from recollect.errors import StoreFault

MB = 1 << 20
READING = 80 * MB  # 60 measured for `list`, in a small realm
SEARCHING = 256 * MB  # 223 measured for `search`: text index, vectors and model
WRITING = 352 * MB  # 239 measured for `sync`, 270 for `run`, and 96 for the buffer of the text index
NEEDS = {
    **dict.fromkeys(("list", "open", "trace", "journey", "session", "realm", "config", "sources", "status"), READING),
    **dict.fromkeys(("sync", "watch", "distil", "rebuild", "doctor", "extract", "run", "serve"), WRITING),
}
MAPPED = ("text-*", "pieces-*", "vectors-*")  # folders of a realm whose files are mapped into memory


def check_address_space(command: str, home: Path) -> None:
    """Refuse a command that needs more than `ulimit -v` allows. Under such a limit, also make the allocator reserve less."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed == resource.RLIM_INFINITY:
        return
    needed = NEEDS.get(command, SEARCHING) + _largest_index(home / "realms")
    if needed > allowed:
        raise StoreFault(
            f"`ulimit -v` allows {allowed // MB} MB of memory, and `recollect {command}` needs {-(-needed // MB)} MB."
            " Raise the limit with `ulimit -v`."
        )
    from recollect.surfaces.transport.allocator import use_one_arena  # `ctypes` takes 10 ms, and limits are rare

    use_one_arena()


def _largest_index(realms: Path) -> int:
    """The size of all indexes in the realm with the largest ones."""
    return max((_index_bytes(realm) for realm in realms.glob("*")), default=0)


def _index_bytes(realm: Path) -> int:
    return sum(_bytes(path) for pattern in MAPPED for path in realm.glob(f"{pattern}/*"))


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # a merge has removed it
        return 0

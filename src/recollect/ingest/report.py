"""What a sync did."""

from collections.abc import Callable

from msgspec import Struct


class SyncReport(Struct, kw_only=True):
    """What a sync did. `bytes` and `lines` count what was read, not what exists."""

    files: int = 0
    files_read: int = 0
    bytes: int = 0
    bytes_total: int = 0
    lines: int = 0
    events: int = 0
    sessions: int = 0
    problems: int = 0
    seconds: float = 0.0
    unreadable: list[str] = []
    unrecognised: list[str] = []  # named files, and files in named folders, that are not logs of a known agent
    warnings: list[str] = []
    recognised: dict[str, str] = {}  # named files, each with the source that it was recognised as


OnProgress = Callable[[SyncReport], None]

"""What a sync did."""

from collections.abc import Callable

from msgspec import Struct


class Report(Struct, kw_only=True):
    """What a sync did. `bytes` and `lines` are what was read, not what there is."""

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
    unrecognised: list[str] = []  # named, or in a folder that was named, but of no agent that we know
    warnings: list[str] = []
    recognised: dict[str, str] = {}  # of which source a named file was taken to be


OnProgress = Callable[[Report], None]

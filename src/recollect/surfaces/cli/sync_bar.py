"""Shows how far a sync is, on a terminal."""

from typing import Self

from recollect.ingest import SyncReport
from recollect.label import plural


class SyncBar:
    """Progress on a terminal: files, megabytes, events per second, time left."""

    def __init__(self) -> None:
        # 5 ms of CPU, only needed to draw progress
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("Reading"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("sync", total=None, counts="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, report: SyncReport) -> None:
        elapsed = self._progress.tasks[0].elapsed or 1e-9
        self._progress.update(
            self._task,
            total=report.bytes_total,
            completed=report.bytes,
            counts=", ".join(
                [
                    plural(report.files_read, "file"),
                    plural(report.events, "event"),
                    f"{report.events / elapsed:,.0f} events/s",
                ]
            ),
        )

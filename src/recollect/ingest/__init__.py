"""Steps 1 to 4 in one pass: read new log entries, fold them, store them, index them."""

from recollect.ingest.report import OnProgress, SyncReport
from recollect.ingest.sync import Ingester, publish, sync

__all__ = ["Ingester", "OnProgress", "SyncReport", "publish", "sync"]

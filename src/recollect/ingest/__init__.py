"""Steps 1 to 4 in one pass: read what agents wrote since the last sync, fold it, store it, index it."""

from recollect.ingest.report import OnProgress, SyncReport
from recollect.ingest.sync import Ingester, publish, sync

__all__ = ["Ingester", "OnProgress", "SyncReport", "publish", "sync"]

"""Semantic search in a realm: its embedding model and its vector indexes, shared by all threads."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from recollect.embed import Embedder, EmbedderUnavailable, open_embedder
from recollect.search import Mode, SemanticIndex
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.index.vectors import VectorIndex

RETRY_S = 30.0  # seconds until a model that failed is opened again

Answer = TypeVar("Answer")


class SemanticSearch:
    """The embedding model, opened on first use, and the vectors of events and observations."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._fault: EmbedderUnavailable | None = None
        self._retry_at = 0.0
        self._vectors: dict[str, VectorIndex] = {}  # of "events" and of "observations"

    @property
    def fault(self) -> EmbedderUnavailable | None:
        """Why the embedding model cannot be used; None if it works or was not needed yet."""
        return self._fault

    def hybrid_search(self, items: str, mode: Mode, search: Callable[[SemanticIndex | None], Answer]) -> Answer:
        """Run `search` with vectors if the mode wants them; without vectors if the embedding model fails."""
        semantic = self.vector_search(items) if mode != "text" else None
        try:
            return search(semantic)
        except EmbedderUnavailable as reason:
            self._embedder, self._fault, self._retry_at = None, reason, time.monotonic() + RETRY_S
            return search(None)

    def vector_search(self, items: str) -> SemanticIndex | None:
        """The vectors of "events" or "observations" with their embedding model; None if they cannot be used."""
        if not any(self._folder.glob(f"vectors-{items}-*")):  # checked first: the model takes long to load
            return None
        if (embedder := self.embedder()) is None:
            return None
        from recollect.index import vectors  # 30 ms of CPU to import; not needed without vectors

        try:
            with self._lock:
                opened = self._vectors.get(items)
                index = opened.reopened() if opened is not None else vectors.VectorIndex(self._folder, items)
                self._vectors[items] = index
        except vectors.VectorsUnusable:
            self._vectors.pop(items, None)
            return None
        return SemanticIndex(index, embedder) if index.head.model == embedder.name else None

    def embedder(self) -> Embedder | None:
        """The embedding model of the settings, opened once; None if it cannot be used."""
        with self._lock:
            if self._embedder is None and (self._fault is None or time.monotonic() > self._retry_at):
                self._retry_at = time.monotonic() + RETRY_S
                try:
                    self._embedder, self._fault = open_embedder(self._settings.embedding, os.environ), None
                except EmbedderUnavailable as reason:
                    self._fault = reason
            return self._embedder

    def reopen(self) -> None:
        """Open the vector indexes again on their next use."""
        self._vectors = {}

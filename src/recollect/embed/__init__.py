"""Embedding models: a text becomes a vector.

The default model is part of this package and needs no download, network or key.
An error of a model is an `EmbedderUnavailable`, and search continues without it.
"""

from collections.abc import Mapping

from recollect.embed.embedder import LONGEST, Embedder, EmbedderUnavailable
from recollect.settings import EmbeddingSettings

__all__ = ["LONGEST", "Embedder", "EmbedderUnavailable", "open_embedder"]

_opened: dict[EmbeddingSettings, Embedder] = {}


def open_embedder(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """The model of these settings, opened once per process; None if the settings choose no model."""
    if settings not in _opened:
        model = _open(settings, env)
        if model is None:
            return None
        _opened[settings] = model
    return _opened[settings]


def _open(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """Imports only the chosen model: numpy alone takes 60 to 190 ms, and commands such as `list` do not need it."""
    match settings.model:
        case "static":
            from recollect.embed.static import StaticModel

            return StaticModel()
        case "onnx":
            from recollect.embed.onnx import OnnxModel

            return OnnxModel(settings)
        case "endpoint":
            from recollect.embed.endpoint import EndpointModel

            return EndpointModel(settings, env)
        case "none":
            return None

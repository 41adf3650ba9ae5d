"""Embedding models, which turn a text into a vector.

The default model is part of this package and needs no download, network or key.
If a model fails, it raises `EmbedderUnavailable`, and search continues without it.
"""

from collections.abc import Mapping

from recollect.embed.embedder import MAX_CHARACTERS, Embedder, EmbedderUnavailable
from recollect.settings import EmbeddingSettings

__all__ = ["MAX_CHARACTERS", "Embedder", "EmbedderUnavailable", "open_embedder"]

_opened: dict[EmbeddingSettings, Embedder] = {}


def open_embedder(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """The model of these settings, opened once per process; None if the settings disable it."""
    if settings not in _opened:
        model = _open(settings, env)
        if model is None:
            return None
        _opened[settings] = model
    return _opened[settings]


def _open(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """Open the model. Only its module is imported: numpy alone takes 60 to 190 ms, and `list` does not need it."""
    match settings.model:
        case "static":
            from recollect.embed.static import StaticModel  # 40 ms of CPU, only needed by this model

            return StaticModel()
        case "onnx":
            from recollect.embed.onnx import OnnxModel  # 37 ms of CPU, only needed by this model

            return OnnxModel(settings)
        case "endpoint":
            from recollect.embed.endpoint import EndpointModel  # 53 ms of CPU, only needed by this model

            return EndpointModel(settings, env)
        case "none":
            return None

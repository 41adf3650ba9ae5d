"""Meaning: a text becomes a vector, and texts that mean the same lie close to each other.

A model is anything with this little interface. The default one lies in an installed package: no download, no network, no
key. Models are opened lazily, by those who need them; what is wrong with one is an `Unavailable`, and search goes on
without it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ModelFault
from recollect.settings import EmbeddingSettings

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

LONGEST = 2_000  # characters of a text that are embedded: what it is about is said by then


class Unavailable(ModelFault):
    """The model cannot be used as it is. The sentence says what to do about it."""


class Embedder(Protocol):
    """A model. Its name says which vectors may be compared with each other."""

    name: str
    dimensions: int
    floor: float  # the likeness, of two texts at random, that hardly any pair exceeds

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """A row of length 1 for every text; of 0 for one that says nothing to this model."""
        ...

    def knows(self, word: str) -> bool:
        """Whether a word has a meaning to this model, rather than being guessed at from its letters."""
        ...

    def is_compound(self, word: str) -> bool:
        """Whether this model only knows the parts of a word: `webhook` is one, and so is any that somebody makes up."""
        ...

    def embed_question(self, text: str, weight: Callable[[str], float]) -> "Vectors | None":
        """One row for a question; None where it says nothing to this model. `weight` says how rare a word is."""
        ...


_opened: dict[EmbeddingSettings, Embedder] = {}


def open_embedder(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """The model of these settings, opened once in a process; None where there is to be none."""
    if settings not in _opened:
        model = _open(settings, env)
        if model is None:
            return None
        _opened[settings] = model
    return _opened[settings]


def _open(settings: EmbeddingSettings, env: Mapping[str, str]) -> Embedder | None:
    """Heavy imports happen here and not before."""
    match settings.model:
        case "static":
            from recollect.embed._static import StaticModel

            return StaticModel()
        case "onnx":
            from recollect.embed._onnx import OnnxModel

            return OnnxModel(settings)
        case "endpoint":
            from recollect.embed._endpoint import EndpointModel

            return EndpointModel(settings, env)
        case "none":
            return None

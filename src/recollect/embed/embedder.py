"""The interface of embedding models. Texts with similar meanings get similar vectors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ModelFault

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

MAX_CHARACTERS = 2_000  # of a text that are embedded: its beginning shows its subject


class EmbedderUnavailable(ModelFault):
    """The model cannot be used. The message says what to do; search continues without it."""


class Embedder(Protocol):
    """An embedding model. Vectors of models with the same name can be compared."""

    name: str
    dimensions: int
    floor: float  # the similarity that very few pairs of random texts exceed

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """One row of length 1 per text; zeros for a text that the model does not understand."""
        ...

    def knows(self, word: str) -> bool:
        """Whether the model has learnt this word, and not only its letters."""
        ...

    def is_compound(self, word: str) -> bool:
        """Whether the model only knows the parts of a word, such as `webhook` or an invented compound."""
        ...

    def embed_question(self, text: str, weight: Callable[[str], float]) -> "Vectors | None":
        """One row for a question; None if the model does not understand it. `weight` returns the rarity of a word."""
        ...

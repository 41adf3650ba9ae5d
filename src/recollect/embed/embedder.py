"""What an embedding model is: a text becomes a vector, and texts of similar meaning have similar vectors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ModelFault

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

LONGEST = 2_000  # characters of a text that are embedded: its subject is clear by then


class EmbedderUnavailable(ModelFault):
    """The model cannot be used. The message says what to do; search continues without it."""


class Embedder(Protocol):
    """An embedding model. Vectors can be compared if the names of their models are equal."""

    name: str
    dimensions: int
    floor: float  # the similarity that hardly any two random texts exceed

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """One row of length 1 per text; zeros for a text without meaning to this model."""
        ...

    def knows(self, word: str) -> bool:
        """Whether the model has learnt this word, rather than only its letters."""
        ...

    def is_compound(self, word: str) -> bool:
        """Whether the model only knows the parts of a word: `webhook`, or any made-up compound."""
        ...

    def embed_question(self, text: str, weight: Callable[[str], float]) -> "Vectors | None":
        """One row for a question; None if it has no meaning to this model. `weight` is the rarity of a word."""
        ...

"""The base class of models that embed sentences. A question is embedded like any other text, and every word is known."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from recollect.index.arrays import np, npt

Matrix = npt.NDArray[np.float32]


class SentenceModel(ABC):
    """A model that only needs to implement `embed`."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Matrix: ...

    def knows(self, word: str) -> bool:
        return True  # such models infer a word from its parts

    def is_compound(self, word: str) -> bool:
        return False

    def embed_question(self, text: str, weight: Callable[[str], float]) -> Matrix | None:
        row: Matrix = self.embed([text])[0]
        return row if row.any() else None

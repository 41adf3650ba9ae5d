"""The base of models that read whole sentences: a question is a text like any other, and every word is known."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from recollect.index.arrays import np, npt

Matrix = npt.NDArray[np.float32]


class SentenceModel(ABC):
    """A model that only has to embed texts."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Matrix: ...

    def knows(self, word: str) -> bool:
        return True  # such models learn words from their parts

    def is_compound(self, word: str) -> bool:
        return False

    def embed_question(self, text: str, weight: Callable[[str], float]) -> Matrix | None:
        row: Matrix = self.embed([text])[0]
        return row if row.any() else None

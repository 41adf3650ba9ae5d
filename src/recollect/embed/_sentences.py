"""What models that read whole sentences have in common: a question is a text, and every word means something."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from recollect.index.arrays import np, npt

Matrix = npt.NDArray[np.float32]


class SentenceModel(ABC):
    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Matrix: ...

    def knows(self, word: str) -> bool:
        return True  # its pieces are its own affair

    def is_compound(self, word: str) -> bool:
        return False

    def embed_question(self, text: str, weight: Callable[[str], float]) -> Matrix | None:
        row: Matrix = self.embed([text])[0]
        return row if row.any() else None

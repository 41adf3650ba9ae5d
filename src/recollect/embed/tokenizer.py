"""Byte-pair encoding of single words, with the vocabulary of Llama 2.

The ids equal those of the `tokenizers` package with WordLlama's configuration; a test compares them.
That package is not needed at run time: it has 10 dependencies, and opening it took eight times as long.
"""

from itertools import pairwise
from pathlib import Path

import msgspec

START = "▁"  # stands for the space before a word
FIRST_BYTE = 3  # the id of `<0x00>`: characters outside the vocabulary are encoded as their UTF-8 bytes
FIRST_MERGED = 259  # pieces below this id are marks and bytes; no merge results in one
ID_BITS = 16  # bits of an id; a rank consists of three ids
NO_MERGE = 1 << 3 * ID_BITS  # the rank of two pieces that do not merge
PIECES = msgspec.json.Decoder(list[str])


class WordTokenizer:
    """The vocabulary, and the merges that its order implies: a piece with a lower id is merged first."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError or msgspec.MsgspecError for a file that is not a vocabulary."""
        self._pieces = PIECES.decode(path.read_bytes())
        self._ids = {piece: index for index, piece in enumerate(self._pieces)}
        if START not in self._ids or len(self._ids) != len(self._pieces) or len(self._ids) > 1 << ID_BITS:
            raise ValueError("not a vocabulary of distinct pieces")

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces. The word must not have spaces. An empty word has no pieces."""
        word_id = self._ids.get(START + word, 0)
        if not word or word_id >= FIRST_MERGED:  # a word that is a piece always merges to that piece: a test tries each
            return [word_id] if word else []
        ids: list[int] = []
        for character in START + word:
            piece = self._ids.get(character)
            ids += [piece] if piece is not None else [FIRST_BYTE + byte for byte in character.encode("utf-8", "replace")]
        ranks = [self._rank(left, right) for left, right in pairwise(ids)]
        while ranks and (best := min(ranks)) != NO_MERGE:
            index = ranks.index(best)  # the leftmost of equal ones
            ids[index : index + 2] = [best >> 2 * ID_BITS]
            del ranks[index]
            if index < len(ranks):
                ranks[index] = self._rank(ids[index], ids[index + 1])
            if index:
                ranks[index - 1] = self._rank(ids[index - 1], ids[index])
        return ids

    def pieces(self, word: str) -> list[str]:
        """The texts of a word's pieces."""
        return [self._pieces[piece] for piece in self.encode(word)]

    def _rank(self, left: int, right: int) -> int:
        """The rank of a merge, lowest first: the ids of the merged, the left and the right piece, in one number."""
        merged = self._ids.get(self._pieces[left] + self._pieces[right], 0)
        return merged << 2 * ID_BITS | left << ID_BITS | right if merged >= FIRST_MERGED else NO_MERGE

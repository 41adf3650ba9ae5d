"""Byte-pair encoding of single words, with the vocabulary of Llama 2.

The ids are those of the `tokenizers` package with WordLlama's configuration; a test compares them.
That package is not needed at run time: it brings 10 others, and opening it took eight times as long.
"""

from itertools import pairwise
from pathlib import Path

import msgspec

START = "▁"  # stands for the space before a word
FIRST_BYTE = 3  # the id of `<0x00>`: characters outside the vocabulary are encoded as their UTF-8 bytes
FIRST_MERGED = 259  # pieces below it are marks and bytes; no merge results in one
ID_BITS = 16  # of an id: three of them make a rank
NEVER = 1 << 3 * ID_BITS  # the rank of two pieces that do not merge
PIECES = msgspec.json.Decoder(list[str])


class WordTokenizer:
    """The vocabulary, and the merges that its order implies: a piece with a lower id is merged first."""

    def __init__(self, path: Path) -> None:
        """Raises OSError, ValueError or msgspec.MsgspecError for a file that is not a vocabulary."""
        self._pieces = PIECES.decode(path.read_bytes())
        self._ids = {piece: place for place, piece in enumerate(self._pieces)}
        if START not in self._ids or len(self._ids) != len(self._pieces) or len(self._ids) > 1 << ID_BITS:
            raise ValueError("not a vocabulary of distinct pieces")

    def __len__(self) -> int:
        return len(self._pieces)

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces. A word has no spaces; the empty word has no pieces."""
        whole = self._ids.get(START + word, 0)
        if not word or whole >= FIRST_MERGED:  # merging always ends at a piece that is the whole word: a test tries each
            return [whole] if word else []
        ids: list[int] = []
        for character in START + word:
            known = self._ids.get(character)
            ids += [known] if known is not None else [FIRST_BYTE + byte for byte in character.encode("utf-8", "replace")]
        ranks = [self._rank(left, right) for left, right in pairwise(ids)]
        while ranks and (best := min(ranks)) != NEVER:
            place = ranks.index(best)  # the leftmost of equal ones
            ids[place : place + 2] = [best >> 2 * ID_BITS]
            del ranks[place]
            if place < len(ranks):
                ranks[place] = self._rank(ids[place], ids[place + 1])
            if place:
                ranks[place - 1] = self._rank(ids[place - 1], ids[place])
        return ids

    def pieces(self, word: str) -> list[str]:
        """The texts of a word's pieces."""
        return [self._pieces[place] for place in self.encode(word)]

    def _rank(self, left: int, right: int) -> int:
        """When two neighbours are merged, lowest first: by the ids of the merged piece, the left and the right one."""
        merged = self._ids.get(self._pieces[left] + self._pieces[right], 0)
        return merged << 2 * ID_BITS | left << ID_BITS | right if merged >= FIRST_MERGED else NEVER

"""Finds every place of many literals in one pass over a text.

A gram is four characters of a literal. A table holds the hashes of all grams. Four shifted views of the text as numbers of
32 bits are hashed the same way and looked up. A pass takes 1.5 ns a character for any number of literals; a search for one
literal takes 0.5 ns.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from recollect.redact.values import PAIRS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

GRAM = 4  # characters
MULTIPLIERS = 2_654_435_761, 2_246_822_519  # odd numbers, for hashing 32-bit numbers by their upper half
BLOCK = 1 << 18  # characters: the views of a block stay in a processor's cache
SHIFT = 14  # what is left of 32 bits is a place in the table, which a processor's cache holds
SMALL = 600  # characters: a loop over a shorter text takes less time than the calls of numpy
FOLD = bytes(code | 0x20 for code in range(256))  # letters in lower case; other characters into others, always the same


class Found(NamedTuple):
    """A secret in a text: where, and by which rule. Without a rule: what was looked at and is not a secret."""

    start: int
    end: int
    rule: str = ""


Find = Callable[[str, int], Iterator[Found]]  # what is found in a text by the literal at a place


class Literal(NamedTuple):
    """A literal that a secret has in it or before it, and how to look for the secret where the literal is."""

    text: str  # of at least three characters
    find: Find
    rank: int = 0  # where two secrets overlap, the lower rank names them
    any_case: bool = False


class Literals:
    """A set of literals that is looked for at once."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self._by_gram: dict[bytes, list[tuple[int, int, bytes, Literal]]] = defaultdict(list)
        for number, literal in enumerate(literals):
            folded = literal.text.encode().translate(FOLD)
            offset = _rarest(literal.text.lower())
            self._by_gram[folded[offset : offset + GRAM]].append((number, offset, folded, literal))
        self._tables: list[npt.NDArray[np.bool_]] = []

    def found(self, text: str) -> Iterator[tuple[int, Found]]:
        """Every secret that begins at or behind one of the literals, with the rank of its literal.

        A literal inside of what the same literal found before is skipped. So the time is linear in the text's length.
        """
        ends: dict[int, int] = {}
        folded = text.encode("latin-1", "replace").translate(FOLD)
        places = self._places(folded) if len(folded) > SMALL else range(len(folded))
        for place in places:
            gram = folded[place : place + GRAM]
            for key in (gram, gram[:-1]):
                for number, offset, literal, row in self._by_gram.get(key, ()):
                    start = place - offset
                    if start < ends.get(number, 0) or not folded.startswith(literal, start):
                        continue
                    if not row.any_case and not text.startswith(row.text, start):
                        continue
                    for secret in row.find(text, start):
                        ends[number] = max(secret.end, ends.get(number, 0))
                        if secret.rule:
                            yield row.rank, secret

    def _places(self, folded: bytes) -> list[int]:
        """Where one of the grams may be, in order."""
        import numpy as np  # heavy, and a process that reads no log needs none of it

        if not self._tables:
            self._tables = [self._table(multiplier) for multiplier in MULTIPLIERS]
        text = np.frombuffer(folded + bytes(2 * GRAM), np.uint8)
        hashes, hits = np.empty(BLOCK // GRAM, np.uint32), np.empty(BLOCK // GRAM, np.bool_)
        found = []
        for start in range(0, len(folded), BLOCK):
            count = (min(BLOCK, len(folded) - start) + GRAM - 1) // GRAM
            for first in range(start, start + GRAM):
                grams = text[first : first + GRAM * count].view("<u4")
                np.multiply(grams, np.uint32(MULTIPLIERS[0]), out=hashes[:count])
                np.right_shift(hashes[:count], np.uint32(SHIFT), out=hashes[:count])
                np.take(self._tables[0], hashes[:count], out=hits[:count], mode="clip")
                places = np.flatnonzero(hits[:count])
                again = self._tables[1][grams[places] * np.uint32(MULTIPLIERS[1]) >> np.uint32(SHIFT)]
                found.append(places[again] * GRAM + first)
        return np.sort(np.concatenate(found)).tolist()  # type: ignore[no-any-return]

    def _table(self, multiplier: int) -> "npt.NDArray[np.bool_]":
        """The hashes of all grams. Two tables together have a wrong hit in 100,000 characters."""
        import numpy as np

        table = np.zeros(1 << 32 - SHIFT, np.bool_)
        for gram in self._by_gram:
            wholes = [gram] if len(gram) == GRAM else [gram + bytes([code]) for code in sorted(set(FOLD[:128]))]
            for whole in wholes:
                table[(int.from_bytes(whole, "little") * multiplier & 0xFFFFFFFF) >> SHIFT] = True
        return table


COMMON = "etaoinsrhldcumfpgwybvkxjqz"  # letters, the most frequent one first


def _rarest(literal: str) -> int:
    """Where the gram of a literal begins that is in the fewest words, as far as its letters tell."""

    def commonness(place: int) -> tuple[bool, int, int]:
        gram = literal[place : place + GRAM]
        usual = sum(gram[at : at + 2] in PAIRS for at in range(GRAM - 1))
        return len(set(gram)) < len(gram) - 1, usual, -sum(map(COMMON.find, gram))

    return min(range(max(1, len(literal) - GRAM + 1)), key=commonness)

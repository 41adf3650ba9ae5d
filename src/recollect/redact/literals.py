"""Finds all occurrences of many literals in one pass over a text.

A gram is four characters of a literal. A table contains the hashes of all grams. Four shifted views of the text as 32-bit
numbers are hashed in the same way and looked up. A pass takes 1.5 ns per character for any number of literals. A search
for one literal takes 0.5 ns.
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
BLOCK = 1 << 18  # characters: the views of a block fit in the CPU cache
SHIFT = 14  # bits: the other 18 bits of a hash are an index into the table, which fits in the CPU cache
MAX_LOOP = 600  # characters: for shorter texts, a loop takes less time than the calls of numpy
FOLD = bytes(code | 0x20 for code in range(256))  # maps letters to lower case, and other characters to fixed ones


class SecretMatch(NamedTuple):
    """The position and the rule of a secret in a text. Without a rule, the text was checked and is not a secret."""

    start: int
    end: int
    rule: str = ""


Find = Callable[[str, int], Iterator[SecretMatch]]  # the secrets of a text with the literal at a position


class Literal(NamedTuple):
    """A literal inside or before a secret, and the function that finds the secret where the literal occurs."""

    text: str  # at least three characters
    find: Find
    rank: int = 0  # if two secrets overlap, the rule with the lower rank names the secret
    any_case: bool = False


class Literals:
    """A set of literals that are searched together."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self._by_gram: dict[bytes, list[tuple[int, int, bytes, Literal]]] = defaultdict(list)
        for number, literal in enumerate(literals):
            folded = literal.text.encode().translate(FOLD)
            offset = _rarest_gram(literal.text.lower())
            self._by_gram[folded[offset : offset + GRAM]].append((number, offset, folded, literal))
        self._tables: list[npt.NDArray[np.bool_]] = []

    def find_secrets(self, text: str) -> Iterator[tuple[int, SecretMatch]]:
        """Every secret that one of the literals finds, with the rank of the literal.

        A literal inside its own previous match is skipped, so that the time is linear in the text's length.
        """
        ends: dict[int, int] = {}
        folded = text.encode("latin-1", "replace").translate(FOLD)
        positions = self._gram_positions(folded) if len(folded) > MAX_LOOP else range(len(folded))
        for position in positions:
            gram = folded[position : position + GRAM]
            for key in (gram, gram[:-1]):
                for number, offset, literal, row in self._by_gram.get(key, ()):
                    start = position - offset
                    if start < ends.get(number, 0) or not folded.startswith(literal, start):
                        continue
                    if not row.any_case and not text.startswith(row.text, start):
                        continue
                    for secret in row.find(text, start):
                        ends[number] = max(secret.end, ends.get(number, 0))
                        if secret.rule:
                            yield row.rank, secret

    def _gram_positions(self, folded: bytes) -> list[int]:
        """The positions where a gram may be, in order."""
        import numpy as np  # 77 ms of CPU, only needed by processes that read logs

        if not self._tables:
            self._tables = [self._table(multiplier) for multiplier in MULTIPLIERS]
        text = np.frombuffer(folded + bytes(2 * GRAM), np.uint8)
        hashes, is_hit = np.empty(BLOCK // GRAM, np.uint32), np.empty(BLOCK // GRAM, np.bool_)
        positions = []
        for start in range(0, len(folded), BLOCK):
            count = (min(BLOCK, len(folded) - start) + GRAM - 1) // GRAM
            for first in range(start, start + GRAM):
                grams = text[first : first + GRAM * count].view("<u4")
                np.multiply(grams, np.uint32(MULTIPLIERS[0]), out=hashes[:count])
                np.right_shift(hashes[:count], np.uint32(SHIFT), out=hashes[:count])
                np.take(self._tables[0], hashes[:count], out=is_hit[:count], mode="clip")
                hits = np.flatnonzero(is_hit[:count])
                is_confirmed = self._tables[1][grams[hits] * np.uint32(MULTIPLIERS[1]) >> np.uint32(SHIFT)]
                positions.append(hits[is_confirmed] * GRAM + first)
        return np.sort(np.concatenate(positions)).tolist()  # type: ignore[no-any-return]

    def _table(self, multiplier: int) -> "npt.NDArray[np.bool_]":
        """The table of the hashes of all grams. Two tables together give one false hit in 100,000 characters."""
        import numpy as np  # imported here for the same reason

        table = np.zeros(1 << 32 - SHIFT, np.bool_)
        for gram in self._by_gram:
            grams = [gram] if len(gram) == GRAM else [gram + bytes([code]) for code in sorted(set(FOLD[:128]))]
            for full in grams:
                table[(int.from_bytes(full, "little") * multiplier & 0xFFFFFFFF) >> SHIFT] = True
        return table


COMMON = "etaoinsrhldcumfpgwybvkxjqz"  # letters, the most frequent one first


def _rarest_gram(literal: str) -> int:
    """The offset of the gram of a literal that, by its letters, occurs in the fewest words."""

    def commonness(position: int) -> tuple[bool, int, int]:
        gram = literal[position : position + GRAM]
        common_pairs = sum(gram[at : at + 2] in PAIRS for at in range(GRAM - 1))
        return len(set(gram)) < len(gram) - 1, common_pairs, -sum(map(COMMON.find, gram))

    return min(range(max(1, len(literal) - GRAM + 1)), key=commonness)

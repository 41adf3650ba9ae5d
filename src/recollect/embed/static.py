"""The default model: static word vectors with 256 numbers each, which are part of this package (16 MB).

They are WordLlama's `l2_supercat`; origin and licence are in `wordllama/NOTICE.md`. The vector of a text is the mean of its
words without stop words. The vector of a word is the mean of its pieces, in lower case. WordLlama itself computes the mean
over all pieces of the text, which finds less (LoCoMo, Recall@10: 0.354 against 0.397). Our way is also faster, because a
known word is one row of a table.
"""

import json
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from msgspec import MsgspecError

from recollect.embed.embedder import MAX_CHARACTERS, EmbedderUnavailable
from recollect.embed.tokenizer import WordTokenizer
from recollect.index.arrays import np, npt
from recollect.index.words import STOP, camel_parts

FOLDER = Path(__file__).parent / "wordllama"
WEIGHTS = "l2_supercat_256.safetensors"
VOCABULARY = "vocabulary.json"
WORD = re.compile(r"[^\W\d_]{2,}")
MAX_WORD = 24  # letters: longer runs are encoded data
TABLE_ROWS = 1 << 15  # words in the table: 32 MB, enough for nearly all words of a month of sessions
BATCH = 64  # texts whose words are added to the table together
LETTERS_PER_PIECE = 3.5  # mean in a compound of known words such as `webhook`; `quail` has fewer, so it is not known
MIN_LETTERS_PER_PIECE = 4  # from the second piece on; a word of smaller pieces is not a word of any language
MAX_HEADER_BYTES = 1 << 20
# Suffixes that derive a word from another: `refactor` + `ing` is known by its root, `folder` + `vole` is two words.
SUFFIXES = frozenset(
    "s es ed d ing ings er ers or ors est ly ally y cy ity ty ion ions tion tions ation ations ization isation ize ise ized "
    "ised izing ifying ify ified ment ments ness less ful able ible ability ibility al ial ic ical ics ive ative ous ious "
    "ance ence ant ent ancy ency ary ery ory age ist ists ism ship hood dom ward wards wise ate ated ating en ened ening "
    "like".split()
)

Matrix = npt.NDArray[np.float32]


class StaticModel:
    """The model, with its two data files. Opening them takes about 5 ms."""

    name = "wordllama-256-words-1"  # the last number is the version of our pooling; stored vectors carry this name
    dimensions = 256
    floor = 0.42

    def __init__(self, folder: Path = FOLDER) -> None:
        self._vectors = _read_weights(folder / WEIGHTS, self.dimensions)
        self._tokenizer = _read_vocabulary(folder / VOCABULARY, len(self._vectors))
        self._rows: dict[str, int] = {}
        self._lock = threading.Lock()  # of the table: several threads embed questions
        self._table: Matrix = np.zeros((TABLE_ROWS, self.dimensions), np.float32)

    def embed(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), BATCH):
            with self._lock:
                self._embed([_words(text[:MAX_CHARACTERS]) for text in texts[start : start + BATCH]], vectors[start:])
        return _normalised(vectors)

    def _embed(self, texts: list[list[str]], vectors: Matrix) -> None:
        """Write the sum of each text's words to `vectors`. A batch with more words than the table has rows is halved."""
        words = {word: None for text in texts for word in text}
        if len(words) > TABLE_ROWS and len(texts) > 1:
            half = len(texts) // 2
            self._embed(texts[:half], vectors)
            self._embed(texts[half:], vectors[half:])
            return
        self._add_to_table(dict.fromkeys(islice(words, TABLE_ROWS)))
        for index, text in enumerate(texts):
            rows = [self._rows[word] for word in text if word in self._rows]
            if rows:
                vectors[index] = self._table[rows].sum(axis=0)

    def embed_question(self, text: str, weight: Callable[[str], float]) -> Matrix | None:
        with self._lock:
            words = _words(text[:MAX_CHARACTERS])
            if not any(map(self._may_be_word, words)):
                return None
            self._add_to_table(dict.fromkeys(words))
            weights = np.array([weight(word) for word in words], np.float32)
            row: Matrix = (self._table[[self._rows[word] for word in words]] * weights[:, None]).sum(axis=0)
        return _normalised(row[None, :])[0] if row.any() else None

    def _add_to_table(self, words: Mapping[str, None]) -> None:
        """Give every word a row of the table. If the table has too few free rows, it is cleared first."""
        unknown = [word for word in words if word not in self._rows]
        if len(self._rows) + len(unknown) > TABLE_ROWS:
            self._rows.clear()
            unknown = list(words)  # also the words that were in the table
        for word in unknown:
            row = self._rows[word] = len(self._rows)
            ids = self._tokenizer.encode(word)
            np.add.reduce(self._vectors[ids], axis=0, dtype=np.float32, out=self._table[row])
            self._table[row] /= len(ids)  # equals `mean` to the last bit, in half the time

    def knows(self, word: str) -> bool:
        """Whether a word is one piece, or several pieces that are long enough to be words."""
        pieces = self._piece_count(word.lower())
        return pieces == 1 or len(word) >= LETTERS_PER_PIECE * pieces

    def is_compound(self, word: str) -> bool:
        further_pieces = self._tokenizer.pieces(word.lower())[1:]
        return bool(further_pieces) and "".join(further_pieces) not in SUFFIXES and self.knows(word)

    def _may_be_word(self, word: str) -> bool:
        """Whether the pieces of a word have enough letters: those of `barley` have, those of `xyzzyplugh` do not."""
        return self._piece_count(word) <= 1 + len(word) // MIN_LETTERS_PER_PIECE

    def _piece_count(self, word: str) -> int:
        return len(self._tokenizer.encode(word))


def _words(text: str) -> list[str]:
    """The words of a text without stop words, and the parts of camel-case words."""
    parts = camel_parts(text)
    text = f"{text} {parts}" if parts else text
    return [word for word in WORD.findall(text.lower()) if len(word) <= MAX_WORD and word not in STOP]


def _normalised(rows: Matrix) -> Matrix:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


def _read_weights(path: Path, dimensions: int) -> npt.NDArray[np.float16]:
    """The one matrix of a safetensors file, mapped into memory: 8 bytes of length, a JSON header, numbers."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, MAX_HEADER_BYTES)))
        (tensor,) = (value for name, value in header.items() if name != "__metadata__")
        rows, columns = tensor["shape"]
        if tensor["dtype"] != "F16" or columns != dimensions or path.stat().st_size < 8 + length + rows * columns * 2:
            raise ValueError(f"unexpected: {rows} x {columns} numbers of type {tensor['dtype']}")
        return np.asarray(np.memmap(path, np.float16, "r", 8 + length, (rows, columns)))  # indexing a memmap is slower
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error) as reason:
        raise _unreadable(path, reason) from reason


def _read_vocabulary(path: Path, size: int) -> WordTokenizer:
    try:
        tokenizer = WordTokenizer(path)
        if len(tokenizer) != size:
            raise ValueError(f"{len(tokenizer)} pieces for {size} vectors")
    except (OSError, ValueError, MsgspecError) as reason:
        raise _unreadable(path, reason) from reason
    return tokenizer


def _unreadable(path: Path, reason: Exception) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"Cannot read the word vectors {path} ({reason}). Reinstall recollect-agents.")

"""The default model: the static word vectors that the package `wordllama` carries (256 dimensions, 16 MB).

Only its two data files are used, read with numpy and `tokenizers`. A text is the mean of its words, each word the mean of
its pieces, in lower case and without stop words. That finds more than the mean over all pieces of the text, which the
package itself computes (LoCoMo, Recall@10: 0.397 against 0.354), and it is faster, because a word seen before is one row of
a table.
"""

import json
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer

from recollect.embed import LONGEST, Unavailable
from recollect.index.arrays import np, npt
from recollect.index.words import STOP, camel_parts

WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WORD = re.compile(r"[^\W\d_]{2,}")
LONGEST_WORD = 24  # letters: longer runs are encoded data
TABLE = 1 << 15  # words remembered: 32 MB, and nearly all that a month of sessions says
TOGETHER = 64  # texts whose words are learnt at once
LETTERS = 3.5  # on average, of the pieces of a word that was put together of others, such as `webhook`; `quail` is guesswork
CRUMB = 4  # letters of a word for every further piece; what falls into smaller ones is no word of any language
MOST_HEADER = 1 << 20  # bytes
# Endings that make a word of a word: `refactor` + `ing` is known by its root, `folder` + `vole` is two words.
ENDINGS = frozenset(
    "s es ed d ing ings er ers or ors est ly ally y cy ity ty ion ions tion tions ation ations ization isation ize ise ized "
    "ised izing ifying ify ified ment ments ness less ful able ible ability ibility al ial ic ical ics ive ative ous ious "
    "ance ence ant ent ancy ency ary ery ory age ist ists ism ship hood dom ward wards wise ate ated ating en ened ening "
    "like".split()
)

Matrix = npt.NDArray[np.float32]


class StaticModel:
    """Two files of an installed package. Opening it costs a tenth of a second, most of it for the tokenizer."""

    name = "wordllama-256-words-1"  # the number is of our way of pooling
    dimensions = 256
    floor = 0.42

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or _package()
        self._pieces = _read_weights(folder / WEIGHTS, self.dimensions)
        self._tokenizer = _read_tokenizer(folder / TOKENIZER)
        self._rows: dict[str, int] = {}
        self._learning = threading.Lock()  # questions come from several threads
        self._table: Matrix = np.zeros((TABLE, self.dimensions), np.float32)

    def embed(self, texts: Sequence[str]) -> Matrix:
        found = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), TOGETHER):
            with self._learning:
                self._embed([_words(text[:LONGEST]) for text in texts[start : start + TOGETHER]], found[start:])
        return _of_length_one(found)

    def _embed(self, texts: list[list[str]], found: Matrix) -> None:
        """The sums of some texts. Words are learnt for all of them at once, because the tokenizer is slow to start."""
        words = {word: None for text in texts for word in text}
        if len(words) > TABLE and len(texts) > 1:
            half = len(texts) // 2
            self._embed(texts[:half], found)
            self._embed(texts[half:], found[half:])
            return
        self._learn(dict.fromkeys(islice(words, TABLE)))
        for place, text in enumerate(texts):
            rows = [self._rows[word] for word in text if word in self._rows]
            if rows:
                found[place] = self._table[rows].sum(axis=0)

    def embed_question(self, text: str, weight: Callable[[str], float]) -> Matrix | None:
        with self._learning:
            words = _words(text[:LONGEST])
            if not any(map(self._may_know, words)):
                return None
            self._learn(dict.fromkeys(words))
            words = [word for word in words if word in self._rows]
            if not words:
                return None
            weights = np.array([weight(word) for word in words], np.float32)
            row: Matrix = (self._table[[self._rows[word] for word in words]] * weights[:, None]).sum(axis=0)
        return _of_length_one(row[None, :])[0] if row.any() else None

    def _learn(self, words: Mapping[str, None]) -> None:
        """Give every word a row of the table; where it would overflow, of a new one."""
        unknown = [word for word in words if word not in self._rows]
        if len(self._rows) + len(unknown) > TABLE:
            self._rows.clear()
            unknown = list(words)  # also those that were known until now
        pieces = self._tokenizer.encode_batch_fast(unknown, add_special_tokens=False) if unknown else []
        for word, encoding in zip(unknown, pieces, strict=True):
            if encoding.ids:
                row = self._rows[word] = len(self._rows)
                self._table[row] = self._pieces[encoding.ids].mean(axis=0, dtype=np.float32)

    def knows(self, word: str) -> bool:
        """A word in one piece was learnt; one in several was not, unless these are long enough to mean something."""
        pieces = self._count(word.lower())
        return pieces == 1 or len(word) >= LETTERS * pieces

    def is_compound(self, word: str) -> bool:
        _, *others = self._tokenizer.encode(word.lower(), add_special_tokens=False).tokens or ("",)
        return bool(others) and "".join(others) not in ENDINGS and self.knows(word)

    def _may_know(self, word: str) -> bool:
        """Whether a word is at least made of more than crumbs: `barley` is, `xyzzyplugh` is not."""
        return self._count(word) <= 1 + len(word) // CRUMB

    def _count(self, word: str) -> int:
        return len(self._tokenizer.encode(word, add_special_tokens=False).ids)


def _words(text: str) -> list[str]:
    """Words that say something, and the parts of those with humps in them."""
    parts = camel_parts(text)
    text = f"{text} {parts}" if parts else text
    return [word for word in WORD.findall(text.lower()) if len(word) <= LONGEST_WORD and word not in STOP]


def _of_length_one(rows: Matrix) -> Matrix:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(length > 0, length, 1)).astype(np.float32)


def _package() -> Path:
    """Where `wordllama` lies, without importing it."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise Unavailable("The package `wordllama`, which carries the word vectors, is missing: pip install wordllama.")
    return Path(spec.origin).parent


def _read_weights(path: Path, dimensions: int) -> npt.NDArray[np.float16]:
    """The one matrix of a safetensors file, mapped into memory: 8 bytes of length, a JSON header, numbers."""
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(min(length, MOST_HEADER)))
        (tensor,) = (value for name, value in header.items() if name != "__metadata__")
        rows, columns = tensor["shape"]
        if tensor["dtype"] != "F16" or columns != dimensions or path.stat().st_size < 8 + length + rows * columns * 2:
            raise ValueError(f"{rows} x {columns} numbers of type {tensor['dtype']} were not to be expected")
        return np.memmap(path, np.float16, "r", 8 + length, (rows, columns))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error) as reason:
        raise Unavailable(
            f"The word vectors {path} cannot be read ({reason}); reinstall the package `wordllama`."
        ) from reason


def _read_tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_str(path.read_text("utf-8"))
    except Exception as reason:  # the library raises nothing narrower
        raise Unavailable(f"The tokenizer {path} cannot be read ({reason}); reinstall the package `wordllama`.") from reason

"""Splits indexed texts and queries into words.

The engine's tokenizer splits at every character that is not a letter or digit. So `auth_token`, `src/auth.ts` and
`ERR_AUTH_FAILED` are indexed as their parts, and a phrase of the parts finds them. The tokenizer cannot split `getUserName`,
nor scripts that are written without spaces. This module prepares such texts for it.
"""

import re
import unicodedata
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

MAX_WORD_BYTES = 80  # a SHA-256 in hex has 64; longer runs are encoded data
CHUNK = 4 << 20  # characters processed at a time: each chunk is copied twice
MAX_CAMEL = 64  # characters of a word that is split; longer ones are not names

PART = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
SHAPE = bytes(
    b"a"[0] if chr(code).islower() or chr(code).isdigit() else b"A"[0] if chr(code).isupper() else b" "[0]
    for code in range(128)
) + b" " * 128  # fmt: skip
HUMPS = (b"aA", b"AAa")  # where camel case begins a new part
# Han, kana, Hangul: every character is indexed as a word, and a run of them is found as a phrase.
UNSPACED = re.compile(
    r"([\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003fffd])"
)

# Words that are too common to search for. They are only dropped from queries, and only if other words remain.
STOP = frozenset(
    "a about after all also an and any are as at be because been but by can could did do does for from had has have he"
    " her here him his how i if in into is it its just like me more my no not now of on only or our out over she so some"
    " than that the their them then there these they this those to too up us very was we were what when where which who"
    " why will with would you your".split()
)


@cache
def text_analyzer() -> TextAnalyzer:
    """The tokenizer of texts: it lower-cases, removes accents and stems."""
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(MAX_WORD_BYTES))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("English"))
        .build()
    )


def prepare(text: str) -> str:
    """The text in the form that is indexed."""
    return "\n".join(prepare_parts(text))


def prepare_parts(text: str) -> list[str]:
    """The text in the form that is indexed, and separately the parts of its words, so that a long text is not copied."""
    parts = camel_parts(text)
    if not text.isascii():
        text = space_out(text)
    return [text, parts] if parts else [text]


def space_out(text: str) -> str:
    """The text with accents composed, and with spaces around characters of unspaced scripts."""
    return UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", text))


def camel_parts(text: str) -> str:
    """The parts of every camel-case word, each word once: `get User Name` for `getUserName`.

    The search for humps uses a copy of the text with only three characters: lower, upper and other. The search for a
    literal is the fastest operation on a long text.
    """
    camel_words: dict[bytes, None] = {}
    for start in range(0, len(text), CHUNK):
        _add_words_with_humps(text[max(0, start - MAX_CAMEL) : start + CHUNK].encode(), camel_words)
    return b" ".join(map(_parts, camel_words)).decode()


def _add_words_with_humps(raw: bytes, camel_words: dict[bytes, None]) -> None:
    shape = raw.translate(SHAPE)
    for hump in HUMPS:
        position = shape.find(hump)
        while position >= 0:
            start, end = shape.rfind(b" ", 0, position) + 1, shape.find(b" ", position)
            end = len(shape) if end < 0 else end
            if end - start <= MAX_CAMEL:
                camel_words[raw[start:end]] = None
            position = shape.find(hump, end)


@lru_cache(maxsize=65_536)
def _parts(word: bytes) -> bytes:
    return b" ".join(PART.findall(word))


def words(text: str) -> list[str]:
    """The words of a text in the form that is indexed, in order."""
    return list(text_analyzer().analyze(text))


def is_unspaced(text: str) -> bool:
    """Whether a text has characters of a script that is written without spaces."""
    return UNSPACED.search(text) is not None

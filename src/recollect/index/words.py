"""What counts as a word, the same for what is indexed and for what is asked.

The engine's tokenizer splits at everything that is no letter or digit, so `auth_token`, `src/auth.ts` and
`ERR_AUTH_FAILED` fall into their parts by themselves, and found whole they are a phrase of them. Two things it cannot
see are prepared here in the text: the parts of `getUserName`, and words of scripts that are written without spaces.
"""

import re
import unicodedata
from functools import cache, lru_cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST = 80  # bytes of a word: a SHA-256 in hex is 64, longer runs are encoded data
AT_ONCE = 4 << 20  # characters that are looked at in one piece: two copies of each are made
LONGEST_CAMEL = 64  # characters of a word that is worth taking apart

PART = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
SHAPE = bytes(
    b"a"[0] if chr(code).islower() or chr(code).isdigit() else b"A"[0] if chr(code).isupper() else b" "[0]
    for code in range(128)
) + b" " * 128  # fmt: skip
HUMPS = (b"aA", b"AAa")
# Han, kana, Hangul: every character is a word of its own, and a run of them is a phrase.
UNSPACED = re.compile(
    r"([\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\uff66-\uff9f\U00020000-\U0003fffd])"
)

# Words that say nothing about what is sought. Dropped from questions only, and only where something else is left.
STOP = frozenset(
    "a about after all also an and any are as at be because been but by can could did do does for from had has have he"
    " her here him his how i if in into is it its just like me more my no not now of on only or our out over she so some"
    " than that the their them then there these they this those to too up us very was we were what when where which who"
    " why will with would you your".split()
)


@cache
def text_analyzer() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(LONGEST))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("English"))
        .build()
    )


def prepare(text: str) -> str:
    """The text as it goes into the index, in one piece."""
    return "\n".join(prepare_parts(text))


def prepare_parts(text: str) -> list[str]:
    """The text as it goes into the index, and apart from it the parts of its words: a long text is not copied."""
    parts = camel_parts(text)
    if not text.isascii():
        text = space_out(text)
    return [text, parts] if parts else [text]


def space_out(text: str) -> str:
    """Letters with their accents in one piece, and characters of unspaced scripts apart."""
    return UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", text))


def camel_parts(text: str) -> str:
    """The parts of every word with a hump in it: get, User, Name of getUserName. Each word once.

    Humps are looked for in a copy of the text that only knows lower, upper and other: looking for a literal is the one
    thing that is fast on a long text.
    """
    seen: dict[bytes, None] = {}
    for start in range(0, len(text), AT_ONCE):
        _note_humps(text[max(0, start - LONGEST_CAMEL) : start + AT_ONCE].encode(), seen)
    return b" ".join(map(_parts, seen)).decode()


def _note_humps(raw: bytes, seen: dict[bytes, None]) -> None:
    shape = raw.translate(SHAPE)
    for hump in HUMPS:
        place = shape.find(hump)
        while place >= 0:
            start, end = shape.rfind(b" ", 0, place) + 1, shape.find(b" ", place)
            end = len(shape) if end < 0 else end
            if end - start <= LONGEST_CAMEL:
                seen[raw[start:end]] = None
            place = shape.find(hump, end)


@lru_cache(maxsize=65_536)
def _parts(word: bytes) -> bytes:
    return b" ".join(PART.findall(word))


def words(text: str) -> list[str]:
    """The words of a text as the index knows them, in order."""
    return list(text_analyzer().analyze(text))


def is_unspaced(text: str) -> bool:
    return UNSPACED.search(text) is not None

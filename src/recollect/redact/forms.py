"""Finds secrets by their form: PEM keys, web tokens, passwords in URLs and on command lines, webhooks."""

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from recollect.redact.literals import Literal, SecretMatch
from recollect.redact.shapes import START
from recollect.redact.values import is_blank, is_key, is_password, is_wordy


class Form(NamedTuple):
    """A rule. `hint` is a literal inside the secret. `before` matches the part before it, `secret` the part from it on."""

    name: str
    what: str
    hint: str
    before: str  # matches at most MAX_BEFORE characters
    secret: str  # begins with the hint
    example: str


MAX_BEFORE = 64  # characters of a secret before its hint
RANK = 1
# The other rules of this module, each with a text in which « and » enclose the secret
EXAMPLES = [
    ("private-key", "«-----BEGIN RSA PRIVATE KEY-----\n<f64>\n<f64>\n-----END RSA PRIVATE KEY-----»\n"),
    ("url-password", "postgres://«anna:<w16>»@db.example.org/app"),
    ("url-password", "git clone https://«<x40>»@example.org/a.git"),
    ("bearer-token", "fetch with bearer «<w40>»"),
    ("login-password", "curl -u anna:«<w16>» https://example.org"),
    ("login-password", "mysql -u anna -p«<w16>» app"),
]
B64 = "[A-Za-z0-9_-]"

FORMS = [
    Form("json-web-token", "signed and encrypted web tokens", "eyJ", "",
         rf"eyJ{B64}{{10,}}\.{B64}{{10,}}\.{B64}{{10,}}(?:\.{B64}+){{0,2}}", "eyJhbGci<b20>.eyJzdWIi<b20>.<b43>"),
    Form("google-key", "Google OAuth refresh token", "1//0", "", rf"1//0{B64}{{35,}}", "1//0<b60>"),
    Form("slack-webhook", "Slack webhook", "hooks.slack.com/", "https?://",
         r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",
         "https://hooks.slack.com/services/T<u10>/B<u10>/<w24>"),
    Form("discord-webhook", "Discord webhook", "webhooks/", r"https?://(?:[a-z]+\.)?discord(?:app)?\.com/api/",
         r"webhooks/\d{15,22}/[A-Za-z0-9_-]{30,}", "https://discord.com/api/webhooks/<d19>/<b68>"),
    Form("teams-webhook", "Microsoft Teams webhook", "webhook.office.com/", r"https?://[a-z0-9-]{1,50}\.",
         r"webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{60,}",
         "https://contoso.webhook.office.com/webhookb2/<x36>@<x36>/IncomingWebhook/<x32>/<x36>"),
    Form("zapier-webhook", "Zapier webhook", "hooks.zapier.com/", "https?://",
         r"hooks\.zapier\.com/hooks/catch/[0-9A-Za-z/]{8,}", "https://hooks.zapier.com/hooks/catch/<d8>/<l8>/"),
    Form("signed-url", "signature of an Azure, AWS or Google address", "sig=", "", r"sig=[A-Za-z0-9%+/]{40,}=?",
         "sig=<w43>%3D"),
    Form("signed-url", "signature of an Azure, AWS or Google address", "-Signature=", "X-(?:Amz|Goog)",
         r"-Signature=[0-9a-f]{64,}", "X-Amz-Signature=<x64>"),
    Form("putty-key", "PuTTY private key", "PuTTY-User-Key-File-", "",
         r"PuTTY-User-Key-File-\d:[^\0]{0,9000}?(?:Private-MAC: *[0-9a-f]{40,64}|\Z|(?=\0))",
         "PuTTY-User-Key-File-2: ssh-rsa\\nPrivate-Lines: 1\\n<f64>\\nPrivate-MAC: <x40>"),
]  # fmt: skip


def _find(text: str, position: int, *, name: str, before: re.Pattern[str], secret: re.Pattern[str]) -> Iterator[SecretMatch]:
    """The secret whose hint is at this position."""
    match = secret.match(text, position)
    if match is None:
        return
    beginning = before.search(text, max(0, position - MAX_BEFORE), position)
    if beginning and not is_blank(match[0]):
        yield SecretMatch(beginning.start(), match.end(), name)
    else:
        yield SecretMatch(position, match.end())


def _literal(form: Form) -> Literal:
    secret = form.secret if form.before else START + form.secret
    before = re.compile(f"{START if form.before else ''}{form.before}\\Z")
    return Literal(form.hint, partial(_find, name=form.name, before=before, secret=re.compile(secret)), RANK)


# ---- private keys

KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_MATERIAL = re.compile(
    r"(?=[A-Za-z0-9+/]{0,60}\d)(?=[A-Za-z0-9+/]{0,60}[A-Z])(?=[A-Za-z0-9+/]{0,60}[a-z])[A-Za-z0-9+/]{20,}"
)
MAX_KEY = 32_768  # characters: a key of 16,384 bits, written with escaped newlines
MAX_HEADERS = 400  # characters after BEGIN in which the key material must be: a key may have headers


def _find_private_key(text: str, position: int) -> Iterator[SecretMatch]:
    """A key from BEGIN to END, or to the end of the text if it is cut off. BEGIN without key material is not a key."""
    begin = KEY_BEGINS.match(text, position)
    if begin and KEY_MATERIAL.search(text, begin.end(), begin.end() + MAX_HEADERS):
        limit = min(len(text), position + MAX_KEY)
        zero_byte = text.find("\0", begin.end(), limit)
        limit = zero_byte if zero_byte >= 0 else limit
        ending = KEY_ENDS.search(text, begin.end(), limit)
        yield SecretMatch(position, ending.end() if ending else limit, "private-key")


# ---- URLs with a password

HOST = re.compile(r"@[A-Za-z0-9._-]+(?::\d+)?(?=[/?#\s'\"`<>,;)\]}\\|&]|$)|@\[")
MAX_LOGIN = 400  # characters between `://` and `@`
AT = re.compile(r"@(?=[A-Za-z0-9\[])")


def find_url_passwords(text: str) -> Iterator[SecretMatch]:
    """`scheme://user:password@host`. The last `@` before a host counts, because passwords may contain `/` and `@`."""
    end = 0
    for at in AT.finditer(text):
        scheme = text.rfind("://", max(end, at.start() - MAX_LOGIN), at.start())
        if scheme < 0 or HOST.match(text, at.start()) is None:
            continue
        login = text[scheme + 3 : at.start()]
        if _is_login(login, is_web=text.endswith(WEB, 0, scheme)):
            end = at.start()
            yield SecretMatch(scheme + 3, end, "url-password")


def _is_login(login: str, *, is_web: bool) -> bool:
    """Whether the text before the host is a user name with a password, or a token alone."""
    user, colon, password = login.partition(":")
    if LOGIN.fullmatch(user) is None:
        return False
    if not colon:
        return is_web and is_key(user, MIN_TOKEN)
    return PASSWORD.fullmatch(password) is not None and not _is_port_or_reference(password)


WEB = "http", "https"
MIN_TOKEN = 20  # characters of a token without a user name before a host
LOGIN = re.compile(r"[A-Za-z0-9._%+~@-]{0,64}")
PASSWORD = re.compile(r"[^\s'\"`<>{}()\[\]\\\0]{3,256}")


def _is_port_or_reference(password: str) -> bool:
    """Whether this is a port, as in `localhost:8080/users/@me`, or refers to a password, and so is not a password."""
    return re.match(r"\d{1,5}(?:/|$)", password) is not None or password.startswith("$") or is_blank_password(password)


def is_blank_password(password: str) -> bool:
    """Whether this is a placeholder for a password."""
    return (
        re.fullmatch(r"(?i)[*x.]+|%[sd]|(?:my)?pass(?:word|wd)?|pwd|pw|secret|token|your.*|foo|bar|baz|abc|xyz", password)
        is not None
    )


# ---- headers and command lines

BEARER = re.compile(r"earer(?:\s|%20|\\u0020){1,3}(?P<token>[A-Za-z0-9._~+/=-]{16,4096})")
USER = re.compile(
    r"-(?:u|-user|-proxy-user|U)(?:[ =]{1,2}|(?=['\"]))\\{0,3}['\"]?"
    r"(?P<user>[A-Za-z0-9._%+@\\-]{1,64}):(?P<password>[^\s'\"`\\\0]{3,256})"
)
SHORT_OPTION = re.compile(r"-[pPaw] ?(?P<quote>\\{0,3}['\"]?)(?P<password>[^\s'\"`\\\0-]['\"]?[^\s'\"`\\\0]{3,256})")
CLIENT = re.compile(
    r"(?:mysql\w*|mariadb\w*|sshpass|(?:docker|podman|helm registry|oras|skopeo|buildah|az|crane) login|redis-cli"
    r"|ldap\w+|mongo\w*)\b[^\n;|&]{0,160}\s\Z"
)


def _find_bearer_token(text: str, position: int) -> Iterator[SecretMatch]:
    match = BEARER.match(text, position)
    if match:
        is_token = not is_blank(match["token"]) and not is_wordy(match["token"])
        yield SecretMatch(match.start("token"), match.end("token"), "bearer-token" if is_token else "")


OPTION = re.compile(r" -(?=[uUpPaw-][ =A-Za-z0-9'\"\\])")


def find_login_passwords(text: str) -> Iterator[SecretMatch]:
    """Every password in an option of a command: `-u user:password`, `mysql -p…`."""
    for option in OPTION.finditer(text):
        start = option.end() - 1
        match = USER.match(text, start)
        if match is None:
            match = SHORT_OPTION.match(text, start)
            if match and not CLIENT.search(text, max(0, start - 200), start):
                continue
        if match and is_password(match["password"], literal=True):
            yield SecretMatch(match.start("password"), match.end("password"), "login-password")


FORM_LITERALS = [
    *map(_literal, FORMS),
    Literal("-----BEGIN ", _find_private_key, RANK),
    Literal("earer", _find_bearer_token, RANK),
]

"""Secrets that tell by their form: keys in PEM, web tokens, passwords in addresses and on command lines, webhooks."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.redact._shapes import START
from recollect.redact._tokens import Found
from recollect.redact._values import is_blank, is_password, is_wordy


class Form(NamedTuple):
    """A rule: a quick hint, what must stand before it, and the secret from there on; `before` is part of it."""

    name: str
    what: str
    hint: str  # begins with a literal, which makes it quick
    before: str  # of at most BEFORE characters
    secret: str  # begins where the hint does
    example: str


BEFORE = 64
OTHER_FORMS = "private-key", "url-password", "bearer-token", "login-password"
B64 = "[A-Za-z0-9_-]"

FORMS = [
    Form("json-web-token", "signed and encrypted web tokens", "eyJ", "",
         rf"eyJ{B64}{{10,}}\.{B64}{{10,}}\.{B64}{{10,}}(?:\.{B64}+){{0,2}}", "eyJhbGci<b20>.eyJzdWIi<b20>.<b43>"),
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
    Form("putty-key", "PuTTY private key", "PuTTY-User-Key-File-", "",
         r"PuTTY-User-Key-File-\d:[^\0]{0,9000}?(?:Private-MAC: *[0-9a-f]{40,64}|\Z|(?=\0))",
         "PuTTY-User-Key-File-2: ssh-rsa\\nPrivate-Lines: 1\\n<f64>\\nPrivate-MAC: <x40>"),
]  # fmt: skip
FORM_HINTS = "eyJ", "hook", "PuTTY"  # one of them is in every hint


def _compiled(form: Form) -> tuple[str, str, re.Pattern[str], re.Pattern[str]]:
    secret = form.secret if form.before else START + form.secret
    return form.name, form.hint, re.compile(f"{START if form.before else ''}{form.before}\\Z"), re.compile(secret)


_forms = [_compiled(form) for form in FORMS]


def forms(text: str) -> Iterator[Found]:
    """Every secret of a telling form in a text."""
    for part in FORM_HINTS:
        if part in text:
            for name, hint, before, secret in (form for form in _forms if part in form[1]):
                yield from _of_form(text, name, hint, before, secret)
    for find in (_private_keys, _addresses, _bearers, _logins):
        yield from find(text)


def _of_form(text: str, name: str, hint: str, before: re.Pattern[str], secret: re.Pattern[str]) -> Iterator[Found]:
    place = text.find(hint)
    while place >= 0:
        end = place + len(hint)
        found = secret.match(text, place)
        ahead = before.search(text, max(0, place - BEFORE), place) if found else None
        if found and ahead and not is_blank(found[0]):
            end = found.end()
            yield Found(ahead.start(), end, name)
        place = text.find(hint, end)


# ---- private keys

KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
KEY_MATERIAL = re.compile(
    r"(?=[A-Za-z0-9+/]{0,60}\d)(?=[A-Za-z0-9+/]{0,60}[A-Z])(?=[A-Za-z0-9+/]{0,60}[a-z])[A-Za-z0-9+/]{20,}"
)
LONGEST_KEY = 32_768  # characters: a key of 16,384 bits, written with escaped newlines
MATERIAL_WITHIN = 400  # characters: behind headers of the key


def _private_keys(text: str) -> Iterator[Found]:
    """From BEGIN to END; where a key is cut off, to the end of the text. A BEGIN without a key is not one."""
    place = text.find("-----BEGIN ")
    while place >= 0:
        begin = KEY_BEGINS.match(text, place)
        end = place + 1
        if begin and KEY_MATERIAL.search(text, begin.end(), begin.end() + MATERIAL_WITHIN):
            most = min(len(text), place + LONGEST_KEY)
            stop = text.find("\0", begin.end(), most)
            ending = KEY_ENDS.search(text, begin.end(), stop if stop >= 0 else most)
            end = ending.end() if ending else stop if stop >= 0 else most
            yield Found(place, end, "private-key")
        place = text.find("-----BEGIN ", end)


# ---- addresses with a password

HOST = re.compile(r"@[A-Za-z0-9._-]+(?::\d+)?(?=[/?#\s'\"`<>,;)\]}\\|&]|$)|@\[")
LOGIN_BEFORE = 400
AT = re.compile(r"@(?=[A-Za-z0-9\[])")


def _addresses(text: str) -> Iterator[Found]:
    """`scheme://user:password@host`: the last `@` before a host counts, for passwords may have `/` and `@` in them."""
    end = 0
    for place in AT.finditer(text):
        scheme = text.rfind("://", max(end, place.start() - LOGIN_BEFORE), place.start())
        if scheme < 0 or HOST.match(text, place.start()) is None:
            continue
        login = text[scheme + 3 : place.start()]
        user, colon, password = login.partition(":")
        if not colon or LOGIN.fullmatch(user) is None or PASSWORD.fullmatch(password) is None or _is_port(password):
            continue
        end = place.start()
        yield Found(scheme + 3, end, "url-password")


LOGIN = re.compile(r"[A-Za-z0-9._%+~@-]{0,64}")
PASSWORD = re.compile(r"[^\s'\"`<>{}()\[\]\\\0]{3,256}")


def _is_port(password: str) -> bool:
    """`localhost:8080/users/@me` has no password; neither has a reference to one."""
    return re.match(r"\d{1,5}(?:/|$)", password) is not None or password.startswith("$") or is_blank_password(password)


def is_blank_password(password: str) -> bool:
    return re.fullmatch(r"(?i)[*x.]+|%[sd]|pass(?:word|wd)?|pwd|pw|secret|token|your.*", password) is not None


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


def _bearers(text: str) -> Iterator[Found]:
    place = text.find("earer")
    while place >= 0:
        found = BEARER.match(text, place)
        if found and not is_blank(found["token"]) and not is_wordy(found["token"]):
            yield Found(found.start("token"), found.end("token"), "bearer-token")
        place = text.find("earer", place + 5)


def _logins(text: str) -> Iterator[Found]:
    for place in re.finditer(r"-(?=[uUpPaw-][ =A-Za-z0-9'\"\\])", text):
        start = place.start()
        if start and text[start - 1] not in " \t\n\"'`":
            continue
        found = USER.match(text, start)
        if found is not None:
            if is_password(found["password"], literal=True):
                yield Found(found.start("password"), found.end("password"), "login-password")
            continue
        found = SHORT_OPTION.match(text, start)
        if found and CLIENT.search(text, max(0, start - 200), start) and is_password(found["password"], literal=True):
            yield Found(found.start("password"), found.end("password"), "login-password")

"""Secrets that tell by the name that they are assigned to: `API_KEY=…`, `"password": "…"`, `--token …`, `X-Api-Key: …`."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from recollect.redact._named_services import NAMED_SERVICES
from recollect.redact._tokens import Found
from recollect.redact._values import is_blank, is_key, is_password

HINTS = ("pass", "pwd", "cre", "auth")  # one of them is in every name, or one of KEY_HINTS
KEY_HINTS = re.compile("k(?=ey|en)")  # quicker than two searches: the letter is rare
PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "secret")
KEYS = (
    "token", "apikey", "accesskey", "secretkey", "accountkey", "encryptionkey", "signingkey", "privatekey", "masterkey",
    "authkey", "servicekey", "clientkey", "dbkey", "databasekey", "storagekey", "sharedkey", "licensekey", "sessionkey",
    "deploykey", "hmackey", "aeskey", "cryptokey", "appkey", "adminkey", "writekey", "serverkey", "applicationkey",
    "subscriptionkey", "functionkey", "credential", "credentials", "authorization", "integrationkey",
)  # fmt: skip
WORDS = {"pass": "password", "pw": "password", "auth": "token", "cred": "token", "creds": "token"}  # only as whole words
AFTER = re.compile(r"(?:value|data|base64|b64|base|raw|string|text|plain|prod|dev|staging|live|test|old|new|default|\d+)\Z")
NO_SECRET = re.compile(
    r"(?:next|page|pagination|continuation|continue|public|publickey|pub|sync|start|end|bos|eos|pad|unk|mask|cls|sep|cancel"
    r"|cancellation|special|image|primary|foreign|partition|sort|cache|color|design|stop|skip|invalid|csrf|xsrf)"
    r"(?:token|key|accesskey)\Z"
)
NAME_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
LONGEST_NAME = 48  # characters before the hint
LEAST_KEY = 12  # characters of a value of a name that is not a password's

QUOTE = r"(?:\\{0,7}[\"'`]|&quot;|&\#34;|\\{1,7}u002[27])"
TYPE = r"(?:[ ]?:[ ]?[A-Za-z_&*][\w.\[\]<>|&?*' ]{0,40}?(?=[ ]?=[^=])|[ ][*&]?[A-Za-z][\w.]{0,20}(?=[ ]=[ ]))?"
SIGN = r"(?::=|:-|=>|={1,3}|!={1,2}|\?\?=?|\?=|\|\|=?|:|=)"
WRAPPED = r"(?:(?:SecretStr|String::from|String|str|bytes|Buffer\.from|Secret|Some)\()?[bBrRuUfF@]{0,2}"
SCHEME = r"(?:(?i:Bearer|Basic|Token|ApiKey|Api-Key|Digest|Key|AWS|token=)(?:[ ]|%20|(?<==))){0,2}"
OPERATOR = (
    rf"(?P<attribute>{QUOTE}(?:,\s{{0,80}}|\s{{1,80}}){QUOTE}?(?i:value){QUOTE}?\s?[:=]\s?)"  # name="password" value="…"
    r"|(?P<yaml>[ ]?\n[ ]{0,40}value:[ ])"  # name: API_TOKEN, and its value on the next line
    rf"|(?P<listed>{QUOTE},\s{{0,40}}|\()(?={QUOTE})"  # setenv("API_KEY", "…"), password("…")
    rf"|(?P<element>{QUOTE}?>)"  # <password>…</password>
    rf"|(?P<sign>{QUOTE}?\]?{TYPE}[ \t]{{0,16}}{SIGN}[ \t]{{0,16}}(?:\\?\n[ ]{{0,40}})?)"
    r"|(?P<space>[ ]{1,2}|[ ](?:is|was)[: ][ ]?)"
)
INSIDE = r"[^\"'`\\\x00-\x1f&]|\\+[^\"'`nrt\\u\x00-\x1f]|&(?!quot;|\#34;)"
QUOTED = rf"(?P<quote>{QUOTE}){SCHEME}(?P<quoted>(?:{INSIDE}){{4,512}}?)(?P=quote)"
BARE = rf"{SCHEME}(?P<bare>[^\s\"'`<>,;()\[\]{{}}|&\\\x00-\x1f]{{4,1024}})(?P<next>[(\[]?)"
ASSIGNED = re.compile(rf"(?:{OPERATOR})(?:{WRAPPED}{QUOTED}|{BARE})")
# What is left of a name, and a sign that something could be assigned to it
ASSIGNABLE = re.compile(
    r"[A-Za-z0-9_.-]{0,32}(?:\[\w{0,20}\])?"
    r"(?=[\"'`\\&:=(>\]?|!]|[ \t]{1,16}[:=?|!*&\"'-]|[ ](?:is|was|[A-Za-z]\w*[ ]=)[ :]|[ ]?\n[ ]+value:|[ ]{1,2}\S)"
)


class Name(NamedTuple):
    """What a name says about its value."""

    text: str
    is_password: bool


def assigned(text: str) -> Iterator[Found]:
    """Every value in a text that is assigned to a secret's name."""
    low = text.lower()
    if len(low) != len(text):  # a few letters have no single lower-case form
        low = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    for hint in HINTS:
        place = low.find(hint)
        while place >= 0:
            after = place + len(hint)
            rest = ASSIGNABLE.match(text, after)
            if rest is not None:
                yield from _judged(text, place, rest.end())
            place = low.find(hint, after)
    for key in KEY_HINTS.finditer(low):
        rest = ASSIGNABLE.match(text, key.end() + 2)
        if rest is not None:
            yield from _judged(text, key.start(), rest.end())
    yield from _services(text)


def _judged(text: str, hint: int, end: int) -> Iterator[Found]:
    """The value of a name that ends here, where that is a secret's name and the value is one."""
    before = text[max(0, hint - LONGEST_NAME) : hint]
    start = hint - (len(before) - len(before.rstrip(NAME_SIGNS)))
    name = name_of(text[start:end])
    found = ASSIGNED.match(text, end) if name else None
    if name is None or found is None or (found["space"] is not None and not _is_told(text, start, found["space"])):
        return
    group = "quoted" if found["quoted"] is not None else "bare"
    value = found[group] if group == "quoted" else found[group].rstrip(".:!")
    if found["listed"] is not None and not any(map(str.isdigit, value)):
        return
    if found["next"] or (name.text.endswith("pwd") and value[:1] in "/~") or value.startswith("REDACTED:"):
        return
    if is_secret(name, value, literal=_is_literal(text, start, found)):
        place = found.start(group)
        rule = "basic-auth" if text[place - 6 : place].lower() == "basic " else "assigned-secret"
        yield Found(place, place + len(value), rule)


@lru_cache(maxsize=4096)
def name_of(identifier: str) -> Name | None:
    """The name of a secret in any spelling, or None where it is another name."""
    plain = re.sub(r"\[.*|[^a-z0-9]", "", identifier.lower())
    plain = AFTER.sub("", AFTER.sub("", plain))
    if NO_SECRET.search(plain):
        return None
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    last = WORDS.get(words[-1].lower(), "") if words else ""
    if plain.endswith(PASSWORDS) or last == "password":
        return Name(plain, is_password=True)
    return Name(plain, is_password=False) if plain.endswith(KEYS) or last else None


def is_secret(name: Name, value: str, *, literal: bool) -> bool:
    """Whether the value of a name is a secret; `literal` where the value is surely a text and not a variable's name."""
    if name.is_password:
        return is_password(value, literal=literal)
    return is_key(value, LEAST_KEY) and re.search(r"[ ;]", value) is None


NETRC = re.compile(r"login\s\S{1,64}\s\Z")
WRITTEN_OUT = ("quoted", "element", "yaml", "space")


def _is_told(text: str, start: int, space: str) -> bool:
    """Whether a space between a name and a value is enough: behind an option, in `is`, and in a netrc file."""
    return bool(space.strip()) or text.startswith("--", start) or NETRC.search(text, max(0, start - 80), start) is not None


def _is_literal(text: str, start: int, found: re.Match[str]) -> bool:
    """Whether a value is written out: in quotes, in a variable of the environment, behind an option, in an element."""
    if found["listed"] is not None:
        return False
    if any(found[kind] is not None for kind in WRITTEN_OUT) or text.startswith("--", start):
        return True
    return found["sign"] == "=" and text[start : found.start("sign")].isupper()


# ---- services that have no beginning of their own

VALUE_OF_SERVICE = [
    re.compile(rf"{sign}[ \t\"'`\\]{{0,8}}(?=[A-Za-z0-9_=.:+/-]{{14}})(?=[A-Za-z_+/-]{{0,40}}[0-9])")
    for sign in ("=", ":", ">")
]
SHORT = 5  # letters of a service's name that may also be a part of a word: `blob`
WORDS_OF_SERVICES = {word for row in NAMED_SERVICES for word in row.words}
SERVICE_NAMES = re.compile(
    "|".join(rf"(?<![a-z]){word}" if len(word) <= SHORT else word for word in sorted(WORDS_OF_SERVICES))
)
BY_WORD = {
    word: [(row.name, re.compile(row.value)) for row in NAMED_SERVICES if word in row.words] for word in WORDS_OF_SERVICES
}
NAME_OF_SERVICE = re.compile(r"[A-Za-z0-9_.\- \t:]{2,64}\]?[\"'`\\ :=]{0,10}\Z")


def _services(text: str) -> Iterator[Found]:
    """Every value in a text that has the form of a service's keys, and the service's name before it."""
    for sign in VALUE_OF_SERVICE:
        for place in sign.finditer(text):
            line = NAME_OF_SERVICE.search(text, max(0, place.start() - 76), place.start())
            named = SERVICE_NAMES.findall(line[0].lower().replace("-", "_")) if line else ()
            for rule, value in (row for word in dict.fromkeys(named) for row in BY_WORD[word]):
                found = value.match(text, place.end())
                if found is not None and not is_blank(found[0]):
                    yield Found(found.start(), found.end(), rule)
                    break

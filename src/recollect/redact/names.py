"""Finds secrets by the name that they are assigned to: `API_KEY=…`, `"password": "…"`, `--token …`, `X-Api-Key: …`."""

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import NamedTuple

from recollect.redact.literals import Literal, SecretMatch
from recollect.redact.named_services import NAMED_SERVICES
from recollect.redact.shapes import NEWLINE
from recollect.redact.values import is_blank, is_key, is_password

HINTS = ("pass", "pwd", "ecret", "cred", "auth", "key", "token")  # every name contains one of them
PLURAL = ("s", "S")
RANK = 3
PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "secret")
KEYS = (
    "token", "apikey", "accesskey", "secretkey", "accountkey", "encryptionkey", "signingkey", "privatekey", "masterkey",
    "authkey", "servicekey", "clientkey", "dbkey", "databasekey", "storagekey", "sharedkey", "licensekey", "sessionkey",
    "deploykey", "hmackey", "aeskey", "cryptokey", "appkey", "adminkey", "writekey", "serverkey", "applicationkey",
    "subscriptionkey", "functionkey", "credential", "credentials", "authorization", "integrationkey",
)  # fmt: skip
WORDS = {"pass": "password", "pw": "password", "auth": "token", "cred": "token", "creds": "token"}  # only as complete words
AFTER = re.compile(r"(?:value|data|base64|b64|base|raw|string|text|plain|prod|dev|staging|live|test|old|new|default|\d+)\Z")
NOT_SECRET = re.compile(
    r"(?:next|page|pagination|continuation|continue|public|publickey|pub|sync|start|end|bos|eos|pad|unk|mask|cls|sep|cancel"
    r"|cancellation|special|image|primary|foreign|partition|sort|cache|color|design|stop|skip|invalid|csrf|xsrf"
    r"|lock|starting|forward|backward)"
    r"(?:token|key|accesskey)\Z"
)
NAME_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
MAX_NAME = 48  # characters before the hint
MIN_KEY = 12  # characters of a value, unless the name means a password
LONG_VALUE = 256  # characters: inside a longer value, no other name is searched
MIN_LISTED = 12  # characters of a value that only follows a name: two words of a list are not an assignment

QUOTE = r"(?:\\{0,7}[\"'`]|&quot;|&\#34;|\\{1,7}u002[27]|%22|%27)"
TYPE = (
    r"(?:[ ]?:[ ]?[A-Za-z_&*][\w.\[\]<>|&?*' ]{0,40}?(?=[ ]?=[^=])|[ ][*&]?[A-Za-z][\w.]{0,20}(?=[ ]=[ ])"
    r"|[ ]\{[ ]?get;[^}\n]{0,20}\}(?=[ ]?=))?"
)
SIGN = r"(?::=|:-|=>|={1,3}|!={1,2}|\?\?=?|\?=|\|\|=?|:|=|%3[AaDd])"
# Between a sign and a value on the next line
BREAK = rf"(?:\(?\\?{NEWLINE}[ \t]{{0,40}}|[|>][+-]?{NEWLINE}[ ]{{1,40}}|\((?:{QUOTE}[\w.@-]{{1,64}}{QUOTE},[ ])?)?"
WRAPPED = r"(?:(?:SecretStr|String::from|String|str|bytes|Buffer\.from|Secret|Some)\()?[bBrRuUfF@]{0,2}"
SCHEME = r"(?:(?i:Bearer|Basic|Token|ApiKey|Api-Key|Digest|Key|AWS|token=)(?:[ ]|%20|(?<==))){0,2}"
OPERATOR = (
    rf"(?P<attribute>{QUOTE}(?:,\s{{0,80}}|\s{{1,80}}){QUOTE}?(?i:value){QUOTE}?\s?[:=]\s?"  # name="password" value="…"
    rf"|{QUOTE}[ ]\{{[^{{}}]{{0,200}}?\bdefault[ ]{{1,16}}=[ ]"  # variable "password" { default = "…"
    rf"|</key>\s{{0,80}}<string>|[ ](?:--body|-b)[ =])"  # a property list; a secret of a forge
    rf"|(?P<yaml>[ ]?{NEWLINE}[ ]{{0,40}}value:[ ])"  # name: API_TOKEN, and its value on the next line
    rf"|(?P<listed>{QUOTE},\s{{0,40}}|\()(?={QUOTE})"  # setenv("API_KEY", "…"), password("…")
    rf"|(?P<element>{QUOTE}?(?<!-)>\s{{0,80}})"  # <password>…</password>
    rf"|(?P<cell>{QUOTE}?[ ]{{1,60}}\|[ ]{{1,4}})"  # | API_KEY | … |
    rf"|(?P<sign>{QUOTE}?\]?{TYPE}[ \t]{{0,16}}{SIGN}[ \t]{{0,16}}{BREAK})"
)
SPACE = r"(?P<space>[ ]{1,2}|[ ](?:is|was)[: ][ ]?)"
INSIDE = r"[^\"'`\\\x00-\x1f&%]|\\+[^\"'`nrt\\u\x00-\x1f]|&(?!quot;|\#34;)|%(?!2[27])"
QUOTED = rf"(?P<quote>{QUOTE}){SCHEME}(?P<quoted>(?:{INSIDE}){{4,512}}?)(?P=quote)"
BARE = rf"{SCHEME}(?P<bare>[^\s\"'`<>,;()\[\]{{}}|&\\\x00-\x1f]{{4,1024}})(?P<next>[(\[]?)"
ASSIGNED = re.compile(rf"(?:{OPERATOR}|{SPACE})(?:{WRAPPED}{QUOTED}|{BARE})")
# The rest of a name, and a sign that something could be assigned to it
ASSIGNABLE = re.compile(
    r"[A-Za-z0-9_.-]{0,32}(?:\[\w{0,20}\])?"
    r"(?=[\"'`\\&:=(>\]?|!%]|[ \t]{1,16}[:=?|!*&\"'-]|[ ](?:is|was|[A-Za-z]\w*[ ]=)[ :]|[ ]?\n[ ]+value:|[ ]{1,40}\|"
    r"|[ ]{1,2}\S|</key>)"
)
LISTED = re.compile(r"\A(?!\w*_\w*_\w*\Z).*[0-9]|\A[A-Z]+\Z|\A[a-z]+\Z")  # not the name of a type or a constant


class Name(NamedTuple):
    """A name whose value may be a secret."""

    text: str
    is_password: bool
    is_vague: bool = False  # any `…_KEY`: its value is a key only if it cannot be anything else


def _find_assigned(text: str, position: int, *, length: int) -> Iterator[SecretMatch]:
    """The secret assigned to the name whose hint is at this position."""
    end = position + length
    if text[end : end + 1] in PLURAL and text[end - 1 : end] not in "dDhHsS":  # tokens, keys; but not creds, auths
        return
    name_end = ASSIGNABLE.match(text, end)
    if name_end is not None:
        yield from _find_value(text, position, name_end.end())


def _find_value(text: str, hint: int, end: int) -> Iterator[SecretMatch]:
    """The value of the name that ends at `end`, if the name is that of a secret and the value is one."""
    before = text[max(0, hint - MAX_NAME) : hint]
    start = hint - (len(before) - len(before.rstrip(NAME_SIGNS)))
    name = _name_at(text, start, end)
    match = ASSIGNED.match(text, end) if name else None
    if name is None or match is None or (match["space"] is not None and not _is_assigned_by_space(text, start, match)):
        return
    group = "quoted" if match["quoted"] is not None else "bare"
    value = match[group] if group == "quoted" else match[group].rstrip(".:!")
    if match["listed"] is not None and not (is_key(value, MIN_LISTED) and LISTED.search(value)):
        return
    if (
        _is_not_assigned(text, start, match)
        or (name.text.endswith("pwd") and value[:1] in "/~")
        or value.startswith("REDACTED:")
    ):
        return
    position = match.start(group)
    if is_secret(name, value, literal=_is_literal(text, start, match)):
        rule = "basic-auth" if text[position - 6 : position].lower() == "basic " else "assigned-secret"
        yield SecretMatch(position, position + len(value), rule)
    elif len(value) > LONG_VALUE:
        yield SecretMatch(position, position + len(value))


def _is_not_assigned(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the value is called or indexed, or belongs to the same identifier as the name: `aws:123:secret:name`."""
    sign = match["sign"] or ""
    if match["next"] or (sign == ":" and text[start - 1 : start] == ":" and match["bare"]):
        return True
    if sign.startswith(":") and text[start : match.start()] == "PASS":  # the result of a test
        return True
    element = match["element"]
    return element is not None and element[-1:].isspace() and CLOSING.match(text, match.end()) is None


CLOSING = re.compile(r"\s{0,80}</")


WORD_BEFORE = re.compile(r"([A-Za-z]{2,16}) \Z")


def _name_at(text: str, start: int, end: int) -> Name | None:
    """The name at `start`. In a sentence, the word before belongs to it: `api key`, `page token`."""
    identifier = text[start:end]
    name = parse_name(identifier)
    if name is None and identifier not in ("key", "Key", "KEY"):
        return None
    word = WORD_BEFORE.search(text, max(0, start - 18), start)
    if word is None:
        return name
    if name is None:
        return parse_name(f"{word[1]}{identifier}")
    return None if NOT_SECRET.fullmatch(word[1].lower() + name.text) else name


@lru_cache(maxsize=4096)
def parse_name(identifier: str) -> Name | None:
    """The name of a secret, from an identifier in any spelling; None if the identifier does not name a secret."""
    plain = re.sub(r"\[.*|[^a-z0-9]", "", identifier.lower())
    plain = AFTER.sub("", AFTER.sub("", plain))
    if NOT_SECRET.search(plain):
        return None
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier)
    last = WORDS.get(words[-1].lower(), "") if words else ""
    if plain.endswith(PASSWORDS) or last == "password":
        return Name(plain, is_password=True)
    if plain.endswith(KEYS) or last:
        return Name(plain, is_password=False)
    is_variable = identifier.isupper() and identifier.endswith("_KEY")  # an environment variable
    return Name(plain, is_password=False, is_vague=True) if is_variable else None


def is_secret(name: Name, value: str, *, literal: bool) -> bool:
    """Whether the value of a name is a secret. `literal` means that the value cannot be a variable's name."""
    if name.is_password:
        return is_password(value, literal=literal)
    if name.is_vague and SURE_KEY.fullmatch(value) is None:
        return False
    if name.text.endswith(REQUESTS) and UUID.fullmatch(value):
        return False
    return is_key(value, MIN_KEY) and re.search(r"[ ;]", value) is None


# These tokens identify a request that may be sent twice
REQUESTS = ("clienttoken", "requesttoken", "idempotencytoken", "changetoken", "actiontoken")
UUID = re.compile("[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
SURE_KEY = re.compile(r"(?=[A-Za-z+/=-]*[0-9])[A-Za-z0-9+/=-]{16,}")


NETRC = re.compile(r"login\s{1,8}\S{1,64}\s{1,8}\Z")
# Commands and statements that a name and its value follow
NAMING = re.compile(
    r"(?:#[ ]?define|\b(?:ENV|ARG|SET|setx?|setenv|WITH|ENCRYPTED|USER \S{1,40}|ROLE \S{1,40}|proxy_set_header))"
    r"(?:[ ]-{1,2}\w{1,10})*[ ]{1,4}[\"']?\Z"
)
# A value that cannot be a word of a sentence
RANDOM = re.compile(r"(?=[A-Za-z]{0,12}[0-9])(?=[a-z0-9]{0,16}[A-Z])(?=[A-Z0-9]{0,16}[a-z])[A-Za-z0-9]{12,200}[.,]?")
COMPARED = re.compile("[=!]=")
WRITTEN_OUT = ("quoted", "element", "yaml")


def _is_assigned_by_space(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether the space before the value assigns it: after an option or a command, with `is`, in a netrc file."""
    if match["space"].strip() or text.startswith("--", start) or RANDOM.fullmatch(match["bare"] or ""):
        return True
    before = max(0, start - 80), start
    return NETRC.search(text, *before) is not None or NAMING.search(text, *before) is not None


def _is_literal(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a value is a literal: in quotes, in an environment variable, after an option, in an element."""
    if any(match[kind] is not None for kind in ("listed", "cell")) or COMPARED.search(match["sign"] or ""):
        return False
    if text.startswith("--", start):
        return True
    if match["space"] is not None:
        return False
    if any(match[kind] is not None for kind in WRITTEN_OUT):
        return True
    return match["sign"] == "=" and text[start : match.start("sign")].isupper()


# ---- services whose keys have no prefix

# The rest of a name, which may have several words. Before a word that does not belong to a sentence, a space is enough
ASSIGNED_TO_SERVICE = re.compile(
    rf"[A-Za-z0-9_.-]{{0,32}}(?:[ ][A-Za-z0-9_.-]{{1,16}}){{0,3}}?"
    rf"(?:{OPERATOR}|[ ](?:is|was)[: ][ ]?|[ ]{{1,2}}(?=[\"'`\\]{{0,4}}[A-Za-z_=-]{{0,60}}[0-9])(?=\S{{14}}))"
    rf"(?:{WRAPPED}{QUOTED}|{BARE})"
)


def _find_service_key(
    text: str, position: int, *, word: str, rows: list[tuple[str, re.Pattern[str]]]
) -> Iterator[SecretMatch]:
    """The key of a service: assigned to a name that contains the service's name, with the form of its keys."""
    if len(word) <= MAX_SHORT_NAME and text[position - 1 : position].isalpha():
        return
    match = ASSIGNED_TO_SERVICE.match(text, position + len(word))
    if match is None:
        return
    group = "quoted" if match["quoted"] is not None else "bare"
    for rule, pattern in rows:
        value_match = pattern.match(text, match.start(group))
        if value_match is not None and not is_blank(value_match[0]):
            yield SecretMatch(value_match.start(), value_match.end(), rule)
            return


MAX_SHORT_NAME = 5  # letters of a service's name that may also be a part of a word: `lob` in `blob`
BY_WORD: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
for _row in NAMED_SERVICES:
    for _word in _row.words:
        BY_WORD.setdefault(_word, []).append((_row.name, re.compile(_row.value)))
NAME_LITERALS = [
    *(Literal(hint, partial(_find_assigned, length=len(hint)), RANK, any_case=True) for hint in HINTS),
    *(
        Literal(word, partial(_find_service_key, word=word, rows=rows), RANK, any_case=True)
        for word, rows in BY_WORD.items()
    ),
]

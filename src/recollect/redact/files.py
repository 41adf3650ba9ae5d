"""Secrets at a place that a file format or a command defines: Kubernetes secrets, `.pgpass`, `IDENTIFIED BY` in SQL."""

import re
from collections.abc import Iterator

from recollect.redact.literals import Found, Literal
from recollect.redact.shapes import NEWLINE
from recollect.redact.values import is_password, is_reference

QUOTE = r"(?:\\{0,7}[\"'])"
# Rules, each with a text that has the secret between the marks
EXAMPLES = [
    ("kubernetes-secret", "kind: Secret\ndata:\n  greeting: «<w20>»\n"),
    ("kubernetes-secret", "kubectl create secret generic a --from-literal=greeting=«<w16>»"),
    ("pgpass-password", "db.example.org:5432:app:anna:«<w16>»"),
    ("sql-password", "CREATE USER 'anna'@'%' IDENTIFIED BY '«<w16>»'"),
]
RANK = 2


# ---- Kubernetes: every value below `data:` of a manifest of kind Secret

KIND = re.compile(rf"kind{QUOTE}?:[ ]?{QUOTE}?Secret(?![A-Za-z])")
DOCUMENT = 4_000  # characters around the kind that are searched
NEAR = 200  # characters: two kinds this close are in one manifest
BOUNDARY = re.compile(rf"(?:{NEWLINE})---(?:{NEWLINE})")
DATA = re.compile(rf"(?:(?<![A-Za-z])|(?<=\\n))(?:data|stringData){QUOTE}?:[ ]?(?:{NEWLINE}|\{{)")
ENTRY = re.compile(
    rf"(?:\s|{NEWLINE}){{0,40}}{QUOTE}?[\w.-]{{1,80}}{QUOTE}?:[ ]{{1,8}}(?:[|>][+-]?{NEWLINE}[ ]{{1,40}})?"
    rf"{QUOTE}?(?P<value>[^\s\"'\\{{}},]{{4,8000}}){QUOTE}?,?"
)

LITERAL = re.compile(r"--from-literal[= ]\\{0,7}[\"']?[\w.-]{1,80}=\\{0,7}[\"']?(?P<value>[^\s\"'\\]{4,500})")


def _manifest(text: str, place: int) -> Iterator[Found]:
    """Every value of the manifest whose kind is at this place."""
    kind = KIND.search(text, max(0, place - 16), place + 7)
    if kind is not None and KIND.search(text, max(0, kind.start() - NEAR), kind.start()) is None:
        yield from _secret_data(text, *_document(text, kind.start(), kind.end()))


def _literal(text: str, place: int) -> Iterator[Found]:
    """A value of `kubectl create secret`."""
    literal = LITERAL.match(text, place)
    if literal is not None and not is_reference(literal["value"]):
        yield Found(literal.start("value"), literal.end("value"), "kubernetes-secret")


def _document(text: str, start: int, end: int) -> tuple[int, int]:
    """The start and end of the manifest around a place. A file may have several."""
    first = max(0, start - DOCUMENT)
    for boundary in BOUNDARY.finditer(text, first, start):
        first = boundary.end()
    following = BOUNDARY.search(text, end, end + DOCUMENT)
    return first, following.start() if following else min(len(text), end + DOCUMENT)


def _secret_data(text: str, first: int, last: int) -> Iterator[Found]:
    for data in DATA.finditer(text, first, last):
        entry = ENTRY.match(text, data.end(), last)
        while entry is not None:
            value = entry["value"]
            if not is_reference(value) and not value.startswith("REDACTED:"):
                yield Found(entry.start("value"), entry.end("value"), "kubernetes-secret")
            entry = ENTRY.match(text, entry.end(), last)


# ---- .pgpass: host:port:database:user:password

PORTS = ":5432:", ":5433:", ":6432:", ":*:"
HOST = re.compile(r"(?<![^\s\"'`])[A-Za-z0-9_.*-]{1,100}\Z")
REST = re.compile(
    r":(?:\d{4,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z0-9_.*@-]{1,64}:(?P<password>(?:\\:|[^\s:\\\"'`]){4,200})(?![^\s\"'`\\])"
)


def _pgpass(text: str, place: int) -> Iterator[Found]:
    found = REST.match(text, place)
    if found and HOST.search(text, max(0, place - 100), place) and is_password(found["password"], literal=True):
        yield Found(found.start("password"), found.end("password"), "pgpass-password")


# ---- SQL: IDENTIFIED BY '…'

IDENTIFIED = re.compile(
    r"(?i)DENTIFIED (?:WITH \w+ )?BY (?:PASSWORD )?(?P<quote>\\{0,7}['\"])(?P<password>[^'\"\s\\]{4,200})(?P=quote)"
)


def _sql(text: str, place: int) -> Iterator[Found]:
    found = IDENTIFIED.match(text, place)
    if found and is_password(found["password"], literal=True):
        yield Found(found.start("password"), found.end("password"), "sql-password")


FILE_LITERALS = [
    Literal("Secret", _manifest, RANK),
    Literal("--from-literal", _literal, RANK),
    *(Literal(port, _pgpass, RANK) for port in PORTS),
    Literal("dentified ", _sql, RANK, any_case=True),
]

"""Finds secrets where a file format or a command puts them: Kubernetes secrets, `.pgpass`, `IDENTIFIED BY` in SQL."""

import re
from collections.abc import Iterator

from recollect.redact.literals import Literal, SecretMatch
from recollect.redact.shapes import NEWLINE
from recollect.redact.values import is_password, is_reference

QUOTE = r"(?:\\{0,7}[\"'])"
# Rules, each with a text in which « and » enclose the secret
EXAMPLES = [
    ("kubernetes-secret", "kind: Secret\ndata:\n  greeting: «<w20>»\n"),
    ("kubernetes-secret", "kubectl create secret generic a --from-literal=greeting=«<w16>»"),
    ("pgpass-password", "db.example.org:5432:app:anna:«<w16>»"),
    ("sql-password", "CREATE USER 'anna'@'%' IDENTIFIED BY '«<w16>»'"),
]
RANK = 2


# ---- Kubernetes: every value below `data:` of a manifest of kind Secret

KIND = re.compile(rf"kind{QUOTE}?:[ ]?{QUOTE}?Secret(?![A-Za-z])")
MAX_MANIFEST = 4_000  # characters before and after the kind that are searched
SAME_MANIFEST = 200  # characters: two kinds that are closer are in one manifest
BOUNDARY = re.compile(rf"(?:{NEWLINE})---(?:{NEWLINE})")
DATA = re.compile(rf"(?:(?<![A-Za-z])|(?<=\\n))(?:data|stringData){QUOTE}?:[ ]?(?:{NEWLINE}|\{{)")
ENTRY = re.compile(
    rf"(?:\s|{NEWLINE}){{0,40}}{QUOTE}?[\w.-]{{1,80}}{QUOTE}?:[ ]{{1,8}}(?:[|>][+-]?{NEWLINE}[ ]{{1,40}})?"
    rf"{QUOTE}?(?P<value>[^\s\"'\\{{}},]{{4,8000}}){QUOTE}?,?"
)

LITERAL = re.compile(r"--from-literal[= ]\\{0,7}[\"']?[\w.-]{1,80}=\\{0,7}[\"']?(?P<value>[^\s\"'\\]{4,500})")


def _find_manifest_values(text: str, position: int) -> Iterator[SecretMatch]:
    """Every value of the Kubernetes secret whose `kind` is at this position."""
    kind = KIND.search(text, max(0, position - 16), position + 7)
    if kind is not None and KIND.search(text, max(0, kind.start() - SAME_MANIFEST), kind.start()) is None:
        yield from _find_data_values(text, *_manifest_bounds(text, kind.start(), kind.end()))


def _find_literal_value(text: str, position: int) -> Iterator[SecretMatch]:
    """The value of an option of `kubectl create secret`."""
    literal = LITERAL.match(text, position)
    if literal is not None and not is_reference(literal["value"]):
        yield SecretMatch(literal.start("value"), literal.end("value"), "kubernetes-secret")


def _manifest_bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """The start and end of the manifest around a kind. A file may have several manifests."""
    first = max(0, start - MAX_MANIFEST)
    for boundary in BOUNDARY.finditer(text, first, start):
        first = boundary.end()
    following = BOUNDARY.search(text, end, end + MAX_MANIFEST)
    return first, following.start() if following else min(len(text), end + MAX_MANIFEST)


def _find_data_values(text: str, first: int, last: int) -> Iterator[SecretMatch]:
    for data in DATA.finditer(text, first, last):
        entry = ENTRY.match(text, data.end(), last)
        while entry is not None:
            value = entry["value"]
            if not is_reference(value) and not value.startswith("REDACTED:"):
                yield SecretMatch(entry.start("value"), entry.end("value"), "kubernetes-secret")
            entry = ENTRY.match(text, entry.end(), last)


# ---- .pgpass: host:port:database:user:password

PORTS = ":5432:", ":5433:", ":6432:", ":*:"
HOST = re.compile(r"(?<![^\s\"'`])[A-Za-z0-9_.*-]{1,100}\Z")
AFTER_HOST = re.compile(
    r":(?:\d{4,5}|\*):[A-Za-z0-9_.*-]{1,64}:[A-Za-z0-9_.*@-]{1,64}:(?P<password>(?:\\:|[^\s:\\\"'`]){4,200})(?![^\s\"'`\\])"
)


def _find_pgpass_password(text: str, position: int) -> Iterator[SecretMatch]:
    match = AFTER_HOST.match(text, position)
    if match and HOST.search(text, max(0, position - 100), position) and is_password(match["password"], literal=True):
        yield SecretMatch(match.start("password"), match.end("password"), "pgpass-password")


# ---- SQL: IDENTIFIED BY '…'

IDENTIFIED = re.compile(
    r"(?i)DENTIFIED (?:WITH \w+ )?BY (?:PASSWORD )?(?P<quote>\\{0,7}['\"])(?P<password>[^'\"\s\\]{4,200})(?P=quote)"
)


def _find_sql_password(text: str, position: int) -> Iterator[SecretMatch]:
    match = IDENTIFIED.match(text, position)
    if match and is_password(match["password"], literal=True):
        yield SecretMatch(match.start("password"), match.end("password"), "sql-password")


FILE_LITERALS = [
    Literal("Secret", _find_manifest_values, RANK),
    Literal("--from-literal", _find_literal_value, RANK),
    *(Literal(port, _find_pgpass_password, RANK) for port in PORTS),
    Literal("dentified ", _find_sql_password, RANK, any_case=True),
]

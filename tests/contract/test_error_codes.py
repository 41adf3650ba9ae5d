"""Every error that a contract or a client names is produced somewhere."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import errors
from recollect.client.errors import BY_CODE
from recollect.errors import ErrorKind, RecollectError
from recollect.operations.history import envelope
from recollect.operations.library import envelope as _library_envelope
from recollect.operations.sessions import envelope as _sessions_envelope
from recollect.operations.trace import envelope as _trace_envelope

SOURCE = Path(recollect.__file__).parent
ROOT = SOURCE.parents[1]
ELSEWHERE = {
    "UNAUTHORIZED",
    "FORBIDDEN_HOST",
    "FORBIDDEN_ORIGIN",
    "CONNECTION_LOST",
}  # of surfaces, and of the client itself
NEVER = (
    "SESSION_NOT_RUNNING",
    "rate_limit_exceeded",
)  # interrupting an idle session is not an error; there is no rate limit
WHERE_CODES_ARE = ("src/recollect", "sdk/typescript/src", "docs")


def raised_names() -> Iterator[str]:
    """The names of everything that is called, raised or subclassed anywhere in the package."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            called = node.func if isinstance(node, ast.Call) else node.exc if isinstance(node, ast.Raise) else None
            if isinstance(called, ast.Name):
                yield called.id
            if isinstance(node, ast.ClassDef) and path.name != "errors.py":
                yield from (base.id for base in node.bases if isinstance(base, ast.Name))


def kinds_of(error: type[RecollectError]) -> Iterator[tuple[str, ErrorKind]]:
    for one in error.__subclasses__():
        if one.__module__ == errors.__name__:
            yield one.__name__, one.kind
            yield from kinds_of(one)


def test_every_error_is_raised_somewhere() -> None:
    names, kinds = zip(*kinds_of(RecollectError), strict=True)
    assert {*names} - {*raised_names()} == set()
    assert {*ErrorKind} - {*kinds} == set()


def test_the_client_has_exactly_the_codes_of_the_server() -> None:
    library = {*_library_envelope.CODES.values(), _library_envelope.INTERNAL}
    assert {*BY_CODE} == {*_sessions_envelope.CODES.values()} | library | ELSEWHERE


def test_every_error_in_the_texts_of_a_family_exists() -> None:
    for family in (envelope, _library_envelope, _sessions_envelope, _trace_envelope):
        assert {*family.CODES} <= {kind for _, kind in kinds_of(RecollectError)}


@pytest.mark.parametrize("code", NEVER)
def test_every_promised_code_is_produced(code: str) -> None:
    files = (path for part in WHERE_CODES_ARE for path in (ROOT / part).rglob("*") if path.suffix in {".py", ".ts", ".md"})
    assert [str(path) for path in files if re.search(rf"\b{code}\b", path.read_text("utf-8"))] == []

"""Both SDKs offer the same things under the same names, each in the spelling of its language."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import library_methods
import pytest
import typescript_library

from recollect import client as sdk
from recollect.client import errors, events

SOURCES = Path(__file__).parents[2] / "sdk" / "typescript" / "src"
TEXT = "\n".join(path.read_text("utf-8") for path in sorted(SOURCES.glob("*.ts")) if path.name != "operations.ts")
MEMBER = re.compile(r"^  (?:static |async |readonly |get |\*)*([a-z]\w*)\??[<(:]", re.MULTILINE)
UNITS = {"silence_s": "silenceMs"}  # each language has its own unit of time


def camel(name: str) -> str:
    return UNITS.get(name) or re.sub(r"_(\w)", lambda part: part[1].upper(), name)


def declared(name: str) -> tuple[str, str]:
    """The base and the body of a class or an interface."""
    found = re.search(rf"^export (?:class|interface) {name}\b([^{{]*){{\n(.*?)^}}", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"there is no {name}"
    return found[1], found[2]


def members(name: str) -> set[str]:
    """The members of a class or an interface, with those of its base."""
    parents, body = declared(name)
    own = set(MEMBER.findall(body)) - {"constructor"}
    return own.union(
        *(members(parent) for parent in re.findall(r"\b(?:\w+Options|LibraryFilters|LibraryMethods)\b", parents))
    )


def public(kind: type) -> set[str]:
    """The public names of a class, with the attributes that its constructor sets."""
    made = re.findall(r"self\.([a-z]\w*) = ", inspect.getsource(kind))
    return {camel(name) for name in [*dir(kind), *made] if not name.startswith("_")}


@pytest.mark.parametrize(
    ("name", "only_in_python"),
    [
        ("Client", set()),
        ("Session", set()),
        ("Journey", set()),
        ("TurnStream", {"wait"}),
        ("Library", set()),
        ("Pages", set()),
    ],  # in TypeScript, `result` is a promise
)
def test_both_sdks_offer_the_same_methods(name: str, only_in_python: set[str]) -> None:
    assert members(name) == public(getattr(sdk, name)) - only_in_python


@pytest.mark.process
@pytest.mark.parametrize(
    ("function", "interface", "only_in_typescript"),
    [
        (sdk.Client.spawn, "SpawnOptions", set()),
        (sdk.Client.connect, "ConnectOptions", set()),
        (sdk.Client.http, "HttpOptions", set()),
        (sdk.Client.create_session, "CreateOptions", set()),
        (sdk.Client.create_deferred_session, "DeferredOptions", set()),
        (sdk.Client.list_sessions, "ListOptions", set()),
        (sdk.Client.config_patch, "ConfigOptions", set()),
        (sdk.Session.start_turn, "TurnOptions", {"signal"}),  # in Python, the waiting task is cancelled
        (sdk.Session.history, "PageOptions", set()),
        (sdk.Session.events, "EventsOptions", {"signal"}),
        (sdk.Journey.query, "QueryOptions", set()),
        (sdk.Journey.link, "LinkOptions", set()),
        (sdk.Journey.add_document, "NewDocument", set()),
    ],
    ids=lambda parameter: getattr(parameter, "__qualname__", None),
)
def test_both_sdks_take_the_same_arguments(
    function: Callable[..., Any], interface: str, only_in_typescript: set[str]
) -> None:
    """Keyword arguments have the same names; a positional argument in Python may be positional in TypeScript too."""
    parameters = [parameter for parameter in inspect.signature(function).parameters.values() if parameter.name != "self"]
    by_name = {camel(parameter.name) for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY}
    options = members(interface) - only_in_typescript
    assert by_name <= options <= {camel(parameter.name) for parameter in parameters}


@pytest.mark.parametrize("method", library_methods.methods(), ids=lambda method: method.name)
def test_a_method_of_the_library_takes_the_same_arguments_in_both_sdks(method: library_methods.Method) -> None:
    parameters = {*inspect.signature(getattr(sdk.Library, method.name)).parameters} - {"self", "filters"}
    declaration = re.search(rf"^  {camel(method.name)}\((.*)\): (?:Pages|Promise)<", TEXT, re.MULTILINE)
    assert declaration
    positional, options = re.match(r"(.*?)(?:options: (\w+) = {})?$", declaration[1]).groups()  # type: ignore[union-attr]
    offered = {*re.findall(r"(\w+)\??: ", positional)} | (members(options) if options else set())
    filters = {argument.name for argument in library_methods.filters()} if method.filters else set()
    assert {camel(name.removesuffix("_")) for name in parameters} | filters == offered


def test_the_librarys_methods_are_generated_from_the_table() -> None:
    assert (SOURCES / "library-methods.ts").read_text("utf-8") == typescript_library.generate(), "out of date: make sdk"


def test_both_sdks_have_the_same_errors_under_the_same_codes() -> None:
    declared = re.findall(r"^export class (\w+) extends (\w+)", TEXT, re.MULTILINE)
    bases = {kind.__name__: kind.__base__.__name__ for kind in vars(errors).values() if _is_error(kind)}
    assert {name: base for name, base in declared if base in {*bases, "RecollectError"}} == bases
    codes = dict(re.findall(r'\["([A-Za-z_]+)", (\w+)\]', TEXT))
    made_here = {"CONNECTION_LOST"}  # servers never send it
    assert codes == {code: kind.__name__ for code, kind in errors.BY_CODE.items() if code not in made_here}
    assert {int(status): code for status, code in re.findall(r'\[(\d{3}), "(\w+)"\]', TEXT)} == errors.BY_STATUS


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, errors.RecollectError) and kind is not errors.RecollectError


def test_both_sdks_have_the_same_texts_for_errors() -> None:
    assert errors.__doc__ is not None
    for line in errors.__doc__.splitlines():
        assert line in TEXT


def test_both_sdks_have_the_same_events() -> None:
    union = TEXT.split("export type SessionEvent =")[1].split(";")[0]
    known = {kind.__name__ for kind in events.Known.__args__}
    assert set(re.findall(r"\w+", union)) == known

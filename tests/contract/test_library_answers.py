"""Every answer of the library has the shape that the table declares, and its schemas explain themselves."""

import json
from typing import Any

import msgspec
import pytest

from recollect.distil import distil
from recollect.library_answers import Cost, LibrarySession, RunningSession
from recollect.operations import FAMILIES, OPERATIONS, Operation, answer_components
from recollect.operations.answer_types import field_docs, shapes_in
from tests.conftest import Person
from tests.contract.library_archive import Library, fill

LIBRARY = FAMILIES["library"].operations
READS: list[tuple[str, dict[str, Any]]] = [
    ("sessions", {"facets": ["agent", "label", "state"]}),
    ("session", {"id": "last"}),
    ("events", {"id": "last"}),
    ("search", {"query": "harbourmaster", "why": True}),
    ("usage", {"by": "session"}),
    ("export_session", {"id": "last", "format": "markdown"}),
    ("activity", {"since": ["2026-01-01"]}),
    ("now", {"all": True}),
    ("observations", {}),
    ("ask", {"question": "Who lifts the anchor?"}),
    ("health", {}),
    ("labels", {}),
    ("put_label", {"id": "last", "name": "sea"}),
    ("write_note", {"id": "last", "note": "wet"}),
    ("remove_label", {"id": "last", "name": "sea"}),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    person = Person(tmp_path_factory.mktemp("answers"))
    fill(person)
    assert distil(person.realm, person.settings(), person.env, lambda: False)
    return Library(person)


@pytest.mark.parametrize("operation", LIBRARY, ids=lambda operation: operation.name)
def test_every_operation_of_the_library_declares_its_answer(operation: Operation) -> None:
    assert operation.answer is not None


@pytest.mark.parametrize(("name", "arguments"), READS, ids=[name for name, _ in READS])
def test_an_answer_has_its_declared_shape(name: str, arguments: dict[str, Any], library: Library) -> None:
    answer = OPERATIONS[f"library_{name}"].answer
    assert answer is not None
    data = library.data(name, **arguments)
    assert json.loads(msgspec.json.encode(msgspec.convert(data, answer))) == data


def test_every_shape_explains_itself() -> None:
    components = answer_components()
    assert {name for name, schema in components.items() if not schema.get("description")} == set()
    assert {*components} == {*shapes_in(operation.answer for operation in LIBRARY if operation.answer is not None)}


def test_the_sentences_below_fields_are_their_descriptions() -> None:
    assert field_docs(Cost)["unpriced_tokens"].startswith("Tokens of models without a known price")
    assert field_docs(RunningSession) == field_docs(LibrarySession)
    assert answer_components()["Cost"]["properties"]["unpriced_tokens"]["description"] == field_docs(Cost)["unpriced_tokens"]

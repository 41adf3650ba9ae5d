"""The journey tools of the server have exactly the schemas of the contract."""

import json
from collections.abc import Iterator

import pytest

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from tests.conftest import Person
from tests.contract.history_client import hints_of
from tests.contract.journeys_client import (
    NOBODY,
    TYPES,
    Body,
    Journeys,
    connect_journeys,
)

pytestmark = pytest.mark.process

UUID = {"type": "string", "format": "uuid"}
TIME = {"type": "string", "format": "date-time"}
DOCUMENTS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"document_id": UUID, "document_type": {"type": "string"}, "title": {"type": "string"}, "created_at": TIME},
    },
}  # fmt: skip
SCHEMAS: dict[str, tuple[Body, Body]] = {
    "get_or_create_journey": (
        {
            "type": "object",
            "properties": {"user_id": {**UUID, "description": "User identifier. NULL/omitted for anonymous journey."}},
            "required": [],
        },
        {
            "type": "object",
            "properties": {
                "journey_id": UUID,
                "user_id": {"type": ["string", "null"], "format": "uuid"},
                "created_at": TIME,
                "session_count": {"type": "integer"},
                "is_new": {"type": "boolean", "description": "True if journey was just created"},
            },
            "required": ["journey_id", "created_at", "session_count", "is_new"],
        },
    ),
    "query_journey_history": (
        {
            "type": "object",
            "properties": {
                "journey_id": {**UUID, "description": "Journey to search within"},
                "query": {"type": "string", "description": "Keyword search on session summaries"},
                "from_date": {**TIME, "description": "Start of time range filter"},
                "to_date": {**TIME, "description": "End of time range filter"},
                "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 100},
                "include_documents": {
                    "type": "boolean",
                    "default": False,
                    "description": "Include linked documents in results",
                },
            },
            "required": ["journey_id"],
        },
        {
            "type": "object",
            "properties": {
                "journey_id": UUID,
                "sessions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "session_id": UUID,
                            "created_at": TIME,
                            "summary": {"type": "string"},
                            "has_diagnosis": {"type": "boolean"},
                            "relevance_score": {"type": "number"},
                        },
                    },
                },
                "documents": DOCUMENTS,
                "total_results": {"type": "integer"},
            },
            "required": ["journey_id", "sessions", "total_results"],
        },
    ),
    "add_document_to_journey": (
        {
            "type": "object",
            "properties": {
                "journey_id": {**UUID, "description": "Journey to link document to"},
                "document_type": {"type": "string", "enum": TYPES, "description": "Type of document"},
                "title": {"type": "string", "description": "Document title"},
                "content": {"type": "string", "description": "Document content or file path"},
                "metadata": {"type": "object", "description": "Additional metadata"},
            },
            "required": ["journey_id", "document_type"],
        },
        {
            "type": "object",
            "properties": {
                "document_id": UUID,
                "journey_id": UUID,
                "document_type": {"type": "string"},
                "created_at": TIME,
            },
            "required": ["document_id", "journey_id", "document_type", "created_at"],
        },
    ),
}
TOOLS = [*SCHEMAS, "link_session_to_journey"]
BUDGET = 4_200  # characters of the descriptions that a model gets of these tools


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journeys]:
    with connect_journeys(Person(tmp_path_factory.mktemp("journeys")), "--toolsets", "journeys") as client:
        yield client


def test_the_tools_have_the_schemas_of_their_contract(journeys: Journeys) -> None:
    listed = journeys.tools()
    assert list(listed) == TOOLS
    for name, (input_schema, output_schema) in SCHEMAS.items():
        assert (listed[name].input_schema, listed[name].output_schema) == (input_schema, output_schema)


def test_the_tools_say_what_they_may_do(journeys: Journeys) -> None:
    hints = {name: hints_of(tool) for name, tool in journeys.tools().items()}
    assert [name for name in hints if hints[name].read_only_hint] == ["query_journey_history"]
    assert not any(hints[name].idempotent_hint for name in ("get_or_create_journey", "add_document_to_journey"))
    assert hints["link_session_to_journey"].idempotent_hint
    assert not any(hint.destructive_hint for hint in hints.values())


def test_the_descriptions_of_the_tools_are_short_and_name_related_tools(journeys: Journeys) -> None:
    tools = journeys.tools().values()
    told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"annotations"}) for tool in tools]
    assert len(json.dumps(told, separators=(",", ":"))) <= BUDGET
    described = " ".join(tool.description or "" for tool in tools)
    assert all(name in described for name in ("query_journey_history", "search_sessions", "`open`"))


def test_operations_for_people_and_programs_are_not_tools(journeys: Journeys) -> None:
    others = {"journey_timeline", "list_documents", "get_document", "delete_document", "delete_journey"}
    assert others <= OPERATIONS.keys()
    assert not others & journeys.tools().keys()


@pytest.mark.parametrize("tool", TOOLS)
def test_the_error_for_an_unknown_argument_names_it(journeys: Journeys, tool: str) -> None:
    assert journeys.refusal(tool, {"journeyId": NOBODY}) == (400, "unknown argument: journeyId")


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if "journey" in name or "document" in name])
def test_arguments_that_are_not_an_object_are_refused(person: Person, operation: str) -> None:
    reply = OPERATIONS[operation].run(LiveRealm(person.settings()), ["journey_id"], RequestContext.now())
    assert json.loads(reply.text) == {"code": 400, "message": "arguments must be an object"}

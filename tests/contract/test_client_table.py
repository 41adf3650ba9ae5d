"""The Python SDK agrees with the table of operations, with its blocking half, and with its page."""

import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import python_library

from recollect import client as sdk
from recollect.client import _async_session, _session, errors, events, results
from recollect.client._json import MAX_MESSAGE_BYTES
from recollect.client._routes import ROUTES
from recollect.client.events import event_of
from recollect.operations import OPERATIONS
from recollect.surfaces.transport import line_reader
from tests.clients import running_server
from tests.conftest import Person, without_coverage
from tests.contract import library_archive

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python-sdk.md"
BLOCKING = ("client", "journey", "library", "library_methods", "pages", "session")
ANSWERS = {
    "meerkat_start_turn": results.TurnResult,
    "meerkat_interrupt": results.InterruptResult,
    "meerkat_read": results.SessionState,
    "meerkat_history": results.HistoryPage,
    "meerkat_list": results.SessionList,
    "meerkat_archive": results.ArchiveResult,
    "meerkat_config": results.RealmConfig,
    "realm_list": results.RealmList,
    "realm_get": results.RealmInfo,
    "get_or_create_journey": results.JourneyInfo,
    "query_journey_history": results.JourneyHistory,
    "add_document_to_journey": results.AddedDocument,
    "link_session_to_journey": results.LinkedSession,
    "journey_timeline": results.Timeline,
    "list_documents": results.DocumentList,
    "get_document": results.Document,
    "delete_document": results.Document,
    "delete_journey": results.DeletedJourney,
}


@pytest.mark.process
def test_the_client_imports_nothing_of_the_server() -> None:
    """A program that only uses the client must not load the server."""
    code = "import sys, json, recollect.client; print(json.dumps(sorted(sys.modules)))"
    command, env = [sys.executable, "-c", code], without_coverage(os.environ)
    loaded = json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    ours = {name for name in loaded if name.startswith("recollect.") and not name.startswith("recollect.client")}
    known = {
        *sys.stdlib_module_names,
        "__main__",
        "recollect",
        "msgspec",
        "typing_extensions",
    }  # the last one is a dependency of msgspec
    foreign = {name.partition(".")[0] for name in loaded} - known
    assert ours == set()
    assert {name for name in foreign if not name.startswith(("_", "distutils"))} == set()


def test_every_method_has_exactly_its_path() -> None:
    assert {
        route.rpc: route.http for operation in OPERATIONS.values() for route in operation.routes if route.rpc and route.http
    } == ROUTES


def test_a_client_accepts_messages_as_long_as_a_server_does() -> None:
    assert MAX_MESSAGE_BYTES == line_reader.MAX_BYTES


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_an_answer_has_all_fields_of_the_contract(name: str) -> None:
    operation = OPERATIONS[name]
    assert missing(operation.response_schema, msgspec.inspect.type_info(ANSWERS[name])) == set()


def missing(schema: dict[str, Any], type_: Any, path: str = "") -> set[str]:
    """The fields of a schema that a type does not have, at any depth."""
    match type_:
        case msgspec.inspect.StructType(fields=fields):
            types = {field.encode_name: field.type for field in fields}
            named = schema.get("properties", {})
            absent = {f"{path}.{name}" for name in named if name not in types}
            inner = [missing(named[name], types[name], f"{path}.{name}") for name in named if name in types]
            return absent.union(*inner)
        case msgspec.inspect.ListType(item_type=item) if "items" in schema:
            return missing(schema["items"], item, f"{path}[]")
        case _:
            return set()


def test_every_method_with_a_path_is_offered() -> None:
    asked = set(re.findall(r'"((?:session|turn|config|realm|journey|document|library)/[\w/]+)"', _sources()))
    assert set(ROUTES) <= asked


def _sources() -> str:
    folder = Path(inspect.getfile(sdk)).parent
    return "".join(path.read_text() for path in folder.glob("_async_*.py"))


@pytest.mark.parametrize(
    ("waited", "awaited"),
    [
        (sdk.Client, sdk.AsyncClient),
        (sdk.Session, sdk.AsyncSession),
        (sdk.StartedSession, sdk.AsyncStartedSession),
        (sdk.DeferredSession, sdk.AsyncDeferredSession),
        (sdk.Journey, sdk.AsyncJourney),
        (sdk.TurnStream, sdk.AsyncTurnStream),
        (sdk.Library, sdk.AsyncLibrary),
        (sdk.Pages, sdk.AsyncPages),
    ],
    ids=lambda kind: kind.__name__,
)
def test_both_clients_offer_the_same_methods_with_the_same_docs(waited: type, awaited: type) -> None:
    assert spoken(waited) == spoken(awaited)


@pytest.mark.process
def test_the_blocking_client_is_generated_from_the_async_client() -> None:
    generated = runpy.run_path(str(ROOT / "scripts" / "blocking_client.py"))["generate"]()
    assert sorted(path.name for path in generated) == [f"_{name}.py" for name in BLOCKING]
    for path, text in generated.items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: make sdk"


@pytest.mark.process
def test_the_library_of_the_client_is_generated_from_the_table() -> None:
    for path, text in python_library.generate().items():
        assert path.read_text("utf-8") == text, f"{path.name} is out of date: make sdk"


def spoken(kind: type) -> dict[str, tuple[Any, str | None]]:
    """The public members of a class: names, parameters and docstrings."""
    members: dict[str, tuple[Any, str | None]] = {}
    for name in dir(kind):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property):
            members[name] = (None, member.__doc__)
            continue
        signature = inspect.signature(getattr(kind, name)).parameters.values()
        parameters = [
            (parameter.name, parameter.kind, parameter.default) for parameter in signature if parameter.name != "self"
        ]
        members[name] = (parameters, inspect.getdoc(getattr(kind, name)))
    return members


def test_every_public_name_is_listed() -> None:
    public = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.RecollectError)}
    public |= {name for name, one in vars(events).items() if inspect.isclass(one) and issubclass(one, events.SessionEvent)}
    public |= {name for module in (_session, _async_session) for name in vars(module) if name.endswith("Session")}
    assert {name for name in public if not name.startswith("_")} <= set(sdk.__all__)
    assert all(hasattr(sdk, name) for name in sdk.__all__)
    assert sdk.__all__ == sorted(sdk.__all__)


# ---- events


def test_an_event_of_an_unknown_kind_is_passed_on_complete() -> None:
    type_ = {"type": "mood_changed", "session_id": "s", "sequence": 4, "mood": "good"}
    event = event_of(json.dumps(type_).encode())
    assert (type(event), event.type, event.session_id, event.data) == (sdk.UnknownEvent, "mood_changed", "s", type_)  # type: ignore[attr-defined]


def test_fields_of_a_newer_server_are_ignored() -> None:
    event = event_of(b'{"type":"text_delta","session_id":"s","sequence":1,"delta":"d","more":[1]}')
    assert event == sdk.TextDelta(session_id="s", sequence=1, delta="d")
    assert event.type == "text_delta"


def test_an_event_of_a_known_kind_with_another_shape_is_passed_on_too() -> None:
    event = event_of(b'{"type":"text_delta","session_id":"s","sequence":1,"text":"d"}')
    assert (type(event), event.type) == (sdk.UnknownEvent, "text_delta")


# ---- the page


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.process
@pytest.mark.parametrize("number", range(len(examples())))
def test_every_example_of_the_page_runs(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples run with a server at the page's address, and with the results of the first example."""
    person = Person(tmp_path)
    library_archive.fill(person)
    monkeypatch.chdir(tmp_path)
    for name, value in person.env.items():
        monkeypatch.setenv(name, value)
    with running_server(person) as (place, _):
        code = examples()[number].replace("http://127.0.0.1:7377", place.url).replace("7378", str(place.port))
        with sdk.Client.http(place.url, place.token) as client:
            session = client.create_session("hello", command=["cat"])
            exec(code, {"Client": sdk.Client, "client": client, "session": session})


def test_the_page_names_only_existing_names_and_all_errors() -> None:
    page = PAGE.read_text()
    assert len(page.splitlines()) < 250
    methods = {name for kind in (sdk.Client, sdk.Session, sdk.Journey, sdk.TurnStream) for name in dir(kind)}
    named = set(re.findall(r"`(?:client|session|journey|turn|Client|AsyncClient)\.(\w+)", page))
    assert len([example for example in examples() if "client.library." in example]) >= 10
    assert named <= methods | {"id", "found"}, named - methods
    kinds = {kind.__name__ for kind in errors.RecollectError.__subclasses__()}
    assert {kind for kind in kinds if f"`{kind}`" not in page} == set()
    public = {name for kind in (sdk.Client, sdk.Library) for name in dir(kind) if not name.startswith("_")}
    assert {name for name in public if f"`{name}" not in page} == set()

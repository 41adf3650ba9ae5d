"""When the model or its vectors are missing, damaged or late, search works by words and warns. Nothing raises."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect.live import LiveRealm
from recollect.operations import OPERATIONS, RequestContext
from tests.conftest import Person
from tests.contract.memory_archive import SESSIONS
from tests.contract.memory_client import OBSERVATION, Memory, connect_memory, session_writer, write_session
from tests.e2e.processes import until

pytestmark = pytest.mark.process

search = OPERATIONS["search"]
LONG = "how long do people stay signed in"
DEADLINE = "the request took longer than its deadline"


def settle(person: Person) -> Person:
    for number, project, day, story in SESSIONS:
        write_session(person, number, project, day, story(session_writer(number, project)))
    person.state.mkdir(mode=0o700)
    return person


def choose(person: Person, **embedding: str) -> None:
    lines = [f'{name} = "{value}"' for name, value in embedding.items()]
    (person.state / "settings.toml").write_text("\n".join(["[embedding]", *lines, ""]))


FAULTS = {
    "no weights": {"model": "onnx", "path": "NOWHERE"},
    "damaged weights": {"model": "onnx", "path": "DAMAGED"},
    "a service that is down": {"model": "endpoint", "url": "http://127.0.0.1:9/v1", "name": "x"},
}


@pytest.fixture(scope="module", params=FAULTS)
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A home whose embedding model has never worked."""
    folder = tmp_path_factory.mktemp("memory")
    damaged = folder / "damaged"
    damaged.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (damaged / name).write_text("not what it says")
    person = settle(Person(folder))
    paths = {"NOWHERE": str(folder / "nowhere"), "DAMAGED": str(damaged)}
    choose(person, **{name: paths.get(value, value) for name, value in FAULTS[request.param].items()})
    person.run("sync")
    with connect_memory(person) as client:
        yield client


@pytest.mark.parametrize("mode", ["text", "vector", "both"])
def test_without_a_model_questions_are_answered_by_words_with_a_warning(memory: Memory, mode: str) -> None:
    text = memory.text("search", query="JWT access tokens", mode=mode)
    assert text.startswith("## Search Results (")
    assert text.rpartition("\n\nNote: ")[2].startswith(
        ("Not everything can be found by meaning: ", "Searching by words only: ")
    )
    assert memory.text("search", query=["jwt", "token"], mode=mode).startswith("## Search Results (1 conversation)")
    answer = json.loads(memory.text("search", query="JWT access tokens", mode=mode, response_format="json"))
    assert list(answer) == ["results", "total", "warnings"]
    assert len(answer["warnings"]) == 1
    assert all(0 < row["score"] <= 1 for row in answer["results"])


def test_without_a_model_everything_else_works(memory: Memory) -> None:
    identity = memory.record(type="test", title="Sextant", evidence_ids=[memory.evidence("Which seeds need")])
    assert memory.titles("sextant")[:1] == ["Sextant"]
    assert "Sextant" in memory.text("get_observations", ids=[identity])
    assert memory.text("read", path=memory.search_rows("sextant")[0]["path"])
    assert memory.hits("tokens")


def test_without_a_model_commands_succeed_and_warn(memory: Memory) -> None:
    for command in (("distil",), ("observations", LONG), ("ask", LONG)):
        completed = memory.person.run(*command)
        assert completed.stdout
        assert completed.stderr.startswith("! "), command
        assert "Traceback" not in completed.stderr
    assert memory.person.json("ask", LONG)["warnings"]
    assert memory.person.run("sync").returncode == 0


def test_without_a_model_the_history_is_searched_by_words_with_a_warning(memory: Memory) -> None:
    done = memory.person.run("search", LONG)
    assert "Add JWT authentication" in done.stdout
    assert done.stderr.startswith("! Searching by words only: ")


# ---- vectors


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A working home, for tests that do not change it."""
    person = settle(Person(tmp_path_factory.mktemp("whole")))
    person.run("sync")
    return person


def vector_files(person: Person) -> list[Path]:
    return sorted(path for path in person.realm.glob("vectors-*/*") if path.is_file())


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(b"\xff" * max(1, path.stat().st_size - 1)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_vectors_do_not_raise_and_words_find_the_same(person: Person, damage: str) -> None:
    """Each vector file in turn, in this process, so that an error is not hidden."""
    original = {path: path.read_bytes() for path in vector_files(person)}
    names = sorted({path.name for path in original})
    assert "head.json" in names
    for name in names:
        for path in (path for path in original if path.name == name):
            DAMAGES[damage](path)
        reply = search.run(
            LiveRealm(person.settings()), {"query": "JWT access tokens", "response_format": "json"}, RequestContext.now()
        )
        for path, content in original.items():
            path.write_bytes(content)
        assert not reply.is_error, (name, reply.text)
        assert json.loads(reply.text)["total"], name


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_vectors_are_built_again(person: Person, damage: str) -> None:
    for path in vector_files(person):
        DAMAGES[damage](path)
    assert person.run("distil", "--again").stdout.endswith(" observations.\n")
    with connect_memory(person) as client:
        assert client.search_rows("authentication of people signing in", mode="vector")
        assert client.search_rows(["access tokens", "server sessions"], mode="vector")


def test_another_model_takes_over_while_text_search_still_works(tmp_path: Path) -> None:
    """A model does not use the vectors of another; when the old model is set again, its vectors are used again."""
    person = settle(Person(tmp_path))
    person.run("sync")
    choose(person, model="endpoint", url="http://127.0.0.1:9/v1", name="x")
    with connect_memory(person) as client:
        assert client.text("search", query="JWT access tokens").startswith("## Search Results (")
        person.run("distil")
        assert client.text("search", query="JWT access tokens").startswith("## Search Results (")
    (person.state / "settings.toml").unlink()
    person.run("distil")
    with connect_memory(person) as client:
        text = client.text("search", query="authentication of people signing in", mode="vector")
        assert OBSERVATION.search(text)
        assert "\nNote: " not in text


def test_a_memory_that_is_behind_says_so_and_catches_up_by_itself(tmp_path: Path) -> None:
    person = settle(Person(tmp_path))
    person.sync()
    with connect_memory(person) as client:
        text = client.text("search", query="JWT access tokens")
        assert (
            text
            == "No observations found\n\nNote: Still processing the newest turns. Answers by meaning are incomplete until then."
        )
        assert client.text("search", query=["jwt", "token"], mode="text").startswith("## Search Results (1 conversation)")
        until(lambda: "\nNote: " not in client.text("search", query="JWT access tokens"))
        assert client.text("search", query="JWT access tokens").startswith("## Search Results (")


# ---- time


def test_a_request_past_its_deadline_is_an_error_with_a_reason(person: Person) -> None:
    with connect_memory(person, RECOLLECT_DEADLINE_MS="0") as client:
        assert client.refusal("search", query="lantern") == DEADLINE
        assert client.refusal("search", query=["jwt", "token"]) == DEADLINE
        assert client.refusal("read", path=str(person.claude_log(session_writer(1, "api").session, "-work-api"))) == DEADLINE
        assert client.refusal("search", query="x") == "Query must be at least 2 characters"

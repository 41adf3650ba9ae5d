"""Realms: a permanent manifest, a config that counts its writes, valid names, and full separation."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest

from recollect.errors import BadSettings
from recollect.realms.config import merge_patch
from recollect.realms.manifest import Backend, Origin, read_or_create
from recollect.realms.names import new_realm_name, uuid7
from recollect.settings import MAX_DEADLINE_MS
from tests.conftest import Person
from tests.http_server import HttpServer
from tests.logs import Claude, write
from tests.rpc_server import RawRpc

pytestmark = pytest.mark.process

RACERS = 8


def manifest(person: Person, realm: str = "main") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((person.state / "realms" / realm / "realm_manifest.json").read_text())
    return content


def refusal_of(person: Person, *arguments: str) -> str:
    """The one sentence that a refused command prints."""
    done = person.run(*arguments, check=False)
    assert (done.returncode, done.stdout) == (2, ""), arguments
    (line,) = done.stderr.splitlines()
    return line


# ---- the manifest


def test_a_realm_gets_its_manifest_when_it_is_first_used(person: Person) -> None:
    """M33, M35."""
    person.run("sync")
    first = manifest(person)
    assert {**first, "created_at": ...} == {
        "realm_id": "main", "backend": "sqlite", "origin": "workspace", "created_at": ..., "manifest_format": 1,
    }  # fmt: skip
    person.run("sync")
    person.run("status", "--realm", "main", "--realm-backend", "sqlite")
    assert manifest(person) == first, "it is written once"


def test_a_manifest_names_the_origin_of_its_realm(person: Person) -> None:
    person.run("sync", "--realm", "named")
    current = person.json("realm", "current", "--isolated")
    assert manifest(person, "named")["origin"] == "explicit"
    assert (current["origin"], manifest(person, current["realm_id"])["origin"]) == ("generated", "generated")
    assert current["realm_id"].startswith("realm-")


READS = (
    ["list"], ["search", "x"], ["ask", "x"], ["observations"], ["status"], ["doctor"], ["sources"], ["trace", "search", "x"],
    ["session", "list"], ["session", "show", "last"], ["config", "get"], ["realm", "current"], ["open", "session:abc"],
    ["extract", "--dry-run"],
)  # fmt: skip
ABSENT = "0dbc6043-fa2d-b317-6565-3f2854c9d3bc"  # the id of no journey and no session
EXISTING = (
    ["run", "x", "--resume", ABSENT], ["session", "archive", ABSENT], ["session", "interrupt", ABSENT],
    ["journey", "delete", ABSENT], ["journey", "link", ABSENT, ABSENT], ["journey", "timeline", ABSENT],
)  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--realm", "absent"), ("--isolated",)], ids=["default", "named", "isolated"])
@pytest.mark.parametrize("command", READS, ids=" ".join)
def test_a_read_never_creates_a_realm(person: Person, command: list[str], options: tuple[str, ...]) -> None:
    if command == ["realm", "current"] and "--isolated" in options:
        pytest.skip("`realm current --isolated` is how one makes a realm and learns its name")
    done = person.run(*command, *options, check=False)
    assert "Traceback" not in done.stderr
    assert ("There is no realm 'absent'" in done.stderr) is ("absent" in options)
    assert not person.state.exists()


@pytest.mark.parametrize("options", [(), ("--realm", "absent"), ("--isolated",)], ids=["default", "named", "isolated"])
@pytest.mark.parametrize("command", EXISTING, ids=" ".join)
def test_a_realm_is_not_created_to_look_something_up(person: Person, command: list[str], options: tuple[str, ...]) -> None:
    done = person.run(*command, *options, check=False)
    assert done.returncode and "Traceback" not in done.stderr
    assert not person.state.exists()


def test_racing_creators_agree(person: Person) -> None:
    """M33: in separate processes, each with its own origin or time."""
    code = (
        "import sys; from pathlib import Path; from recollect.realms.manifest import *\n"
        "sys.stdin.readline()\n"
        "print(read_or_create(Path(sys.argv[1]), 'contested', None, Origin.EXPLICIT).created_at)\n"
    )
    folder = person.state / "realms" / "contested"
    command = [sys.executable, "-c", code, str(folder)]
    racers = [
        subprocess.Popen(command, env=person.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    created_at = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert created_at == {manifest(person, "contested")["created_at"]}
    assert [path.name for path in folder.iterdir()] == ["realm_manifest.json"], "no temporary file is left"


def test_a_backend_that_a_realm_does_not_have_is_refused(person: Person) -> None:
    """M34."""
    person.run("realm", "create", "kept", "--realm-backend", "sqlite")
    assert refusal_of(person, "status", "--realm", "kept", "--realm-backend", "jsonl") == (
        "recollect: realm backend mismatch for 'kept': requested 'jsonl', existing 'sqlite'"
    )
    assert person.run("status", "--realm", "kept", "--realm-backend", "sqlite").returncode == 0


def test_a_manifest_of_a_newer_program_is_refused(person: Person) -> None:
    """M38."""
    person.run("realm", "create", "newer")
    path = person.state / "realms" / "newer" / "realm_manifest.json"
    path.write_text(json.dumps({**manifest(person, "newer"), "manifest_format": 2}))
    assert "was made by a newer Recollect (manifest 2" in refusal_of(person, "search", "x", "--realm", "newer")
    path.write_text('{"realm_id": "newer", ')
    assert "cannot be understood" in refusal_of(person, "status", "--realm", "newer")


def test_the_error_names_an_unreadable_realm_and_the_other_realms_are_listed(person: Person) -> None:
    generated = person.json("realm", "current", "--isolated")["realm_id"]
    for name in ("good", "newer", "torn", "folder"):
        person.run("realm", "create", name)
    paths = {name: person.state / "realms" / name / "realm_manifest.json" for name in ("newer", "torn", "folder")}
    paths["newer"].write_text(json.dumps({**manifest(person, "newer"), "origin": "generated", "manifest_format": 2}))
    paths["torn"].write_text('{"origin": "generated", "more": ' + "[" * 100_000)
    paths["folder"].unlink()
    paths["folder"].mkdir()
    with RawRpc(person, "--realm", "good") as rpc:
        answer = rpc.result("realm/list")
        assert rpc.error("realm/get", realm_id="newer")["data"]["code"] == "INVALID_PARAMS"
    assert answer == person.json("realm", "list")
    assert [row["realm_id"] for row in answer["realms"]] == ["good", generated]
    assert [(row["realm_id"], str(person.state) in row["message"]) for row in answer["failed"]] == [
        ("folder", True), ("newer", True), ("torn", True),
    ]  # fmt: skip
    listed = person.run("realm", "list")
    assert ("good" in listed.stdout, listed.stderr.count("\n")) == (True, 3)
    pruned = person.json("realm", "prune")
    assert [row["realm_id"] for row in pruned["realms"]] == [generated]
    assert pruned["failed"] == answer["failed"]
    assert all(path.exists() for path in paths.values()), "an unreadable realm is not deleted"


@pytest.mark.parametrize(
    "name", ["", "-first", "_first", "two words", "dot.ted", "a/b", "../up", "ü", "x" * 65, str(UUID(int=7)), "A\n"]
)
def test_a_bad_name_is_refused(person: Person, name: str) -> None:
    """M37."""
    assert refusal_of(person, "status", "--realm", name).startswith("recollect: A realm")
    assert not (person.state / "realms").exists()


@pytest.mark.parametrize("name", ["a", "7", "Main-2_x", "x" * 64, "12345678-1234-1234-1234-12345678901g"])
def test_a_good_name_is_accepted(person: Person, name: str) -> None:
    assert person.json("realm", "create", name)["realm_id"] == name


def test_generated_names_sort_by_creation_time() -> None:
    names = [new_realm_name() for _ in range(50)]
    assert len({*names}) == 50
    made = [UUID(name.removeprefix("realm-")) for name in names]
    assert {one.version for one in made} == {7}
    assert [one.int >> 80 for one in made] == sorted(one.int >> 80 for one in made)
    assert uuid7().variant == "specified in RFC 4122"


def test_the_error_names_a_folder_that_cannot_be_written(person: Person) -> None:
    (person.state / "realms").mkdir(parents=True)
    (person.state / "realms" / "taken").write_text("a file where a folder should be")
    done = person.run("realm", "create", "taken", check=False)
    assert done.returncode == 1
    assert "cannot be" in done.stderr


def test_a_hint_is_compared_with_the_realm_that_another_process_has_just_created(person: Person) -> None:
    folder = person.state / "realms" / "one"
    read_or_create(folder, "one", None, Origin.EXPLICIT)
    with pytest.raises(BadSettings, match="mismatch"):
        read_or_create(folder, "one", Backend.MEMORY, Origin.EXPLICIT)


# ---- config


@pytest.fixture(scope="module")
def person_and_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, HttpServer]]:
    """A person and a server of their realm."""
    person = Person(tmp_path_factory.mktemp("served"))
    with HttpServer(person) as server:
        yield person, server


def test_the_generation_counts_writes(person: Person) -> None:
    """M40."""
    first = person.json("config", "get")
    assert (first["config"], first["generation"], first["realm_id"], first["backend"]) == ({}, 0, "main", "sqlite")
    assert first["instance_id"].startswith("instance-")
    assert person.json("config", "get", "--instance", "laptop")["instance_id"] == "laptop"
    assert person.json("config", "set", '{"a": 1}')["generation"] == 1
    assert person.json("config", "patch", '{"b": {"c": 2}}')["generation"] == 2
    now = person.json("config", "get")
    assert (now["config"], now["generation"]) == ({"a": 1, "b": {"c": 2}}, 2)
    assert person.json("config", "get", "--realm", "other")["generation"] == 0, "every realm has its own"


def test_a_stale_generation_writes_nothing(person: Person) -> None:
    """M41."""
    person.json("config", "set", '{"a": 1}')
    done = person.run("config", "set", '{"a": 2}', "--expected-generation", "0", "--json", check=False)
    error = json.loads(done.stdout)
    assert (done.returncode, error["code"]) == (2, "GENERATION_CONFLICT")
    assert error["details"] == {"expected_generation": 0, "current_generation": 1}
    assert person.json("config", "get")["config"] == {"a": 1}
    assert person.json("config", "patch", '{"a": 3}', "--expected-generation", "1")["generation"] == 2


def test_exactly_one_of_racing_writers_wins(person: Person) -> None:
    """M42."""
    person.json("config", "set", "{}")

    def write_it(number: int) -> int:
        arguments = ("config", "set", json.dumps({"winner": number}), "--expected-generation", "1")
        return person.run(*arguments, check=False).returncode

    with ThreadPoolExecutor(RACERS) as pool:
        codes = list(pool.map(write_it, range(RACERS)))
    assert sorted(codes) == [0] + [2] * (RACERS - 1)
    assert person.json("config", "get")["config"] == {"winner": codes.index(0)}


def test_no_write_without_an_expected_generation_is_lost(person: Person) -> None:
    with ThreadPoolExecutor(RACERS) as pool:
        list(pool.map(lambda number: person.run("config", "patch", f'{{"key{number}": 1}}'), range(RACERS)))
    current = person.json("config", "get")
    assert (len(current["config"]), current["generation"]) == (RACERS, RACERS)


def test_a_null_in_a_patch_deletes(person: Person) -> None:
    """M43."""
    person.json("config", "set", '{"a": {"b": 1, "c": 2}, "d": 3}')
    assert person.json("config", "patch", '{"a": {"b": null}, "d": null, "e": {"f": null}}')["config"] == {
        "a": {"c": 2},
        "e": {},
    }


MERGES = [  # the examples of RFC 7396
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("value", "changes", "result"), MERGES)
def test_a_patch_is_merged_according_to_rfc_7396(value: Any, changes: Any, result: Any) -> None:
    assert merge_patch(value, changes) == result


def test_a_config_takes_effect_at_once(person: Person) -> None:
    person.json("config", "set", '{"deadline_ms": 0}')
    assert person.json("search", "x")["error"]["code"] == "deadline_exceeded"
    assert person.json("trace", "search", "x")["error"]["code"] == "search_timeout"
    person.json("config", "patch", '{"deadline_ms": null}')
    assert "error" not in person.json("search", "x")


def test_an_invalid_config_is_refused(person: Person) -> None:
    for bad in ("-1", '"soon"', "1.5", "true"):
        assert person.json("config", "set", f'{{"deadline_ms": {bad}}}')["code"] == "INVALID_PARAMS"
    assert person.json("config", "set", "[1]")["code"] == "INVALID_PARAMS"
    assert person.run("config", "set", "{", check=False).returncode == 2
    assert person.json("config", "set", "{}", "--expected-generation", "-1")["code"] == "INVALID_PARAMS"
    assert person.json("config", "get")["generation"] == 0


HUGE = 10**400  # too large for a float


def error_message(server: HttpServer) -> str:
    """The error message for an unusable config, which is the same for every request that needs the config."""
    status, answer = server.ask("GET", "/config")
    assert (status, answer["code"]) == (500, "INTERNAL_ERROR")
    for refusal in (
        server.ask("POST", "/sessions", {"prompt": "x", "command": ["cat"]})[1],
        server.ask("POST", "/sessions", {"initial_turn": "deferred"})[1],
    ):
        assert refusal["message"] == answer["message"]
    assert server.ask("GET", "/sessions") == (200, {"sessions": []}), "no session was created, and reading still works"
    assert server.ask("GET", "/search?query=x")[0] == 200
    return str(answer["message"])


def test_a_number_that_is_too_large_is_refused(person_and_server: tuple[Person, HttpServer]) -> None:
    _, server = person_and_server
    for name in ("deadline_ms", "turn_timeout_ms"):
        for number in (HUGE, 2**63, MAX_DEADLINE_MS + 1):
            status, answer = server.ask("PATCH", "/config", {"patch": {name: number}})
            assert (status, answer["code"], answer["details"]["field"]) == (400, "INVALID_PARAMS", name)
            assert f"at most {MAX_DEADLINE_MS}" in answer["message"]
        assert server.ask("PATCH", "/config", {"patch": {name: MAX_DEADLINE_MS}})[0] == 200
        assert server.ask("GET", "/sessions")[0] == 200
        assert server.ask("PATCH", "/config", {"patch": {name: None}})[0] == 200


UNUSABLE = [
    f'{{"deadline_ms": {HUGE}}}',
    f'{{"turn_timeout_ms": {HUGE}}}',
    '{"turn_timeout_ms": "long"}',
    '{"runners": [1]}',
    f'{{"config": {{}}, "generation": {HUGE}}}',
    '{"config": {}, "generation": -1}',
    '{"a": ' * 5_000 + "1" + "}" * 5_000,
    '{"a": 1e999}',
    '{"a": "\xff"}',
]


@pytest.mark.parametrize("content", UNUSABLE, ids=[content[:22] for content in UNUSABLE])
def test_the_error_names_an_invalid_config_and_other_requests_are_answered(
    person_and_server: tuple[Person, HttpServer], content: str
) -> None:
    person, server = person_and_server
    path = person.realm / "config.json"
    path.write_text(content, "latin-1")
    try:
        assert error_message(server).startswith(f"The config {path} ")
    finally:
        path.unlink()


def test_an_invalid_config_file_can_be_repaired_by_a_command(person_and_server: tuple[Person, HttpServer]) -> None:
    person, server = person_and_server
    path = person.realm / "config.json"
    path.write_text(f'{{"config": {{"turn_timeout_ms": {HUGE}, "note": 1}}, "generation": 7}}')
    status, answer = server.ask("PATCH", "/config", {"patch": {"turn_timeout_ms": None}})
    assert (status, answer["config"], answer["generation"]) == (200, {"note": 1}, 8)
    path.unlink()


def test_a_config_file_that_a_person_wrote_has_generation_0(person: Person) -> None:
    person.run("sync")
    (person.realm / "config.json").write_text('{"deadline_ms": 2000}')
    current = person.json("config", "get")
    assert (current["config"], current["generation"]) == ({"deadline_ms": 2000}, 0)
    (person.realm / "config.json").write_text('{"config": {"deadline_ms": 3000}}')
    assert person.json("config", "get")["config"] == {"deadline_ms": 3000}
    (person.realm / "config.json").write_text("{")
    assert person.json("config", "get")["code"] == "INTERNAL_ERROR"
    assert "error" not in person.json("search", "x"), "other requests are still answered"


# ---- all realms


def test_realms_are_listed_shown_and_deleted(person: Person) -> None:
    assert person.json("realm", "list") == {"realms": []}
    assert not person.state.exists() or not (person.state / "realms").exists(), "listing creates nothing"
    person.run("sync")
    person.run("realm", "create", "aside")
    assert [row["realm_id"] for row in person.json("realm", "list")["realms"]] == ["aside", "main"]
    shown = person.json("realm", "show", "main")
    assert shown["bytes"] > 0
    assert shown["folder"] == str(person.realm)
    assert person.json("realm", "show", "nowhere")["code"] == "INVALID_PARAMS"
    assert person.run("realm", "delete", "aside", input="n\n", check=False).returncode == 130
    assert person.json("realm", "delete", "aside", "--yes")["realm_id"] == "aside"
    assert [row["realm_id"] for row in person.json("realm", "list")["realms"]] == ["main"]


def test_pruning_takes_generated_realms_only(person: Person) -> None:
    person.run("sync")
    person.run("realm", "create", "aside")
    made = {person.json("realm", "current", "--isolated")["realm_id"] for _ in range(3)}
    assert {row["realm_id"] for row in person.json("realm", "prune")["realms"]} == made
    assert [row["realm_id"] for row in person.json("realm", "list")["realms"]] == ["aside", "main"]


def test_nothing_crosses_from_one_realm_to_another(person: Person) -> None:
    """M30, for imported sessions: an id of another realm is not found by any tool."""
    said = Claude()
    write(person.claude_log(said.session), [said.prompt("only here: marlinspike"), said.says("yes")])
    person.run("sync", "--realm", "one")
    (found,) = person.json("trace", "search", "marlinspike", "--realm", "one")["data"]["matches"]
    session = found["session_id"]
    for realm in ((), ("--realm", "two")):
        assert person.json("trace", "search", "marlinspike", *realm)["data"]["matches"] == []
        assert person.json("trace", "session", session, *realm)["error"]["code"] == "session_not_found"
        assert person.json("open", f"session:{UUID(session).hex}", *realm)["error"]["code"] == "not_found"
        assert person.json("observations", "marlinspike", *realm)["data"]["observations"] == []

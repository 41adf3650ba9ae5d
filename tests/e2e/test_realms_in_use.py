"""Realms and their processes: a realm in use stays, a delete is complete, and an ending process leaves nothing open."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from recollect.realms.catalog import find_realm, list_realms
from recollect.realms.manifest import Origin, read_or_create
from recollect.store.live import Live
from tests.conftest import COMMANDS_OVER_MCP, Person
from tests.e2e.processes import inside
from tests.http_server import HttpServer
from tests.logs import Claude, write
from tests.rpc_server import RawRpc

AT_RENAMING = """
from pathlib import Path
from recollect.store.lock import is_held
def look(event, given):
    if event == "os.rename" and Path(given[0]).name == "aside":
        print(is_held(Path(given[0])), file=sys.stderr)
sys.addaudithook(look)
"""
KILLED_WHILE_REMOVING = """
import os, signal
sys.addaudithook(lambda event, given: event == "shutil.rmtree" and os.kill(os.getpid(), signal.SIGKILL))
"""


def create(person: Person, *realms: str) -> None:
    for name in realms:
        read_or_create(person.state / "realms" / name, name, None, Origin.EXPLICIT)


def names(person: Person) -> list[str]:
    return [realm.name for realm in list_realms(person.settings())]


def left(person: Person) -> list[str]:
    """The names in the folder of all realms."""
    return sorted(path.name for path in (person.state / "realms").iterdir())


def leases(folder: Path) -> list[Path]:
    return list(folder.glob("live/*.lease"))


# ---- in use


def test_a_realm_with_an_idle_mcp_server_is_in_use(person: Person) -> None:
    with person.mcp("--no-sync", "--isolated", "--instance", "desk") as mcp:
        mcp.request("tools/list")
        (name,) = names(person)
        assert person.json("realm", "prune")["realms"] == []
        assert person.run("realm", "delete", name, "--yes", check=False).returncode == 1
        (instance,) = person.json("realm", "show", name)["instances"]
        assert (instance["instance_id"], instance["surface"], instance["pid"]) == ("desk", "mcp", mcp.process.pid)
    assert [row["realm_id"] for row in person.json("realm", "prune")["realms"]] == [name]


def test_a_server_answers_reads_in_a_read_only_folder(person: Person) -> None:
    claude = Claude()
    write(person.claude_log(claude.session), [claude.prompt("where is the marlinspike"), claude.says("in the locker")])
    person.run("sync")
    (person.realm / "live").write_text("in the way")
    person.env |= COMMANDS_OVER_MCP
    with person.mcp("--no-sync") as mcp, RawRpc(person, "--realm", "main") as rpc, HttpServer(person) as http:
        assert mcp.call("search_sessions", query="marlinspike")["data"]["results"]
        assert rpc.result("config/get")["generation"] == 0
        assert http.ask("GET", "/search?query=marlinspike")[1]["data"]["results"]
        for refused in (
            mcp.call("meerkat_create_session", prompt="x", command=["cat"]),
            rpc.error("session/create", prompt="x", command=["cat"])["data"],
            http.ask("POST", "/sessions", {"prompt": "x", "command": ["cat"]})[1],
        ):
            assert refused["code"] == "INTERNAL_ERROR"
        (person.realm / "live").unlink()
        assert mcp.call("meerkat_create_session", prompt="x", command=["cat"])["text"] == "x", (
            "a turn runs as soon as the realm can be written"
        )


def test_no_process_begins_to_write_in_a_realm_that_is_being_deleted(person: Person) -> None:
    create(person, "aside")
    assert inside(person, AT_RENAMING, "realm", "delete", "aside", "--yes").stderr.split() == ["True"]
    assert left(person) == []


def test_a_server_that_ends_releases_every_lease(person: Person) -> None:
    """Also if turns are started until its last moment."""
    server = HttpServer(person)

    def hurry() -> None:
        with suppress(OSError, TypeError), server.rpc() as rpc:  # until the server no longer answers
            while True:
                rpc.request("session/create", prompt="x", command=["true"])
                begun.release()

    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(4) as pool:
        hurrying = [pool.submit(hurry) for _ in range(4)]
        for _ in range(4):
            assert begun.acquire(timeout=30)
        server.process.terminate()
        server.wait_for_exit()
        for one_of_them in hurrying:
            one_of_them.result()
    assert leases(person.realm) == []
    with Live(person.realm) as live:
        assert live.leases() == []


# ---- deleting


def test_a_delete_that_was_killed_is_finished_by_the_next(person: Person) -> None:
    create(person, "other")
    for _ in range(2):
        create(person, "aside")
        assert inside(person, KILLED_WHILE_REMOVING, "realm", "delete", "aside", "--yes", check=False).returncode == -9
        assert names(person) == ["other"], "the realm is no longer listed"
    assert len(left(person)) == 3, "its files are not deleted yet"
    person.run("realm", "delete", "other", "--yes")
    assert left(person) == []


def test_pruning_continues_after_a_realm_that_cannot_be_deleted(person: Person) -> None:
    first, stuck, last = (person.json("realm", "current", "--isolated")["realm_id"] for _ in range(3))
    (person.state / "realms" / stuck / "write.lock").mkdir()
    (person.state / "realms" / ".aside.deleted").mkdir()
    pruned = person.json("realm", "prune")
    assert [row["realm_id"] for row in pruned["realms"]] == [first, last]
    (failed,) = pruned["failed"]
    assert (failed["realm_id"], "cannot be written" in failed["message"]) == (stuck, True)
    assert left(person) == [stuck], "the remains of another delete are removed too"
    assert f"Realm {stuck} was not deleted: The state folder" in person.run("realm", "prune").stdout


def test_a_realm_whose_config_is_broken_can_be_shown_and_deleted(person: Person) -> None:
    create(person, "aside")
    for content in ("{", '{"deadline_ms": -1}'):
        (person.state / "realms" / "aside" / "config.json").write_text(content)
        assert person.json("realm", "show", "aside")["config_generation"] == 0
    assert person.json("realm", "delete", "aside", "--yes")["realm_id"] == "aside"


def test_only_folders_with_valid_names_are_realms(person: Person) -> None:
    create(person, ".aside.deleted", "dot.ted", "aside")
    assert names(person) == ["aside"]


def test_the_size_of_a_realm_is_measured_while_its_files_change(person: Person) -> None:
    create(person, "aside")
    realm = person.state / "realms" / "aside"
    found, over = find_realm(person.settings(), "aside"), threading.Event()

    def churn() -> None:
        while not over.is_set():
            folder = realm / "index"
            folder.mkdir()
            for number in range(20):
                (folder / str(number)).touch()
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()

    with ThreadPoolExecutor() as pool:
        churning = pool.submit(churn)
        try:
            least = (realm / "realm_manifest.json").stat().st_size
            assert {found.bytes() for _ in range(1_000)} == {least}
        finally:
            over.set()
        churning.result()

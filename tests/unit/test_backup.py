"""Backups: one file that restores to the same ids and answers, or a sentence that says why not."""

import shutil
import tarfile
import uuid
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import zstandard

from recollect.distil import distil
from recollect.errors import BadRequest, StoreBusy
from recollect.live import LiveRealm
from recollect.realms.backup import back_up
from recollect.realms.backup_format import CHECKSUMS, FORMAT, HEADER
from recollect.realms.manifest import Backend
from recollect.realms.restore import recover_interrupted, restore
from recollect.settings import Settings
from recollect.store.lock import exclusive
from tests.conftest import Person
from tests.forgotten_home import FORK, KEEPER, MARKER, USER, VICTIM, ForgottenHome, answers, ask_realm, comparable
from tests.logs import Claude, append
from tests.state_search import places_of

SESSIONS, SEARCHES = (KEEPER, FORK, VICTIM), ("orchard", "pears", f"{MARKER}second", "wheel")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module", params=[Backend.SQLITE, Backend.JSONL])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgottenHome]:
    opened = ForgottenHome(Person(tmp_path_factory.mktemp("saved")), request.param)
    (opened.person.state / "settings.toml").write_text('exclude_projects = ["diary"]\n')
    (opened.person.state / "server.token").write_text("secret-token")
    yield opened
    opened.realm.close()


@pytest.fixture(scope="module")
def saved(home: ForgottenHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("backups") / "recollect.backup"
    receipt = back_up(home.person.settings(), path)
    assert [(one.realm, one.sessions) for one in receipt.realms] == [("main", 5)]
    assert (receipt.bytes, path.stat().st_mode & 0o777) == (path.stat().st_size, 0o600)
    assert names(path.parent) == [path.name]
    return path


def everything(realm: LiveRealm, live: bytes) -> dict[str, Any]:
    """All answers, also about what is in no log."""
    found = answers(realm, SESSIONS, SEARCHES)
    found["list"] = ask_realm(realm, "library_sessions")["data"]
    found["labels"] = ask_realm(realm, "library_labels")["data"]
    found["journey"] = ask_realm(realm, "get_or_create_journey", user_id=USER)
    found["timeline"] = ask_realm(realm, "query_journey_history", journey_id=found["journey"]["journey_id"], query="apples")
    found["live"] = ask_realm(realm, "meerkat_history", session_id=str(uuid.UUID(bytes=live)))
    return found


def test_a_restored_folder_gives_the_same_answers(home: ForgottenHome, saved: Path, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new")
    receipt = restore(settings, saved)
    assert [(one.realm, one.sessions) for one in receipt.realms] == [("main", 5)]
    assert (tmp_path / "new" / "settings.toml").read_text() == 'exclude_projects = ["diary"]\n'
    assert names(tmp_path / "new") == ["realms", "settings.toml"]
    assert names(tmp_path / "new" / "realms") == ["main"]
    realm = LiveRealm(settings, "main")
    assert realm.backend is home.realm.backend
    assert comparable(everything(realm, home.live)) == comparable(everything(home.realm, home.live))


def test_syncs_read_on_and_delete_nothing(home: ForgottenHome, saved: Path, tmp_path: Path) -> None:
    """Where the logs are, and where they are not."""
    settings = Settings(home=tmp_path / "new")
    restore(settings, saved)
    person = Person(tmp_path / "person")
    person.realm = settings.home / "realms" / "main"
    before = everything(LiveRealm(settings, "main"), home.live)
    person.sync()
    assert comparable(everything(LiveRealm(settings, "main"), home.live)) == comparable(before)
    shutil.copytree(home.person.home, person.home, dirs_exist_ok=True)
    log = Claude(KEEPER, start=9_000)
    append(person.claude_log(KEEPER, "-work-orchard"), log.prompt("Are there plums?"))
    person.sync()
    assert distil(person.realm, settings, person.env, lambda: False)
    after = everything(LiveRealm(settings, "main"), home.live)
    assert after[f"events {KEEPER}"]["events"][:-1] == before[f"events {KEEPER}"]["events"]
    assert after[f"events {VICTIM}"] == before[f"events {VICTIM}"]
    assert [after[name] for name in ("labels", "journey", "live")] == [
        before[name] for name in ("labels", "journey", "live")
    ]


def test_a_backup_keeps_what_was_forgotten_forgotten(home: ForgottenHome, tmp_path: Path) -> None:
    copy = Person(tmp_path / "person")
    shutil.copytree(home.person.state, copy.state, dirs_exist_ok=True)
    realm = LiveRealm(copy.settings(), "main")
    ask_realm(realm, "library_forget", ids=[VICTIM, home.live.hex()])
    back_up(copy.settings(), tmp_path / "backup")
    settings = Settings(home=tmp_path / "new")
    restore(settings, tmp_path / "backup")
    restored = Person(tmp_path / "restored")
    restored.home, restored.env = home.person.home, home.person.env
    restored.realm = settings.home / "realms" / "main"
    restored.sync()
    assert places_of(MARKER, settings.home) == []


def test_nothing_is_overwritten_unasked(home: ForgottenHome, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"exists\. Add --yes"):
        back_up(home.person.settings(), saved)
    before = saved.read_bytes()
    back_up(home.person.settings(), saved, replace=True)
    assert len(saved.read_bytes()) == pytest.approx(len(before), rel=0.1)
    settings = Settings(home=tmp_path / "new")
    restore(settings, saved)
    with pytest.raises(BadRequest, match=r"not empty.*Add --yes"):
        restore(settings, saved)
    (tmp_path / "new" / "realms" / "main" / "old").write_text("of the previous realm")
    restore(settings, saved, replace=True)
    assert names(tmp_path / "new" / "realms") == ["main"]
    assert not (tmp_path / "new" / "realms" / "main" / "old").exists()


def test_a_realm_in_use_is_not_replaced(saved: Path, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new")
    restore(settings, saved)
    before = names(tmp_path / "new" / "realms" / "main")
    with exclusive(tmp_path / "new" / "realms" / "main"), pytest.raises(StoreBusy, match="Nothing was changed"):
        restore(settings, saved, replace=True)
    assert names(tmp_path / "new" / "realms") == ["main"]
    assert names(tmp_path / "new" / "realms" / "main") == before


def test_a_realm_that_a_killed_restore_moved_aside_returns(saved: Path, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "new")
    restore(settings, saved)
    realms = tmp_path / "new" / "realms"
    (realms / "main").rename(realms / ".main.0189.replaced")
    (realms / ".restoring-0189" / "realms").mkdir(parents=True)
    recover_interrupted(settings.home)
    assert names(realms) == ["main"]


# ---- damaged, foreign and hostile files


def repack(saved: Path, target: Path, change: Callable[[str, bytes], list[tuple[str, bytes]]]) -> Path:
    """A copy of a backup in which every file was passed through `change`."""
    raw = zstandard.ZstdDecompressor().stream_reader(saved.read_bytes()).read()
    out = BytesIO()
    with tarfile.open(fileobj=BytesIO(raw)) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in old:
            stream = old.extractfile(member)
            assert stream is not None
            for name, content in change(member.name, stream.read()):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                new.addfile(entry, BytesIO(content))
    target.write_bytes(zstandard.ZstdCompressor().compress(out.getvalue()))
    return target


def newer(name: str, content: bytes) -> list[tuple[str, bytes]]:
    if name == HEADER:
        content = content.replace(f'"format": {FORMAT}'.encode(), b'"format": 99')
    return [(name, content)]


def flipped(name: str, content: bytes) -> list[tuple[str, bytes]]:
    return [(name, content[:-1] + b"\xff")] if name.endswith("archive.db") else [(name, content)]


def without_checksums(name: str, content: bytes) -> list[tuple[str, bytes]]:
    return [] if name == CHECKSUMS else [(name, content)]


def with_file(bad: str) -> Callable[[str, bytes], list[tuple[str, bytes]]]:
    return lambda name, content: [(name, content), *([(bad, b"x")] if name == HEADER else [])]


BAD = {
    "newer": (newer, "newer Recollect"),
    "flipped": (flipped, "checksums are wrong"),
    "endless": (without_checksums, "its end is missing"),
    "parent folder": (with_file("../evil"), "'../evil'"),
    "absolute": (with_file("/tmp/evil"), "'/tmp/evil'"),
    "parent of a realm": (with_file("realms/../archive.db"), "archive.db"),
    "deep": (with_file("realms/main/../../evil"), "evil"),
    "token": (with_file("server.token"), "server.token"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_changed_backup_is_refused_and_changes_nothing(saved: Path, tmp_path: Path, kind: str) -> None:
    change, message = BAD[kind]
    path = repack(saved, tmp_path / "bad", change)
    with pytest.raises(BadRequest, match=f"{message}.*Nothing was changed"):
        restore(Settings(home=tmp_path / "new"), path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "bad"]


@pytest.mark.parametrize("size", [0, 3, 100, 5_000, -300])
def test_a_truncated_backup_is_refused(saved: Path, tmp_path: Path, size: int) -> None:
    (tmp_path / "bad").write_bytes(saved.read_bytes()[:size])
    with pytest.raises(BadRequest, match="Nothing was changed"):
        restore(Settings(home=tmp_path / "new"), tmp_path / "bad")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "bad"]


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    new = Settings(home=tmp_path / "new")
    (tmp_path / "text").write_text("not a backup")
    (tmp_path / "packed").write_bytes(zstandard.ZstdCompressor().compress(b"not a backup"))
    for path in (tmp_path / "text", tmp_path / "packed"):
        with pytest.raises(BadRequest, match="not a backup of Recollect"):
            restore(new, path)
    with pytest.raises(BadRequest, match="There is no file"):
        restore(new, tmp_path / "absent")
    with pytest.raises(BadRequest, match="is a folder"):
        restore(new, tmp_path)


def test_a_backup_needs_a_folder_and_something_to_save(home: ForgottenHome, tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="There is no folder"):
        back_up(home.person.settings(), tmp_path / "no" / "backup")
    with pytest.raises(BadRequest, match="is a folder"):
        back_up(home.person.settings(), tmp_path)
    with pytest.raises(Exception, match="nothing to back up"):
        back_up(Settings(home=tmp_path / "empty"), tmp_path / "backup")
    assert names(tmp_path) == []

"""Secrets and excluded work are not stored, and only the owner can read what is stored."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest
import zstandard

from recollect.store import Reader, archive_path
from tests.conftest import Person
from tests.e2e.archives import events, found, sessions, texts
from tests.logs import Claude, append, write

# Invented secrets, joined here so that no scanner reports this file as a leak.
SECRETS = {
    "anthropic-key": "sk-ant-" + "api03-Zq81kPmW4xTn7RbV2dLs9Yh",
    "openai-key": "sk-" + "proj-a8Kd93jfLs02mXqPw7Zt41Bv",
    "github-token": "ghp_" + "q7Wm2Zx9Kp4Rt6Ny1Bv8Lc3Hd5Js0FgAeUiO",
    "aws-key": "AKIA" + "Q7WM2ZX9KP4RT6NY",
    "slack-token": "xoxb-" + "482910573648-q7Wm2Zx9Kp4R",
    "stripe-key": "sk_" + "live_q7Wm2Zx9Kp4Rt6Ny1Bv8",
    "json-web-token": "eyJ" + "hbGciOiJIUzI1.eyJ" + "zdWIiOiIxMjM0NTY3.q7Wm2Zx9Kp4Rt6Ny",
    "url-password": "deploy:" + "Tr0ub4dor-and-3",
    "assigned-secret": "q7Wm2Zx9Kp4Rt6Ny1Bv8",
    "private-key": "MIIEpAIBAAKCAQEAq7Wm2Zx9Kp4Rt6Ny1Bv8",
}
TELLING = {  # the text around each of them
    "url-password": "postgres://{}@db.example.org/app",
    "assigned-secret": 'password = "{}"',
    "private-key": "-----BEGIN RSA " + "PRIVATE KEY-----\n{}\n-----END RSA " + "PRIVATE KEY-----",
}
EVERYTHING = {"start_datetime": "1970-01-01T00:00:00Z", "end_datetime": "2100-01-01T00:00:00Z", "limit": 50}


def sentence(rule: str, secret: str) -> str:
    return f"harmless {TELLING.get(rule, '{}').format(secret)} harmless"


def leaks(person: Person, *needles: str) -> list[str]:
    """The places of the state folder that contain any of these: raw, or in the archive's compressed values."""
    needles_encoded = [needle.encode() for needle in needles]
    places = [
        str(path)
        for path in person.state.rglob("*")
        if path.is_file() and any(needle in path.read_bytes() for needle in needles_encoded)
    ]
    return places + [table for table, content in _rows(person) if any(needle in content for needle in needles_encoded)]


def _rows(person: Person) -> list[tuple[str, bytes]]:
    """Every value of every table of the archive, unpacked."""
    found: list[tuple[str, bytes]] = []
    reader = Reader(archive_path(person.realm))
    try:
        tables = [name for (name,) in reader.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in reader.db.execute(f"SELECT * FROM {table}"):
                found += [(table, _unpacked(value)) for value in row if isinstance(value, str | bytes)]
    finally:
        reader.close()
    return found


def _unpacked(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return zstandard.decompress(value) if value.startswith(b"\x28\xb5\x2f\xfd") else value


def text_in_every_place(text: str) -> list[dict[str, Any]]:
    """A session that contains a text in every place where a session can have text."""
    claude = Claude()
    return [
        claude.prompt(text),
        claude.thinks(text),
        claude.says(text),
        claude.calls("Bash", "c1", command=text, nested={"deep": [text]}, **{text[:60]: "as a key"}),
        claude.result("c1", text),
        claude.calls("Task", "c2", prompt=text, description=text),
        claude.result("c2", [{"type": "text", "text": text}]),
        claude.system("informational", content=text),
        claude.prompt(f"<command-name>/note</command-name><command-args>{text}</command-args>"),
        claude.prompt(f"<system-reminder>{text}</system-reminder>"),
        claude.prompt(text, isCompactSummary=True),
    ]


@pytest.fixture(scope="module")
def person_with_secrets(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A person with one session that contains every secret in every place."""
    person = Person(tmp_path_factory.mktemp("confessed"))
    text = "\n".join(sentence(rule, secret) for rule, secret in SECRETS.items())
    write(person.claude_log(Claude().session), text_in_every_place(text))
    person.run("sync")
    return person


def test_no_secret_is_stored_anywhere(person_with_secrets: Person) -> None:
    assert leaks(person_with_secrets, *SECRETS.values()) == []
    assert len(texts(person_with_secrets)) == 11
    assert all("harmless" in text for text in texts(person_with_secrets)), "the text around a secret stays"


def test_every_secret_is_marked_with_the_rule_that_replaced_it(person_with_secrets: Person) -> None:
    prompt = texts(person_with_secrets)[0]
    for rule in SECRETS:
        assert f"[REDACTED:{rule}]" in prompt


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_no_secret_can_be_found(person_with_secrets: Person, secret: str) -> None:
    for part in re.split("[^A-Za-z0-9]", secret):
        assert len(part) < 10 or found(person_with_secrets, f'"{part}"') == []
    assert found(person_with_secrets, f'"{secret}"') == []


def test_no_answer_has_a_secret(person_with_secrets: Person) -> None:
    answers = []
    with person_with_secrets.mcp() as client:
        listed = client.call("list_sessions", **EVERYTHING)
        hits = client.call("search_sessions", query="harmless", n_hits=50)
        (session,) = [item["id"] for item in listed["data"]["sessions"]]
        opened = client.call("open", id=session)
        turns = [client.call("open", id=turn["id"]) for turn in opened["data"]["turns"]]
        whole = [client.call("open", id=event["id"]) for turn in turns for event in turn["data"]["events"]]
        answers += [json.dumps(answer) for answer in (listed, hits, opened, *turns, *whole)]
    for command in ("search harmless", "list", f"open {session}", "status", "doctor", "sources"):
        answers.append(person_with_secrets.run(*command.split()).stdout)
    assert hits["data"]["results"]
    assert [secret for secret in SECRETS.values() if any(secret in answer for answer in answers)] == []


def test_secrets_are_counted_by_session_and_rule(person: Person) -> None:
    """Once in one session, twice in another; `status` adds them up."""
    text = "\n".join(sentence(rule, secret) for rule, secret in SECRETS.items())
    for number in (1, 2):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 100)
        write(person.claude_log(said.session), [said.prompt(text) for _ in range(number)])
    person.sync()
    counts = [json.loads(session.redactions) for session in sessions(person)]
    assert counts == [dict.fromkeys(SECRETS, 1), dict.fromkeys(SECRETS, 2)]
    assert person.json("status")["redactions"] == dict.fromkeys(SECRETS, 3)
    assert "aws-key 3" in person.run("status").stdout


def test_counts_are_correct_after_any_number_of_syncs(person: Person) -> None:
    claude = Claude()
    text = sentence("aws-key", SECRETS["aws-key"])
    log = write(person.claude_log(claude.session), [claude.prompt(text)])
    for _ in range(3):
        person.sync()
        append(log, claude.prompt(text))
    person.sync()
    person.run("rebuild", "--logs")
    assert [json.loads(session.redactions) for session in sessions(person)] == [{"aws-key": 4}]


HIDING_PLACES: dict[str, list[dict[str, Any]]] = {
    "a title": [{"type": "custom-title", "sessionId": Claude().session, "customTitle": "about SECRET"}],
    "a generated title": [{"type": "ai-title", "sessionId": Claude().session, "aiTitle": "about SECRET"}],
    "a summary": [{"type": "summary", "summary": "about SECRET", "leafUuid": Claude().prompt("x")["uuid"]}],
    "a queued prompt": [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": Claude().session, "content": "say SECRET"}
    ],
    "a record of a new kind": [{"type": "never-seen", "sessionId": Claude().session, "payload": "SECRET"}],
    "a record of a wrong shape": [{"type": "user", "uuid": 5, "message": "SECRET"}],
}


@pytest.mark.parametrize("records", HIDING_PLACES.values(), ids=HIDING_PLACES)
def test_no_secret_of_records_outside_the_conversation_is_stored(person: Person, records: list[dict[str, Any]]) -> None:
    secret = SECRETS["github-token"]
    hidden = json.loads(json.dumps(records).replace("SECRET", secret))
    write(person.claude_log(Claude().session), [Claude().prompt("x"), *hidden])
    person.sync()
    assert leaks(person, secret) == []


@pytest.mark.parametrize("line", ['{"type": "user", "text": "SECRET', "SECRET", '{"a": 1} SECRET'])
def test_no_secret_of_an_unreadable_line_is_stored(person: Person, line: str) -> None:
    secret = SECRETS["github-token"]
    log = write(person.claude_log(Claude().session), [Claude().prompt("x")])
    with log.open("a") as agent:
        agent.write(line.replace("SECRET", secret) + "\n")
    assert person.sync().problems == 1
    assert leaks(person, secret) == []
    assert secret not in person.run("doctor").stdout


def test_a_secret_that_is_written_in_two_pieces_is_replaced(person: Person) -> None:
    claude = Claude()
    line = json.dumps(claude.prompt(f"the key is {SECRETS['anthropic-key']}, keep it")).encode() + b"\n"
    cut = line.index(b"sk-ant") + 12
    with person.claude_log(claude.session).open("ab", buffering=0) as agent:
        agent.write(line[:cut])
        person.sync()
        assert leaks(person, line[cut - 12 : cut].decode()) == []
        agent.write(line[cut:])
    person.sync()
    assert texts(person) == ["the key is [REDACTED:anthropic-key], keep it"]
    assert leaks(person, SECRETS["anthropic-key"]) == []


@pytest.mark.parametrize("how", ["variable", "settings file"])
def test_without_redaction_everything_is_stored(person: Person, how: str) -> None:
    text = "\n".join(sentence(rule, secret) for rule, secret in SECRETS.items())
    write(person.claude_log(Claude().session), text_in_every_place(text))
    if how == "variable":
        person.env["RECOLLECT_REDACT"] = "0"
    else:
        person.state.mkdir(mode=0o700)
        (person.state / "settings.toml").write_text("redact = false\n")
    person.run("sync")
    assert texts(person)[0] == text
    assert events(person)[3].arguments()["command"] == text
    assert len(found(person, SECRETS["aws-key"])) == 11
    assert person.json("status")["redactions"] == {}


# ---- what is not to be read at all


EXCLUSIONS: dict[str, Any] = {
    "by the glob of a folder": {"exclude": ("/work/private/*",)},
    "by the folder itself": {"exclude": ("/work/private/diary",)},
    "by the glob of a log": {"exclude": ("*/-work-private-diary/*",)},
    "by project": {"exclude_projects": ("diary",)},
}


def write_both(person: Person) -> Path:
    """Write a session that may be read and one that is excluded. Returns the log of the excluded one."""
    for number, folder in enumerate(["/work/private/diary", "/work/app"], 1):
        said = Claude(f"{number:08d}-0000-4000-8000-000000000000", cwd=folder, start=number * 10)
        word = "confidential" if "private" in folder else "public"
        records = [{**record, "cwd": folder} for record in text_in_every_place(f"something {word}")]
        write(person.claude_log(said.session, folder.replace("/", "-")), records)
    return person.claude_log("00000001-0000-4000-8000-000000000000", "-work-private-diary")


@pytest.mark.parametrize("settings", EXCLUSIONS.values(), ids=EXCLUSIONS)
def test_excluded_work_is_not_read(person: Person, settings: dict[str, Any]) -> None:
    log = write_both(person)
    person.sync(**settings)
    assert [session.project for session in sessions(person)] == ["app"]
    assert (found(person, "confidential"), len(found(person, "public"))) == ([], 11)
    append(log, Claude(log.stem, cwd="/work/private/diary", start=90).prompt("more confidential things"))
    person.sync(**settings)
    assert len(sessions(person)) == 1


@pytest.mark.parametrize("settings", EXCLUSIONS.values(), ids=EXCLUSIONS)
def test_nothing_of_excluded_work_is_stored(person: Person, settings: dict[str, Any]) -> None:
    log = write_both(person)
    with log.open("a") as agent:
        agent.write('{"broken": "confidential\n')
    person.sync(**settings)
    assert leaks(person, "confidential") == []


def test_a_marked_folder_is_not_read(person: Person, tmp_path: Path) -> None:
    folder = tmp_path / "private" / "diary"
    folder.mkdir(parents=True)
    said = Claude(cwd=str(folder))
    write(person.claude_log(said.session), [said.prompt("something confidential")])
    (folder.parent / ".no-recollect").touch()
    person.sync()
    assert sessions(person) == []
    assert leaks(person, "confidential") == []


def test_a_marked_folder_of_logs_is_not_read(person: Person) -> None:
    log = write_both(person)
    (log.parent / ".no-recollect").touch()
    person.sync()
    assert [session.project for session in sessions(person)] == ["app"]
    assert leaks(person, "confidential") == []


@pytest.mark.parametrize("how", ["variable", "settings file"])
def test_exclusions_can_be_set_by_variable_or_settings(person: Person, how: str) -> None:
    write_both(person)
    if how == "variable":
        person.env["RECOLLECT_EXCLUDE"] = "/elsewhere/*:/work/private/*"
    else:
        person.state.mkdir(mode=0o700)
        (person.state / "settings.toml").write_text('exclude = ["/elsewhere/*", "/work/private/*"]\n')
    person.run("sync")
    assert [session.project for session in sessions(person)] == ["app"]


# ---- whose files they are


def test_only_its_owner_can_read_the_state_folder(person: Person) -> None:
    umask = 0o000  # independent of the person's own umask
    write_both(person)
    for command in (("sync",), ("search", "public"), ("rebuild",), ("doctor", "--repair"), ("status", "--realm", "other")):
        person.run(*command, umask=umask)
    append(person.claude_log("00000002-0000-4000-8000-000000000000", "-work-app"), Claude(start=99).prompt("more"))
    person.run("sync", umask=umask)
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in (person.state, *person.state.rglob("*"))}
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
    assert len(modes) > 10

"""No operation of the library shows anything of another realm (L13)."""

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.distil import distil
from recollect.live import LiveRealm
from recollect.operations import FAMILIES, OPERATIONS, Operation, RequestContext
from recollect.operations.answer_file import with_content
from recollect.operations.schema import arguments_of
from tests.conftest import Person
from tests.logs import Claude, write

HERE, THERE = "Quillfeather", "Brackenthorpe"  # a word in every text and name of the sessions of a realm
LABEL = "{word}-label"
SESSION, EVENT, OBSERVATION = "session", "event", "observation"

Arguments = dict[str, Any]
# What the arguments of the operations may be, by their names; {word} is the secret word of a realm
WORDS: Arguments = {
    "query": "{word}",
    "question": "What is {word}?",
    "path": "{word}.py",
    "name": LABEL,
    "note": "{word}",
    "title": "{word}",
    "prompt": "{word}",
    "preview": True,
    "command": ["true"],
    "runner": "command",
    "dry_run": True,
    "ids": ["{session}"],
    "facets": ["agent", "project", "branch", "model", "tool", "label"],
    "since": ["2026-01-01"],
    "all": True,
}
IDS = {"library_write_event_note": EVENT}  # what the `id` of an operation is, if it is not a session
FILTERS: Arguments = {
    "project": ["{word}"],
    "branch": ["{word}"],
    "model": ["{word}"],
    "tool": ["{word}"],
    "label": [LABEL],
}


class Secret:
    """A realm whose sessions all say one word, and the ids of its things."""

    def __init__(self, person: Person, name: str, word: str) -> None:
        self.word = word
        folder = person.state / "realms" / name
        person.realm = folder
        person.sync(_log(person.home / name, word))
        assert distil(folder, person.settings(), person.env, lambda: False)
        self.realm = LiveRealm(person.settings(), name)
        self.ids: dict[str, str] = {}
        (session,) = self.data("sessions")["sessions"]
        (event, *_) = self.data("events", id=session["id"])["events"]
        self.ids = {SESSION: session["id"], EVENT: event["id"]}
        title = {"type": "decision", "title": f"{word} is decided", "evidence_ids": [event["id"]]}
        assert not OPERATIONS["record_observation"].run(self.realm, title, RequestContext.now()).is_error
        self.ids[OBSERVATION] = self.data("observations")["observations"][0]["id"]
        self.data("put_label", id=session["id"], name=self.fill_in(LABEL))
        self.data("write_note", id=session["id"], note=word)

    def ask(self, operation: str, /, **arguments: Any) -> Any:
        reply = OPERATIONS[operation].run(self.realm, arguments, RequestContext.now())
        return json.loads(with_content(reply.text.encode(), reply.file) if reply.file is not None else reply.text)

    def data(self, operation: str, /, **arguments: Any) -> Any:
        answer = self.ask(f"library_{operation}", **arguments)
        assert "data" in answer, answer
        return answer["data"]

    def fill_in(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.fill_in(item) for item in value]
        return value.format(word=self.word, **self.ids) if isinstance(value, str) else value


def _log(folder: Path, word: str) -> Path:
    log = Claude(f"{len(word):08x}-0001-4000-8000-000000000001", f"/work/{word}")
    path = folder / ".claude" / "projects" / f"-work-{word}" / f"{log.session}.jsonl"
    lines = [
        log.prompt(f"Why does {word} fail?", gitBranch=word),
        log.calls(word, "t1", model=word, command=f"run {word}"),
        log.result("t1", f"{word}: error", failed=True),
        log.calls("Edit", "t2", file_path=f"/work/{word}/{word}.py", old_string="a", new_string=word),
        log.result("t2", word),
        log.says(f"We decided that {word} stays.", model=word, gitBranch=word),
    ]
    return write(path, lines)


@pytest.fixture(scope="module")
def realms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Secret, Secret]:
    person = Person(tmp_path_factory.mktemp("realms"))
    return Secret(person, "here", HERE), Secret(person, "there", THERE)


def arguments_for(operation: Operation, words: Secret, ids: Secret) -> Arguments:
    """Arguments with the word of one realm and the ids of a realm."""
    names = arguments_of(operation.request)
    arguments = {name: words.fill_in(WORDS[name]) for name in names if name in WORDS}
    if "ids" in names:
        arguments["ids"] = [ids.ids[SESSION]]
    if "id" in names:
        kind = OBSERVATION if "observation" in operation.name else IDS.get(operation.name, SESSION)
        arguments["id"] = ids.ids[kind]
    if operation.name == "library_search":
        arguments |= {"mode": ["text"]}
    return arguments


@pytest.mark.parametrize("operation", FAMILIES["library"].operations, ids=lambda operation: operation.name)
def test_no_operation_shows_another_realm(operation: Operation, realms: tuple[Secret, Secret]) -> None:
    here, there = realms
    for words in (here,) if operation.writes else (here, there):  # words of another realm find nothing
        arguments = arguments_for(operation, words, here)
        answer = json.dumps(here.ask(operation.name, **arguments))
        echoed = json.dumps(arguments)
        assert there.word not in answer or there.word in echoed
        assert there.ids[SESSION] not in answer
        assert there.ids[EVENT] not in answer


@pytest.mark.parametrize(
    "operation",
    [one for one in FAMILIES["library"].operations if {"id", "ids"} & arguments_of(one.request).keys()],
    ids=lambda operation: operation.name,
)
def test_an_id_of_another_realm_is_unknown(operation: Operation, realms: tuple[Secret, Secret]) -> None:
    here, there = realms
    before = there.data("session", id=there.ids[SESSION])
    error = here.ask(operation.name, **arguments_for(operation, here, there))["error"]
    assert error["code"] == "not_found"
    assert there.word not in json.dumps(error)
    assert there.data("session", id=there.ids[SESSION]) == before


@pytest.mark.parametrize("name", FILTERS)
def test_a_name_of_another_realm_is_not_even_suggested(name: str, realms: tuple[Secret, Secret]) -> None:
    here, there = realms
    (value,) = there.fill_in(FILTERS[name])
    misspelt = {name: [value[:-1]]}
    assert there.ask("library_sessions", **misspelt)["error"]["details"]["did_you_mean"] == [value]
    error = here.ask("library_sessions", **misspelt)["error"]
    assert (error["code"], error["details"]["did_you_mean"]) == ("invalid_filter", [])

"""Search by meaning, through the real command line: it finds texts in other words with the same meaning, and no others."""

from collections.abc import Iterator
from typing import Any

import pytest

from recollect.search.ranking import to_score
from tests.conftest import Person
from tests.logs import Claude, write

TEXTS = {
    "The automobile motor is broken": "Replace the carburetor first.",
    "delete legacy documents": "All gone.",
    "a pintail": "It flew away.",
    "look for a quail": "There is none.",
    "queries take too long in postgres": "An index on the customer column is missing.",
}


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    person = Person(tmp_path_factory.mktemp("meaning"))
    log = Claude()
    lines = [line for prompt, answer in TEXTS.items() for line in (log.prompt(prompt), log.says(answer))]
    write(person.claude_log(log.session), lines)
    person.run("sync")
    yield person


def hits(person: Person, *query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.json("search", *query)["data"]["results"]
    return found


def texts(person: Person, *query: str) -> list[str]:
    return [hit["snippet"]["text"] for hit in hits(person, *query)]


@pytest.mark.parametrize(
    ("question", "prompt"),
    [("car engine", "The automobile motor is broken"), ("remove old files", "delete legacy documents")],
)
def test_an_event_is_found_by_other_words_with_the_same_meaning(person: Person, question: str, prompt: str) -> None:
    assert not {*question.split()} & {*prompt.lower().split()}
    assert texts(person, question) == [prompt]


@pytest.mark.parametrize("question", ["banana bread recipe", "opera singer", "xyzzyplugh", "quantum lattice", "🦆"])
def test_a_question_without_an_answer_finds_nothing(person: Person, question: str) -> None:
    assert texts(person, question) == []


def test_a_hit_by_word_is_not_joined_by_vaguely_similar_events(person: Person) -> None:
    assert texts(person, "quail") == ["look for a quail"]


@pytest.mark.parametrize("question", ["CAR_ENGINE", "carEngine", "src/car/engine.py", '"car engine"'])
def test_identifiers_and_quotations_match_by_text_only(person: Person, question: str) -> None:
    assert texts(person, question) == []


@pytest.mark.parametrize("question", ["motorvole", "documentfrog", "motorvole documentfrog"])
def test_an_invented_compound_does_not_match_through_its_parts(person: Person, question: str) -> None:
    """The model knows `motor`, and `motor` is in the archive; `motorvole` is in no text."""
    assert texts(person, question) == []


def test_a_compound_from_the_archive_finds_events_with_its_meaning(person: Person) -> None:
    assert texts(person, "carburetor") == ["Replace the carburetor first."]


def test_the_parts_of_a_score_add_up_to_it(person: Person) -> None:
    for hit in hits(person, "automobile motor repair", "--why"):
        assert hit["score"] == pytest.approx(to_score(sum(hit["why"].values())), abs=0.001)
        assert {"words", "meaning", "said"} <= hit["why"].keys() or hit["event"]["type"] != "user_input"


def test_the_setting_search_mode_decides_between_words_and_meaning(person: Person) -> None:
    settings = person.state / "settings.toml"
    found = {}
    try:
        for mode in ("text", "vector", "both"):
            settings.write_text(f'[search]\nmode = "{mode}"\n')
            found[mode] = (texts(person, "car engine"), texts(person, "carburetor"))
    finally:
        settings.unlink()
    assert found["text"] == ([], ["Replace the carburetor first."])
    assert found["vector"][0] == ["The automobile motor is broken"]
    assert found["both"] == (["The automobile motor is broken"], ["Replace the carburetor first."])


def test_filters_hold_for_search_by_meaning_too(person: Person) -> None:
    (hit,) = hits(person, "car engine")
    assert texts(person, "car engine", "--within", hit["open"]["turn_id"]) == ["The automobile motor is broken"]
    assert texts(person, "remove old files", "--within", hit["open"]["turn_id"]) == []
    assert texts(person, "car engine", "-t", "tool_response") == []
    assert texts(person, "car engine", "--project", "app") == ["The automobile motor is broken"]
    assert texts(person, "car engine", "--project", "-app") == []
    assert texts(person, "car engine", "--until", "2020-01-01") == []

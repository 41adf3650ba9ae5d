"""`recollect ask`: an answer from past sessions, with its sources, in 1,000 to 2,000 tokens."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Person
from tests.contract.memory_client import TOKEN, Memory, Record, connect_memory, session_writer, write_session
from tests.logs import Claude

NOTHING = "Nothing in the memory answers this. Other words may help, or `recollect search` for the exact ones.\n"
QUESTION = "why do uploads retry and how often?"
SOURCE = re.compile(r"- (obs-[0-9a-f]{16}|event:[0-9a-f]{32}) \((\d{4}-\d\d-\d\d)\): `(.+)` \(lines? (\d+)(?:-(\d+))?\)")


def uploads(log: Claude, number: int) -> list[Record]:
    """One of many long sessions about uploads."""
    return [
        log.prompt(f"Uploads to bucket {number} fail now and then; make them retry and decide how often (round {number})"),
        log.calls("Edit", "e1", file_path=f"/work/p{number}/upload_{number}.py", old_string="once()", new_string="retry()"),
        log.result("e1", "The file has been updated."),
        log.calls("Bash", "b1", command=f"pytest tests/test_upload_{number}.py"),
        log.result("b1", f"E  TimeoutError: bucket {number} did not answer in {number} s\n1 failed", failed=True),
        log.calls("Bash", "b2", command=f"pytest tests/test_upload_{number}.py"),
        log.result("b2", f"{number} passed"),
        log.says(
            f"Uploads retry {number} times. I decided on exponential backoff with jitter instead of a fixed delay, because "
            f"bucket {number} throttles whoever comes back at once. The failure was caused by a timeout of {number} seconds "
            "that was shorter than the time a large part takes, so the timeout now grows with the size of the part. "
        ),
        log.prompt(f"What else did you notice about uploads in round {number}?"),
        log.says(f"Retried uploads of round {number} must carry the same checksum, else the store keeps both parts. " * 3),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    person = Person(tmp_path_factory.mktemp("asked"))
    for number in range(1, 13):
        write_session(
            person, number, f"p{number}", f"2026-01-{number:02d}", uploads(session_writer(number, f"p{number}"), number)
        )
    person.run("sync")
    return person


@pytest.fixture(scope="module")
def memory(person: Person) -> Iterator[Memory]:
    with connect_memory(person) as client:
        yield client


@pytest.fixture(scope="module")
def given(person: Person) -> Any:
    return person.json("ask", QUESTION)


# ---- the answer


def test_an_answer_has_1000_to_2000_tokens_if_there_is_enough_material(given: Any) -> None:
    """C32."""
    assert 1_000 <= len(given["answer"]) / TOKEN <= 2_000
    assert given["tokens"] == len(given["answer"]) // TOKEN


@pytest.mark.parametrize(
    "question",
    ["uploads", "retry " * 300, "why? " + "checksum uploads timeout bucket backoff jitter " * 90, "upload\n\nretry"],
)
def test_no_answer_has_more_than_2000_tokens(person: Person, question: str) -> None:
    """C32, for any amount of material and any length of the question."""
    answer = person.json("ask", question)
    assert answer["sources"]
    assert len(answer["answer"]) / TOKEN <= 2_000


def test_an_answer_cites_the_id_and_date_of_all_its_material(given: Any) -> None:
    """C32."""
    told, _, cited = given["answer"].partition("\n## Sources\n")
    sources = given["sources"]
    assert len(sources) >= 5
    assert [source["id"] for source in sources] == [found[0] for found in SOURCE.findall(cited)]
    assert len({source["id"] for source in sources}) == len(sources)
    for source in sources:
        assert source["id"] in told
        assert re.fullmatch(r"2026-01-\d\d", source["date"])
        assert re.search(rf"{source['id']}[^\n]*{source['date']}|{source['date']}[^\n]*{source['id']}", told)


def test_every_source_of_an_answer_opens(given: Any, memory: Memory) -> None:
    for source in given["sources"]:
        assert list(source) == ["id", "date", "title", "path", "startLine", "endLine"]
        lines = {"startLine": source["startLine"], "endLine": source["endLine"]}
        assert memory.text("read", path=source["path"], **lines)
        if source["id"].startswith("obs-"):
            assert f", {source['date']} " in memory.text("get_observations", ids=[source["id"]])
        else:
            assert memory.open(source["id"])["event"]["timestamp"].startswith(source["date"])


def test_an_answer_has_observations_and_quotations(given: Any) -> None:
    assert given["answer"].startswith(f"# {QUESTION}\n")
    assert "exponential backoff" in given["answer"]
    assert "\n## What is remembered\n" in given["answer"]


def test_with_few_observations_an_answer_quotes_sessions(person: Person) -> None:
    answer = person.json("ask", "same checksum of retried uploads", "--project", "p3")
    remembered, _, quoted = answer["answer"].partition("\n## In the words of the sessions\n")
    assert "> Retried uploads of round 3 must carry the same checksum" in quoted
    assert "## What is remembered" in remembered
    assert {source["id"].partition("-")[0].partition(":")[0] for source in answer["sources"]} == {"obs", "event"}


def test_people_and_programs_get_the_same_answer(person: Person, given: Any) -> None:
    assert list(given) == ["question", "answer", "sources", "tokens", "by", "warnings"]
    assert (given["question"], given["by"], given["warnings"]) == (QUESTION, "extract", [])
    assert person.run("ask", QUESTION).stdout.rstrip() == given["answer"].rstrip()
    assert person.run("ask", *QUESTION.split()).stdout.rstrip() == given["answer"].rstrip(), "quotes are not needed"


def test_an_answer_can_be_limited_to_one_project(person: Person) -> None:
    answer = person.json("ask", QUESTION, "--project", "p7")
    assert {source["date"] for source in answer["sources"]} == {"2026-01-07"}
    assert "bucket 7" in answer["answer"]
    assert not re.search(r"bucket (?!7\b)\d", answer["answer"])


# ---- no answer


def test_no_match_is_a_success_and_says_so(person: Person) -> None:
    assert person.run("ask", "xyzzyquux plughplover").stdout == NOTHING
    answer = person.json("ask", "xyzzyquux plughplover")
    assert (answer["answer"] + "\n", answer["sources"]) == (NOTHING, [])
    unknown = person.run("ask", QUESTION, "--project", "nowhere", check=False)
    assert (unknown.returncode, unknown.stderr) == (2, "recollect: There is no project 'nowhere'.\n")


def test_an_empty_memory_gives_no_answer_and_says_why(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = Person(tmp_path_factory.mktemp("empty")).run("ask", "anything at all")
    assert done.stdout == NOTHING
    assert done.stderr.startswith("! Nothing is indexed yet.")


@pytest.mark.parametrize("question", ["", "x", "  x  "])
def test_too_short_a_question_is_a_usage_error(person: Person, question: str) -> None:
    done = person.run("ask", question, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "recollect: A question has at least 2 characters.\n"
    done = person.run("ask", question, "--json", check=False)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["message"] == "A question has at least 2 characters."


def test_no_question_is_a_usage_error(person: Person) -> None:
    assert person.run("ask", check=False).returncode == 2


# ---- why a search found what it found


def test_search_explains_the_parts_of_each_score(person: Person) -> None:
    plain, why = (person.run("search", "exponential backoff", "-n", "3", *more).stdout for more in ((), ("--why",)))
    parts = re.findall(r"^ +score (0\.\d+) = (.+)$", why, re.MULTILINE)
    assert len(parts) == 3
    assert all(re.search(r"\bwords \d", told) for _, told in parts)
    assert "score " not in plain
    hits = person.json("search", "exponential backoff", "-n", "3", "--why")["data"]["results"]
    assert [f"{hit['score']:.3f}" for hit in hits] == [score for score, _ in parts]

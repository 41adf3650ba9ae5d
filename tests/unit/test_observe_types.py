"""Short everyday turns: for any wording, the type is right and nothing is repeated."""

import pytest

from recollect.model import Observation
from tests.observed.turns import CWD, Turn

NOTED = "Understood, noted."


def only(turn: Turn) -> Observation:
    seen = turn.observed()
    assert len(seen) == 1, [(one.type, one.title) for one in seen]
    return seen[0]


def types(turn: Turn) -> list[str]:
    return [seen.type for seen in turn.observed()]


# ---- decisions


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("We decided to drop support for Python 3.9", "Drop support for Python 3.9"),
        ("we've decided to host everything on Hetzner", "Host everything on Hetzner"),
        ("Decision: feature flags live in Postgres, not LaunchDarkly", "Feature flags live in Postgres, not LaunchDarkly"),
        ("our team picked Vue over Angular", "Vue over Angular"),
        ("I chose pnpm over npm for the monorepo", "Pnpm over npm for the monorepo"),
        ("we'll go with Terraform for the infrastructure", "Go with Terraform for the infrastructure"),
        ("Use UUIDv7 rather than serial ids for new tables", "Use UUIDv7 rather than serial ids for new tables"),
        ("we settled on trunk-based development", "Settled on trunk-based development"),
        ("let's not introduce a message broker now", "Don't introduce a message broker now"),
        ("From now on all dates are stored as ISO strings", "From now on all dates are stored as ISO strings"),
        ("Going forward we write docs in English", "Going forward we write docs in English"),
        ("don't use axios, use fetch", "Don't use axios, use fetch"),
        ("Stop using moment; use luxon instead", "Stop using moment; use luxon instead"),
        (
            "Let's keep Redis out of this and use Postgres NOTIFY instead",
            "Keep Redis out of this and use Postgres NOTIFY instead",
        ),
        ("We opted for a monolith", "Opted for a monolith"),
        ("Never log personal data", "Never log personal data"),
    ],
)
def test_a_rule_that_a_person_states_is_the_only_observation_of_its_turn(said: str, title: str) -> None:
    seen = only(Turn().ask(said).say(NOTED))
    assert (seen.type, seen.title) == ("decision", title)


@pytest.mark.parametrize(
    ("said", "title", "reason"),
    [
        (
            "Let's switch to Vite instead of Webpack since builds take too long",
            "Switch to Vite instead of Webpack",
            "since builds",
        ),
        ("we chose Kafka over RabbitMQ because of replay", "Kafka over RabbitMQ", "because of replay"),
        (
            "We should use gRPC instead of REST because we need streaming",
            "Use gRPC instead of REST",
            "because we need streaming",
        ),
    ],
)
def test_the_reason_of_a_decision_is_a_fact_and_not_its_title(said: str, title: str, reason: str) -> None:
    seen = only(Turn().ask(said).say("Agreed, sounds right."))
    assert (seen.type, seen.title) == ("decision", title)
    assert len(seen.facts) == 1 and reason in seen.facts[0]


@pytest.mark.parametrize(
    "answer",
    [
        "We decided to keep the cache in memory because Redis would add a hop.",
        "Decision: we ship the importer as a separate binary.",
        "I chose a trie over a hash map because prefixes are queried.",
        "We'll go with server-side rendering for the shop.",
        "I settled on exponential backoff with jitter.",
        "I went with a queue instead of a cron job because bursts are common.",
    ],
)
def test_a_choice_that_an_agent_states_is_a_decision(answer: str) -> None:
    assert only(Turn().ask("what about the open point of the meeting").say(answer)).type == "decision"


@pytest.mark.parametrize(
    ("question", "answer", "title"),
    [
        (
            "Should we use GraphQL or REST for the public API?",
            "I'd recommend REST over GraphQL because the clients are simple.",
            "REST over GraphQL",
        ),
        (
            "Which database fits better, Mongo or Postgres?",
            "Postgres is the better choice because we need transactions.",
            "Postgres is the better choice",
        ),
        (
            "what would you use for the job queue?",
            "I'd use Celery here. It has retries and the team knows it.",
            "Use Celery here",
        ),
        (
            "Redis or Memcached for sessions?",
            "I would go with Redis since it persists. Memcached forgets on restart.",
            "Go with Redis",
        ),
    ],
)
def test_an_answer_to_a_choice_is_the_only_decision(question: str, answer: str, title: str) -> None:
    seen = only(Turn().ask(question).say(answer))
    assert (seen.type, seen.title) == ("decision", title)


def test_the_details_of_a_choice_are_its_facts() -> None:
    answer = "I recommend S3 over local disks because two hosts write. We'll use lifecycle rules to keep it small."
    seen = only(Turn().ask("Where should uploads go? S3 or the disk?").say(answer))
    assert (seen.type, seen.title) == ("decision", "S3 over local disks")
    assert any("two hosts write" in fact for fact in seen.facts) and any("lifecycle rules" in fact for fact in seen.facts)


def test_edits_that_only_carry_out_a_choice_are_not_observed_twice() -> None:
    observation = only(
        Turn().ask("Let's use ruff instead of flake8 because it is faster").edit("lint.py").say("Replaced flake8 with ruff.")
    )
    assert (observation.type, observation.title, observation.files_modified) == (
        "decision",
        "Use ruff instead of flake8",
        ("lint.py",),
    )


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("add caching. Use Redis instead of memcached because we need persistence", "Added caching to the catalog."),
        ("add a limiter", "Added a limiter. I chose a token bucket over a window because it needs no history."),
        (
            "add a limiter",
            "Added a limiter. I put it in the gateway rather than in each service because all traffic passes it.",
        ),
    ],
)
def test_a_choice_with_a_reason_is_observed_beside_other_work(prompt: str, answer: str) -> None:
    assert types(Turn().ask(prompt).edit("api/a.py").say(answer)) == ["feature", "decision"]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("make parse() return None", "Changed parse() to return None instead of raising."),
        ("fix the off by one in the pager", "Fixed the pager: the loop uses < instead of <= now."),
        ("don't use confirm(), use prompt() with default=y", "Replaced confirm() with prompt()."),
        ("speed up the lookup", "Sped up the lookup. I used a dict rather than a list."),
        ("the export button should be blue", "Made the export button blue instead of grey."),
        ("let's make both a constant", "Added two constants to the registry."),
    ],
)
def test_a_detail_of_an_edit_is_not_a_decision(prompt: str, answer: str) -> None:
    assert "decision" not in types(Turn().ask(prompt).edit("shop/a.py").say(answer))


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("what does total() do?", "It returns the total instead of the subtotal when tax is included."),
        ("why do we use tabs instead of spaces?", "Because the first contributor used tabs and nobody minded."),
        ("let's see whether it works now", "It works in both browsers now, as far as I can tell."),
    ],
)
def test_talk_without_a_conclusion_is_not_a_decision(prompt: str, answer: str) -> None:
    assert "decision" not in types(Turn().ask(prompt).say(answer))


# ---- patterns


@pytest.mark.parametrize(
    "said",
    [
        "We always validate input at the boundary",
        "We never call the database from a template",
        "The convention here is snake_case for columns and camelCase for JSON",
        "the pattern we use for jobs is one class per queue",
        "Every controller must check the tenant",
        "Each service has to expose a health endpoint",
        "In this repo we always squash before merging",
        "Our convention is to prefix private modules with an underscore",
    ],
)
def test_a_statement_about_how_things_are_always_done_is_a_pattern(said: str) -> None:
    assert only(Turn().ask(said).say("Got it, I will follow that.")).type == "pattern"


def test_an_answer_that_states_the_convention_is_a_pattern() -> None:
    answer = "The convention is that every error code starts with the module name, like AUTH_001."
    assert only(Turn().ask("what is the convention for error codes here?").say(answer)).type == "pattern"


@pytest.mark.parametrize(
    "answer", ["Added the version to every event.", "Added it to the bus. Every event must carry a version now."]
)
def test_the_purpose_of_edits_is_not_a_pattern(answer: str) -> None:
    turn = Turn().ask("all events should contain the version").edit("events.py").say(answer)
    assert "pattern" not in types(turn)


def test_an_answer_that_only_confirms_a_rule_adds_nothing() -> None:
    turn = (
        Turn()
        .ask("We decided to return typed errors from handlers")
        .say("The convention is that handlers return typed errors.")
    )
    assert types(turn) == ["decision"]


# ---- causes


@pytest.mark.parametrize(
    ("prompt", "answer", "cause"),
    [
        ("users cannot upload avatars", "Uploads are rejected because the bucket policy denies it.", "bucket policy"),
        (
            "The search returns nothing since the release",
            "The index is empty because the nightly job is off.",
            "nightly job",
        ),
        ("emails are not being sent", "The SMTP password expired last night, so the mailer gets a 535.", "SMTP password"),
        ("login doesn't work on Firefox", "Firefox blocks the cookie since the iframe is cross-site.", "cross-site"),
        (
            "Why is the API slow in the morning?",
            "The API is slow because the report job holds the pool. It runs at 8.",
            "report job",
        ),
        (
            "why do tests time out on CI?",
            "They time out due to the database container starting too late.",
            "database container",
        ),
        ("What's wrong with the backup?", "The backup is incomplete because the disk is full.", "disk is full"),
    ],
)
def test_a_cause_that_answers_a_complaint_is_a_diagnosis(prompt: str, answer: str, cause: str) -> None:
    seen = only(Turn().ask(prompt).say(answer))
    assert seen.type == "diagnosis"
    assert cause in " ".join((seen.title, *seen.facts)) and seen.facts


def test_a_cause_alone_is_a_fact_under_its_symptom() -> None:
    seen = only(Turn().ask("the app crashes on Android 14").say("It crashes because a permission is missing."))
    assert seen.title == "The app crashes on Android 14"
    assert seen.facts == ("It crashes because a permission is missing.",)


def test_a_reason_without_a_problem_is_not_a_diagnosis() -> None:
    turn = (
        Turn().ask("how does the importer find duplicates?").say("It hashes each row, because ids are reused by the vendor.")
    )
    assert types(turn) == ["discovery"]


# ---- a failing check that passes in the end


def fixed_check(prompt: str, answer: str) -> Observation:
    return only(
        Turn()
        .ask(prompt)
        .run("npm test", "FAIL src/pay.test.ts\nError: ERR_CARD_STALE card expired\nTests: 2 failed, 5 passed", exit_code=1)
        .edit("src/pay.ts")
        .run("npm test", "Tests: 7 passed", exit_code=0)
        .say(answer)
    )


def test_a_fixed_check_keeps_the_error_line_the_cause_and_the_counts() -> None:
    observation = fixed_check("Fix the payment bug", "Fixed: the card was charged before it was renewed.")
    assert (observation.type, observation.title) == ("bug-fix", "Fix the payment bug")
    assert "npm test failed: Error: ERR_CARD_STALE card expired" in observation.facts
    assert "The card was charged before it was renewed." in observation.facts
    assert "npm test failed at first and passed in the end (7 passed)" in observation.facts


def test_the_previous_state_is_a_fact_beside_the_change() -> None:
    observation = fixed_check(
        "Fix the payment bug", "Fixed the renewal of stale cards. The card was charged before it was renewed."
    )
    assert observation.title == "Fixed the renewal of stale cards"
    assert "The card was charged before it was renewed." in observation.facts


def test_a_complaint_with_a_request_is_titled_by_the_fix() -> None:
    observation = fixed_check(
        "The checkout fails with ERR_CARD_STALE, please fix it", "It works again. The clock was read in the wrong zone."
    )
    assert observation.title == "Fixed: the checkout fails with ERR_CARD_STALE"
    assert "The clock was read in the wrong zone." in observation.facts


def test_a_title_does_not_say_that_the_tests_pass() -> None:
    assert (
        fixed_check("payments break", "I fixed the renewal of stale cards and all tests pass.").title
        == "Fixed the renewal of stale cards"
    )


# ---- tests, configuration, and other types


@pytest.mark.parametrize(
    "prompt",
    [
        "add tests for the invoice parser",
        "Write unit tests for the cart",
        "please add a regression test for the rounding bug",
        "increase the test coverage of the mailer",
    ],
)
@pytest.mark.parametrize("also", ["", "shop/a.py"])
def test_writing_tests_is_a_test_even_if_code_changed_too(prompt: str, also: str) -> None:
    turn = Turn().ask(prompt).edit("tests/test_a.py")
    turn = turn.edit(also) if also else turn
    seen = turn.run("pytest", "8 passed in 1s").say("Added 5 cases for it.").chief()
    assert seen.type == "test"
    assert "pytest passed (8 passed)" in seen.facts


@pytest.mark.parametrize(
    "prompt", ["run the test suite", "do all tests pass?", "please run pytest", "check that the tests are green"]
)
def test_a_requested_test_run_is_a_test_with_its_counts(prompt: str) -> None:
    observation = (
        Turn()
        .ask(prompt)
        .run("pytest", "2 failed, 8 passed in 1s", exit_code=1)
        .say("Two tests fail in test_cart.py.")
        .chief()
    )
    assert observation.type == "test"
    assert "8 passed, 2 failed" in " ".join(observation.facts)


@pytest.mark.parametrize(
    "path",
    ["package.json", ".github/workflows/ci.yml", "Dockerfile", "pyproject.toml", "tsconfig.json", ".env.example",
     ".vscode/settings.json", "config/app.yaml", "docker-compose.yml", "renovate.json"],
)  # fmt: skip
def test_a_change_of_configuration_files_is_config(path: str) -> None:
    assert types(Turn().ask("bring this up to date please").edit(path).say("Updated the version and the timeout.")) == [
        "config"
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "change the log level to debug in settings.json",
        "bump react to 19 in package.json",
        "enable strict mode in tsconfig.json",
        "Increase the memory limit in docker-compose.yml",
    ],
)
def test_setting_a_value_in_a_configuration_file_is_config(prompt: str) -> None:
    assert types(Turn().ask(prompt).say("Done, it is set.")) == ["config"]
    assert types(Turn().ask(prompt).edit("src/defaults.py").say("Done, it is set.")) == ["config"]


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("extract the mailer into its own module", "refactor"),
        ("split user.py into models and views", "refactor"),
        ("clean up the unused imports", "refactor"),
        ("implement password reset", "feature"),
        ("Please add pagination to the orders list", "feature"),
        ("create an endpoint for refunds", "feature"),
    ],
)
def test_the_verb_of_a_request_decides_its_type(prompt: str, kind: str) -> None:
    assert types(Turn().ask(prompt).edit("shop/a.py").say("Done.")) == [kind]


@pytest.mark.parametrize(
    "prompt", ["what does the flag --fast do?", "explain the auth middleware", "Which files configure the linter?"]
)
def test_a_question_that_is_answered_by_reading_is_a_discovery(prompt: str) -> None:
    turn = (
        Turn()
        .ask(prompt)
        .use("Read", {"file_path": f"{CWD}/a.py"})
        .say("The values are read from ruff.toml when it starts.")
    )
    assert types(turn) == ["discovery"]

"""The observations of the rules: one promise per test, each turn written by hand."""

import pytest

from recollect.model import Kind
from recollect.observe import RULES_VERSION
from tests.observed import digest
from tests.observed.turns import CWD, Turn


def bug_fix_turn() -> Turn:
    return (
        Turn()
        .ask("Login fails with ERR_AUTH_FAILED since yesterday, please fix it")
        .run("pytest tests/test_login.py", "E   KeyError: 'token'\n1 failed, 3 passed in 0.2s", failed=True, exit_code=1)
        .edit("auth/login.py")
        .run("pytest tests/test_login.py", "4 passed in 0.2s", exit_code=0)
        .say(
            "Fixed the login for tokens without an expiry. The root cause was that `refresh_token` was read before it was set."
        )
    )


# ---- types


def test_a_failure_an_edit_and_a_pass_are_a_bug_fix_with_cause_error_and_check() -> None:
    observation = bug_fix_turn().chief()
    assert observation.type == "bug-fix"
    assert observation.title == "Fixed the login for tokens without an expiry"
    facts = "\n".join(observation.facts)
    assert "root cause was that refresh_token was read before it was set" in facts
    assert "KeyError: 'token'" in facts
    assert "failed at first and passed in the end (4 passed)" in facts
    assert "Cause:" in observation.narrative and "ERR_AUTH_FAILED" in observation.narrative


def test_a_request_to_add_that_changed_files_is_a_feature() -> None:
    turn = (
        Turn()
        .ask("add rate limiting to the public API")
        .edit("api/limits.py")
        .say("I've added a token bucket to every public route.")
    )
    assert (turn.chief().type, turn.chief().title) == ("feature", "Added a token bucket to every public route")


def test_a_request_to_rename_is_a_refactor() -> None:
    turn = (
        Turn().ask("rename Basket to Cart everywhere").edit("shop/cart.py").say("Renamed `Basket` to `Cart` in 4 modules.")
    )
    assert (turn.chief().type, turn.chief().title) == ("refactor", "Renamed Basket to Cart in 4 modules")


def test_a_question_answered_by_reading_is_a_discovery_that_keeps_the_answer() -> None:
    turn = (
        Turn()
        .ask("where is the retry policy of the payment client defined?")
        .use("Read", {"file_path": f"{CWD}/pay/client.py"}, "...")
        .say(
            "The retry policy is defined in `pay/client.py` as `RetryPolicy`. It retries three times with a backoff of two seconds."
        )
    )
    observation = turn.chief()
    assert observation.type == "discovery"
    assert observation.title == "Where is the retry policy of the payment client defined?"
    assert "It retries three times with a backoff of two seconds." in observation.facts
    assert (observation.files_read, observation.files_modified) == (("pay/client.py",), ())


def test_a_cause_without_a_fix_is_a_diagnosis() -> None:
    turn = (
        Turn()
        .ask("why does the export crash on Mondays?")
        .say("The problem is that the weekly rollup holds the lock until noon. It starts at eight in the morning.")
    )
    seen = turn.chief()
    assert (seen.type, seen.title) == ("diagnosis", "The weekly rollup holds the lock until noon")
    assert "It starts at eight in the morning." in seen.facts


def test_a_turn_that_changes_tests_only_is_a_test() -> None:
    turn = (
        Turn()
        .ask("cover the empty basket too")
        .edit("tests/test_basket.py")
        .run("pytest", "12 passed in 1s")
        .say("Added a test for it.")
    )
    assert turn.chief().type == "test"
    assert "pytest passed (12 passed)" in turn.chief().facts


def test_a_turn_that_only_runs_the_tests_is_a_test() -> None:
    turn = (
        Turn()
        .ask("run the tests")
        .run("go test ./...", "ok  \tshop/pay\t0.1s\nFAIL\tshop/api\t0.2s")
        .say("One package fails in api.")
    )
    assert turn.chief().type == "test"
    assert "1 package passed, 1 failed" in " ".join(turn.chief().facts)


def test_a_change_of_configuration_only_is_config() -> None:
    turn = Turn().ask("bump ruff").edit("pyproject.toml").say("Bumped ruff to 0.8.2 in the dev group.")
    assert (turn.chief().type, turn.chief().title) == ("config", "Bumped ruff to 0.8.2 in the dev group")


def test_a_rule_that_the_person_states_is_a_decision_beside_the_work() -> None:
    turn = (
        Turn()
        .ask("don't use requests, use httpx instead")
        .edit("net/fetch.py")
        .say("Replaced requests with httpx in the fetcher.")
    )
    decision = next(seen for seen in turn.observed() if seen.type == "decision")
    assert decision.title == "Don't use requests, use httpx instead"
    assert decision.evidence[0] == turn.events[0].id


def test_a_choice_of_the_agent_is_a_decision_with_the_rejected_options() -> None:
    answer = "Added the job queue. We decided to use SQLite instead of Redis because one process writes."
    turn = Turn().ask("add a job queue").edit("jobs/queue.py").say(answer)
    decision = next(seen for seen in turn.observed() if seen.type == "decision")
    assert "SQLite instead of Redis" in decision.title
    assert "because one process writes" in decision.facts[0]


def test_a_way_of_doing_things_is_a_pattern() -> None:
    answer = (
        "Every route must go through `guarded()` before it reads the session. The middleware order is fixed in `app.py`."
    )
    turn = Turn().ask("how do routes check permissions here?").say(answer)
    assert "pattern" in {seen.type for seen in turn.observed()}


def test_anything_else_with_a_prompt_and_an_answer_is_general() -> None:
    assert Turn().ask("Add rate limiting").say("I'll add rate limiting to the API.").chief().type == "general"


# ---- which turns give observations


@pytest.mark.parametrize("prompt", ["continue", "yes", "Thanks!", "hi", "ok, go ahead", "/exit", "继续", "y"])
def test_an_exchange_of_courtesies_gives_no_observation(prompt: str) -> None:
    assert Turn().ask(prompt).say("Hello! How can I help you?").observed() == []


def test_a_prompt_that_only_agrees_is_described_by_the_work_after_it() -> None:
    assert (
        Turn().ask("yes").edit("a.py").say("Moved the parser to its own module.").chief().title
        == "Moved the parser to its own module"
    )


def test_a_prompt_and_an_answer_in_any_language_are_remembered() -> None:
    seen = Turn().ask("为什么切换标签页后滚动位置会丢失？").say("因为浏览器会节流后台标签页。切回来时高度已经改变。").chief()
    assert seen.title == "为什么切换标签页后滚动位置会丢失？"
    assert seen.concepts


def test_recollects_own_traffic_is_not_observed() -> None:
    turn = Turn().ask("hi")
    turn.add(Kind.TOOL_CALL, arguments={"file_path": "/a/b.py"}, tool="Write", own=True)
    assert turn.observed() == []


# ---- titles


def test_a_commit_message_gives_the_title_and_the_type() -> None:
    turn = (
        Turn()
        .ask("commit it")
        .run('git commit -m "fix(cart): round totals to cents (#12)"', "[main 1a2b3c4]")
        .say("Committed.")
    )
    assert (turn.chief().type, turn.chief().title) == ("bug-fix", "Round totals to cents")
    assert "cart" in turn.chief().concepts and "Round" not in turn.chief().concepts


def test_a_pasted_plan_is_named_by_its_heading() -> None:
    plan = (
        "Implement the following plan:\n\n# Plan: Move invoices to object storage\n\n## Context\n\nThe disk is full."
        + " More." * 90
    )
    turn = Turn().ask(plan).edit("invoices.py").say("Done.")
    assert turn.chief().title == "Move invoices to object storage"


def test_an_intention_is_not_a_result() -> None:
    turn = (
        Turn().ask("speed up the import of products").edit("imports.py").say("Let me check the logs first. I'll now run it.")
    )
    assert turn.chief().title == "Speed up the import of products"


def test_titles_have_no_markdown_and_no_full_stop() -> None:
    turn = Turn().ask("do the thing with exports").edit("x.py").say("✅ **Added** `ExportJob` to the *nightly* run.")
    assert turn.chief().title == "Added ExportJob to the nightly run"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("I recommend that we keep the nightly job.", "Keep the nightly job"),
        ("You're right that the export drops umlauts in names.", "The export drops umlauts in names"),
        ("It looks like the exporter drops umlauts in names.", "The exporter drops umlauts in names"),
        ("I've noticed that the exporter drops umlauts.", "The exporter drops umlauts"),
        ("I'd recommend against storing exports in git.", "Avoid storing exports in git"),
    ],
)
def test_a_title_does_not_name_the_speaker(answer: str, title: str) -> None:
    assert Turn().ask("/review").use("Read", {"file_path": "/a.py"}).say(answer).chief().title == title


def test_a_condition_is_not_separated_from_its_statement() -> None:
    prompt = (
        "if the basket holds more than one hundred articles of a kind, ask the warehouse before the price is shown to anyone"
    )
    assert ", ask the" in Turn().ask(prompt).edit("basket.py").say("Done.").chief().title


# ---- facts and concepts


def test_a_fact_does_not_repeat_the_prompt_or_the_title() -> None:
    assert Turn().ask("Fix the login bug").say("Done.").chief().facts == ()
    turn = (
        Turn().ask("commit it").run('git commit -m "fix: round totals to cents (#12)"', "[main 1a2b3c4]").say("Committed.")
    )
    assert turn.chief().facts == ()
    assert "Committed: fix: round totals" in turn.chief().narrative


@pytest.mark.parametrize(
    "prompt", ["Fix the login bug", "Add the login page", "use the login form", "Please improve the login"]
)
def test_concepts_hold_no_stop_words_and_no_imperatives(prompt: str) -> None:
    concepts = {concept.lower() for concept in Turn().ask(prompt).say("Done, see the diff.").chief().concepts}
    assert "login" in concepts
    assert not concepts & {"fix", "the", "add", "use", "please", "improve", "done", "see"}


def test_known_technologies_are_concepts_in_any_case() -> None:
    assert "JWT" in Turn().ask("JWT or sessions?").say("I recommend JWT because it is stateless.").chief().concepts


def test_the_stored_error_says_why_rather_than_where() -> None:
    output = "--- FAIL: TestTotals (0.00s)\n    panic: division by zero in Totals\nFAIL\tshop/cart\t0.1s"
    turn = (
        Turn()
        .ask("totals are broken")
        .run("go test ./...", output, exit_code=1)
        .edit("cart.go")
        .say("Guarded the division.")
    )
    assert "go test failed: panic: division by zero in Totals" in turn.chief().facts


def test_a_choice_of_the_person_is_a_decision_even_without_a_prompt() -> None:
    turn = Turn().use("AskUserQuestion", {"questions": []}, 'User has answered: "Which queue should it use?"="SQLite"')
    assert [seen.title for seen in turn.observed() if seen.type == "decision"] == ["Which queue should it use: SQLite"]


def test_the_same_turn_gives_the_same_observations_and_is_not_changed() -> None:
    turn, other = bug_fix_turn(), bug_fix_turn()
    first = turn.observed()
    assert turn.events == other.events
    assert digest(first) == digest(other.observed()) == digest(turn.observed())


def test_exact_names_in_a_request_can_be_searched_for() -> None:
    turn = (
        Turn()
        .ask("since the upgrade the job dies with E0382 in `reserve_stock`, ERR_STOCK_LOCK in the log")
        .edit("stock.py")
        .say("Fixed it now.")
    )
    seen = turn.chief()
    assert all(name in f"{seen.title}\n{seen.narrative}" for name in ("E0382", "reserve_stock", "ERR_STOCK_LOCK"))
    assert not any("request names" in fact for fact in seen.facts)


def test_the_rules_have_a_version() -> None:
    assert RULES_VERSION >= 1

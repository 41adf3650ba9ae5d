"""Determines the type of a turn from the request, the changed files, the commits and the answer."""

import re

from recollect.observe.commands import runs_tests
from recollect.observe.phrases import PhraseTable, contains_any
from recollect.observe.requests import RequestWords, format_request, is_complaint, is_question
from recollect.observe.turn import ObservedTurn

MAX_TYPED = 1_000  # characters: a longer request is a pasted plan or log, which contains words of trouble anyway
OPENING = 300  # characters at the start of a request, in which a pasted issue reports the problem
MAX_SETTING = 200  # characters of a request to set something

TABLE = PhraseTable("turn_type")
TITLE_TYPES = ("feature", "bug-fix", "refactor", "config", "test")  # types that a title's first word shows
TYPE_OF_PREFIX = {word: kind for kind in TITLE_TYPES for word in TABLE.words(f"{kind.replace('-', '_')}_prefixes")}
OTHER_PREFIXES = TABLE.word_set("other_prefixes")
TYPE_OF_VERB = {word: kind for kind in TITLE_TYPES for word in TABLE.words(f"{kind.replace('-', '_')}_verbs")}
CHINESE_VERBS = {kind: TABLE.phrases(f"{kind.replace('-', '_')}_verbs_chinese") for kind in TITLE_TYPES}
TIDIER = TABLE.phrases("tidier")
CONFIG_FILE = TABLE.pattern("config_file")
TEST_FILE = TABLE.pattern("test_file")
PROSE_FILE = TABLE.pattern("prose_file")
EMPTY_COMMIT = TABLE.pattern("empty_commit")
FORMAL_COMMIT = TABLE.pattern("formal_commit")
SETTING = TABLE.pattern("setting")
SETTINGS_PLACE = TABLE.pattern("settings_place")
WRITING_TESTS = TABLE.pattern("writing_tests")
CONVENTIONAL = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<scope>[^)]{1,40})\))?!?:\s+(?P<rest>.+)")


def type_of_turn(turn: ObservedTurn, subject: str) -> str:
    """The type of the turn's main observation."""
    if turn.has_changes():
        return _type_of_change(turn, subject)
    return _type_of_conversation(turn, subject)


# ---- turns with changes


def _type_of_change(turn: ObservedTurn, subject: str) -> str:
    commit = main_commit(turn) or (turn.pull_request.subject if turn.pull_request else "")
    committed_type = type_of_title(commit)
    if committed_type and _is_conventional(commit):
        return committed_type
    words = RequestWords(subject)
    if turn.changed_files and all(CONFIG_FILE.search(path) for path in turn.changed_files):
        return "config"
    changes_tests = any(TEST_FILE.search(path) for path in turn.changed_files)
    if WRITING_TESTS.match(format_request(subject)) and changes_tests:
        return "test"
    if turn.changed_files and all(TEST_FILE.search(path) for path in turn.changed_files):
        fixes = turn.request_words.reports_problem() and type_of_title(format_request(subject)) != "feature"
        return "bug-fix" if fixes else "test"
    if _is_bug_fix(turn, subject, words):
        return "bug-fix"
    return committed_type or _type_of_request(turn, subject, words)


def _type_of_request(turn: ObservedTurn, subject: str, words: RequestWords) -> str:
    """The type that the request shows, else the type that the answer reports, else "general"."""
    requested_type = type_of_title(format_request(subject))
    if _sets_something(format_request(subject)):
        return "config"
    if requested_type in {"refactor", "config"}:
        return requested_type
    if words.wants_refactoring():
        return "refactor"
    if turn.changed_files and all(PROSE_FILE.search(path) for path in turn.changed_files):
        return "general"
    if requested_type == "feature" and words.names_tests() and any(TEST_FILE.search(path) for path in turn.changed_files):
        return "test"
    if requested_type == "feature" or turn.created_files:
        return "feature"
    reported_type = next((kind for report in turn.reports[:3] if (kind := type_of_title(report))), "")
    if reported_type or words.wants_addition():
        return reported_type or "feature"
    return "refactor" if any(contains_any(TIDIER, sentence) for sentence in turn.statements[:2]) else "general"


def _is_bug_fix(turn: ObservedTurn, subject: str, words: RequestWords) -> bool:
    """Whether a problem was fixed: the request reports one, or the answer names both a cause and a fix."""
    reports_fix = any(type_of_title(report) == "bug-fix" for report in turn.reports[:4])
    if not turn.request_words.reports_problem():
        says_fixed = any("fixed" in sentence for sentence in turn.answer_prose.sentences[:3])
        return bool(turn.causes) and (reports_fix or says_fixed)
    if words.wants_fix() or type_of_title(subject) == "bug-fix":
        return True
    wants_other = (
        type_of_title(format_request(subject)) in {"feature", "refactor", "config", "test"} or words.wants_refactoring()
    )
    is_pasted = len(turn.request) > MAX_TYPED and not RequestWords(turn.request[:OPENING]).reports_problem()
    states_problem = not is_question(subject) and not words.wants_addition() and not is_pasted
    return not wants_other and (states_problem or reports_fix or bool(turn.causes))


def _sets_something(request: str) -> bool:
    """Whether a request sets something in a configuration file: "set the timeout to 30s in config.yaml"."""
    setting = SETTING.match(request) if len(request) <= MAX_SETTING else None
    return (
        setting is not None and (SETTINGS_PLACE.search(setting["file"]) or CONFIG_FILE.search(setting["file"])) is not None
    )


# ---- turns without changes


def _type_of_conversation(turn: ObservedTurn, subject: str) -> str:
    words = RequestWords(subject)
    title = format_request(subject)
    ran_tests = any(runs_tests(run.check) for run in turn.runs)
    if ran_tests and (words.wants_test_run() or (words.names_tests() and words.asks_status())):
        return "test"
    if _sets_something(title):
        return "config"
    if _is_diagnosis(turn, words):
        return "diagnosis"
    if requested_type := type_of_title(title):
        if requested_type == "feature" and words.names_tests() and WRITING_TESTS.match(title):
            requested_type = "test"
        is_reported = bool(turn.reports) and type_of_title(turn.reports[0]) in {requested_type, "feature"}
        acted = turn.call_count and requested_type != "refactor"
        return requested_type if turn.reports and (acted or (is_reported and not turn.call_count)) else "general"
    asks = is_question(subject) or turn.request.startswith("/")
    acted_first = not asks and turn.opens_with_report and turn.call_count and turn.reports
    if acted_first and (reported_type := type_of_title(turn.reports[0])):
        return reported_type
    return "discovery" if asks or turn.read_files else "general"


def _is_diagnosis(turn: ObservedTurn, words: RequestWords) -> bool:
    """Whether the turn looks for a cause: the request asks why about a problem, or the answer names the cause of one."""
    asks_why = words.asks_why()
    has_problem = (
        turn.request_words.reports_problem()
        or is_complaint(turn.request)
        or (asks_why and any(RequestWords(sentence).reports_problem() for sentence in turn.statements[:2]))
    )
    return (asks_why and (bool(turn.causes) or has_problem)) or (bool(turn.causes) and has_problem)


# ---- titles and commits


def type_of_title(title: str) -> str:
    """The type that the first word of a title shows, a conventional prefix or a verb; empty without one."""
    if title and not title[0].isascii():
        return next((kind for kind, verbs in CHINESE_VERBS.items() if title.startswith(verbs)), "")
    commit = CONVENTIONAL.match(title)
    if commit and commit["kind"] in TYPE_OF_PREFIX:
        return TYPE_OF_PREFIX[commit["kind"]]
    words = (commit["rest"] if commit else title).split(None, 1)
    return _type_of_verb(words[0].lower().strip(",.:;!")) if words else ""


def _type_of_verb(verb: str) -> str:
    for stem in (verb, *(verb.removesuffix(ending) for ending in ("s", "es", "ed", "d", "ing"))):
        if stem in TYPE_OF_VERB:
            return TYPE_OF_VERB[stem]
    return TYPE_OF_VERB.get(verb[:-3], "") if verb.endswith(("pped", "tted")) else ""


def commit_scope(commit: str) -> str:
    """The scope of a conventional commit: `cart` in "fix(cart): round totals"; empty without one."""
    conventional = CONVENTIONAL.match(commit)
    return (conventional["scope"] or "") if conventional else ""


def _is_conventional(title: str) -> bool:
    commit = CONVENTIONAL.match(title)
    return commit is not None and commit["kind"] in TYPE_OF_PREFIX


def main_commit(turn: ObservedTurn) -> str:
    """The subject of the commit that shows the purpose of the turn: the first one that is not only about form."""
    subjects = [commit.subject for commit in turn.commits if not EMPTY_COMMIT.fullmatch(commit.subject)]
    return next((subject for subject in subjects if not FORMAL_COMMIT.match(subject)), subjects[0] if subjects else "")

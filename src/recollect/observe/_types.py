"""Types: what kind of thing a turn was, from what was asked, what changed and what was said of it."""

import re

from recollect.model import observation_type
from recollect.observe import _commands
from recollect.observe._requests import Wish, complains, is_question
from recollect.observe._subjects import request_title
from recollect.observe._turn import Turn

CONVENTIONAL = re.compile(r"(?P<kind>[a-z]+)(?:\((?P<scope>[^)]{1,40})\))?!?:\s+(?P<rest>.+)")
OF_COMMIT = {word: observation_type(word) for word in ("feature", "fix", "bugfix", "refactor", "test", "config")} | {
    "feat": "feature", "hotfix": "bug-fix", "perf": "refactor", "style": "refactor", "tests": "test", "chore": "config",
    "ci": "config", "build": "config", "deps": "config",
}  # fmt: skip
VERBS = {
    "feature": """add implement support create introduce allow enable show build written wrote write make made wire
        expose extend expand integrate built""",
    "bug-fix": """fix resolve correct prevent handle patch avoid""",
    "refactor": """reduce rename refactor move extract split simplify simplified remove deduplicate consolidate clean unify
        inline reorganize restructure drop convert rewrite rewrote replace migrate port delete
        unified""",
    "config": """bump upgrade configure install pin downgrade""",
    "test": """test""",
}
OF_VERB = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
CHINESE = {
    "feature": ("添加", "新增", "实现", "增加", "支持", "创建"),
    "bug-fix": ("修复", "修正", "解决"),
    "refactor": ("重构", "重命名", "简化", "拆分", "清理", "删除", "移除"),
    "config": ("升级", "配置", "安装"),
    "test": ("测试",),
}
PASTED = 1_000  # characters: a longer request is a plan or a log, and has words of trouble in it whatever it wants
LEAD_IN = 300  # characters: but a pasted issue says early that something is wrong
TIDIER = ("instead of", "cleaner", "no longer", "simpler", "duplicat", "rename")
CONFIG_FILE = re.compile(
    r"(?:\.(?:toml|ya?ml|ini|cfg|conf|lock|properties|plist|editorconfig|gitignore|gitattributes|dockerignore|npmrc|nvmrc|"
    r"tf|tfvars)|(?:^|/)(?:\.?env(?:\.\w+)?|\.envrc|dockerfile[\w.-]*|docker-compose[\w.-]*|makefile|justfile|procfile|"
    r"package(?:-lock)?\.json|tsconfig[\w.]*\.json|[\w.-]*settings[\w.]*\.json|"
    r"[\w.-]*config(?:uration)?\.(?:json|js|ts|mjs|cjs)|\.[\w.-]*rc(?:\.\w+)?|go\.(?:mod|sum)|requirements[\w.-]*\.txt|"
    r"renovate\.json|biome\.json|app\.json|codeowners|gemfile(?:\.lock)?|build\.gradle(?:\.kts)?|pom\.xml|"
    r"\.github/workflows/[^/]+|\.mcp\.json))$",
    re.I,
)
TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|e2e|integration_tests?|testdata|fixtures)/|(?:^|/)test_[^/]+$|"
    r"[._-](?:test|tests|spec|e2e)\.\w+$|Tests?\.\w+$",
    re.I,
)
EMPTY_COMMIT = re.compile(
    r"(?:initial|first|test|temp|tmp|dummy)?\W*(?:commit|changes?|wip|init|update[sd]?|checkpoint|fix(?:es)?|tests?)?\W*",
    re.I,
)
FORMAL = re.compile(r"(?:style|chore|wip|lint|format|fmt|merge|fixup|squash)\b", re.I)
PROSE_FILE = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$|(?:^|/)(?:readme|changelog|license|contributing)[^/]*$", re.I)


SETTING = re.compile(
    r"(?:set|change|increase|decrease|raise|lower|bump|update|upgrade|configure|enable|disable|turn (?:on|off)|pin|"
    r"switch|add|"
    r"remove|put)\b.*\b(?:in|to|from|via|into|of|for) (?:the |our |my )?(?:[\w./-]+/)?(?P<file>[\w.-]*\w|"
    r"[\w-]+ (?:config(?:uration)?|"
    r"settings?|environment variables?|env vars?)(?: file)?)[.!?]?$",
    re.I,
)
WRITING_TESTS = re.compile(
    r"(?:add|write|create|extend|implement|improve|generate|increase) (?:[\w-]+ ){0,4}(?:tests?|specs?|test cases?|"
    r"coverage)\b",
    re.I,
)
SETTINGS = re.compile(r"(?:config(?:uration)?|settings?|environment variables?|env vars?|env|ci)(?: file)?$", re.I)


def _sets_something(request: str) -> bool:
    """Whether a request is to set something in a file that configures: "set the timeout to 30s in config.yaml"."""
    found = SETTING.match(request) if len(request) <= 200 else None
    return found is not None and (SETTINGS.search(found["file"]) or CONFIG_FILE.search(found["file"])) is not None


def type_of(turn: Turn, subject: str) -> str:
    """The type of the turn as a whole."""
    if turn.changed or turn.commits:
        return _of_change(turn, subject)
    return _of_talk(turn, subject)


def _of_change(turn: Turn, subject: str) -> str:
    commit = _chief_commit(turn)
    told = of_title(commit)
    if told and _is_conventional(commit):
        return told
    wish = Wish(subject)
    if turn.changed and all(CONFIG_FILE.search(path) for path in turn.changed):
        return "config"
    if WRITING_TESTS.match(request_title(subject)) and any(TEST_FILE.search(path) for path in turn.changed):
        return "test"
    if turn.changed and all(TEST_FILE.search(path) for path in turn.changed):
        mends = turn.wish.reports_a_problem() and of_title(request_title(subject)) != "feature"
        return "bug-fix" if mends else "test"
    if _mended(turn, subject, wish):
        return "bug-fix"
    return told or _of_request(turn, subject, wish)


def _of_request(turn: Turn, subject: str, wish: Wish) -> str:
    """What was asked for, then what is said to have been done; a change that neither tells is a general one."""
    asked = of_title(request_title(subject))
    if _sets_something(request_title(subject)):
        return "config"
    if asked in {"refactor", "config"}:
        return asked
    if wish.wants_it_tidier():
        return "refactor"
    if turn.changed and all(PROSE_FILE.search(path) for path in turn.changed):
        return "general"
    if asked == "feature" and wish.names_tests() and any(TEST_FILE.search(path) for path in turn.changed):
        return "test"
    if asked == "feature" or turn.created:
        return "feature"
    done = next((told for report in turn.done[:3] if (told := of_title(report))), "")
    if done or wish.wants_more():
        return done or "feature"
    return "refactor" if any(word in sentence for sentence in turn.told[:2] for word in TIDIER) else "general"


def _mended(turn: Turn, subject: str, wish: Wish) -> bool:
    """Whether a fault was put right: one was reported, or the answer tells both a cause and a fix."""
    fixed = any(of_title(report) == "bug-fix" for report in turn.done[:4])
    if not turn.wish.reports_a_problem():
        return bool(turn.causes) and (fixed or any("fixed" in sentence for sentence in turn.said.sentences[:3]))
    if wish.wants_a_fix() or of_title(subject) == "bug-fix":
        return True
    asked_for_more = of_title(request_title(subject)) in {"feature", "refactor", "config", "test"} or wish.wants_it_tidier()
    pasted = len(turn.request) > PASTED and not Wish(turn.request[:LEAD_IN]).reports_a_problem()
    states = not is_question(subject) and not wish.wants_more() and not pasted
    return not asked_for_more and (states or fixed or bool(turn.causes))


def _of_talk(turn: Turn, subject: str) -> str:
    wish = Wish(subject)
    tested = any(_commands.is_test(run.check) for run in turn.runs)
    if tested and (wish.wants_a_run() or (wish.names_tests() and wish.asks_how_it_stands())):
        return "test"
    if _sets_something(request_title(subject)):
        return "config"
    why = wish.asks_why()
    troubled = (
        turn.wish.reports_a_problem()
        or complains(turn.request)
        or (why and any(Wish(sentence).reports_a_problem() for sentence in turn.told[:2]))
    )
    if (why and (turn.causes or troubled)) or (turn.causes and troubled):
        return "diagnosis"
    if asked := of_title(request_title(subject)):
        if asked == "feature" and wish.names_tests() and WRITING_TESTS.match(request_title(subject)):
            asked = "test"
        same = bool(turn.done) and of_title(turn.done[0]) in {asked, "feature"}
        return asked if turn.done and ((turn.calls and asked != "refactor") or (same and not turn.calls)) else "general"
    asks = is_question(subject) or turn.request.startswith("/")
    if not asks and turn.leads and turn.calls and turn.done and (told := of_title(turn.done[0])):
        return told
    return "discovery" if asks or turn.read else "general"


def of_title(title: str) -> str:
    """The type that a title's first word tells, conventional prefix or verb."""
    if title and not title[0].isascii():
        return next((kind for kind, verbs in CHINESE.items() if title.startswith(verbs)), "")
    found = CONVENTIONAL.match(title)
    if found and found["kind"] in OF_COMMIT:
        return OF_COMMIT[found["kind"]]
    words = (found["rest"] if found else title).split(None, 1)
    return of_verb(words[0].lower().strip(",.:;!")) if words else ""


def of_verb(verb: str) -> str:
    for stem in (
        verb,
        verb.removesuffix("s"),
        verb.removesuffix("es"),
        verb.removesuffix("ed"),
        verb.removesuffix("d"),
        verb.removesuffix("ing"),
    ):
        if stem in OF_VERB:
            return OF_VERB[stem]
    return OF_VERB.get(verb[:-3], "") if verb.endswith(("pped", "tted")) else ""


def scope_of(commit: str) -> str:
    found = CONVENTIONAL.match(commit)
    return (found["scope"] or "") if found else ""


def _is_conventional(title: str) -> bool:
    found = CONVENTIONAL.match(title)
    return found is not None and found["kind"] in OF_COMMIT


def _chief_commit(turn: Turn) -> str:
    return chief_commit(turn) or (turn.pull_request.subject if turn.pull_request else "")


def chief_commit(turn: Turn) -> str:
    """The commit that says what the turn was for: the first that is not about form only."""
    subjects = [commit.subject for commit in turn.commits if not EMPTY_COMMIT.fullmatch(commit.subject)]
    return next((subject for subject in subjects if not FORMAL.match(subject)), subjects[0] if subjects else "")

"""Requests: what a person asks for, told by the words of the prompt: a fix, a feature, a reason, a test, a choice.

Words are sought in sets, which costs a tenth of an expression; what is no word in that sense (Chinese, a code such as
`ERR_AUTH`) is looked for as it stands.
"""

import re

WORDS = re.compile(r"[a-z']+")
PROBLEM_WORDS = frozenset(
    """bug bugs error errors exception exceptions traceback crash crashes crashed crashing fail fails failed failing failure
    failures broken break breaks regression panic panics segfault wrong wrongly incorrect incorrectly hang hangs stuck flaky
    leak leaks leaking issue issues warning warnings complains problem problems fix fixes fixed fixing
    unexpected unexpectedly missing mistake vulnerability
    vulnerable bad wtf odd strange weird never stale corrupt corrupted""".split()
)
TROUBLE_WORDS = PROBLEM_WORDS | frozenset(
    """slow slower sluggish laggy freezes frozen froze timeout timeouts blank blocked denied refused rejected lost duplicated
    disappears disappeared vanished vanishes unable unresponsive ignored unreachable""".split()
)
PROBLEM_SIGNS = tuple(
    (
        "n't work|not work|n't show|n't load|n't run|n't start|n't compile|n't build|can't|cannot|no longer|not being|"
        "error|exception|err_|报错|错误|修复|失败|崩溃|异常|不能|无法|有问题"
    ).split("|")
)
TROUBLE_SIGNS = (*PROBLEM_SIGNS, "time out", "times out", "timed out", "timing out")
FIX_WORDS = frozenset(
    "fix fixes fixing resolve repair debug solve bug bugs regression crash crashes traceback broken".split()
)
FIX_SIGNS = ("修复", "修一下", "解决", "报错")
WHY_WORDS = frozenset("why diagnose diagnosis diagnosing investigate investigating debug".split())
WHY_SIGNS = tuple(
    (
        "what's wrong|what is wrong|causing|the cause|root cause|how come|figure out|what happened|how did this|为什么|为何|"
        "排查|分析一下"
    ).split("|")
)
ADD_WORDS = frozenset(
    """add adds adding implement implementing implementation create creating support build introduce make write enable
    allow new feature want need let's lets extend provide show include integrate port generate develop
    scaffold setup""".split()
)
ADD_SIGNS = ("can we", "can you", "could we", "could you", "set up", "添加", "新增", "实现", "支持", "增加", "创建")
REFACTOR_WORDS = frozenset(
    """refactor refactoring refactored rename renamed renaming move moved moving extract extracted split cleanup deduplicate
    dedupe simplify simplified simplifying consolidate reorganize reorganise restructure tidy inline unify unused
    modularize decouple rewrite""".split()
)
REFACTOR_SIGNS = ("clean up", "dead code", "get rid of", "factor out", "重构", "重命名", "简化", "拆分", "清理")
RUN_WORDS = frozenset("run rerun execute".split())
TEST_WORDS = frozenset("test tests suite specs benchmark benchmarks checks pytest jest vitest rspec".split())
STANDING_WORDS = frozenset("pass passes passing green check verify status".split())
RULE_WORDS = frozenset("convention conventions pattern patterns style usually rule rules standard idiom practice".split())
RULE_SIGNS = ("how do we", "how should", "how do i", "how do the", "how are", "do we always", "supposed to", "约定", "规范")
QUESTION = re.compile(
    r"(?:(?:so|and|but|ok|okay|hm+|wait|also|btw|well|hey|hi|please|now)[,. ]+)*(?:what|why|how|when|where|which|who|is|"
    r"are|does|do|did|can|could|would|should|has|have|was|were|explain|describe|tell|show|find|list|search|look|read|"
    r"review|analy[sz]e|check|investigate|explore|compare|research|summari[sz]e|identify|examine|study|understand|walk|"
    r"help me understand|give me|any|isn't|aren't|don't we|doesn't|won't|am i)\b|"
    r".{0,40}(?:是不是|是否|什么|怎么|如何|哪里|哪个|为什么|为何|多少)|(?:查看|看看|看一下|分析|解释|说明|检查|搜索)",
    re.I,
)
LACKING = (" nothing", "n't ", " is not ", " are not ", " does not ", " do not ", " is empty", " are empty", " is blank")
OPENING = 300  # characters in which a complaint says what is wrong; further down stand logs and rules
WORK = re.compile(
    r"\W*(?:you are|(?:(?:can|could|would) (?:you|we) |please |now |let's |I (?:want|need) (?:you )?to )*(?:review|"
    r"suggest|recommend|write|"
    r"identify|give|list|implement|add|create|summari[sz]e|compare|plan|design|update|refactor|rename|document|read|port|"
    r"make|address|analy[sz]e the|commit|please fix the following))\b",
    re.I,
)
GREETING = re.compile(r"\W*(?:(?:hi|hello|hey|hallo|thanks|thank you|thx|ty|how are you|ping|test|你好|谢谢)\b\W*)++", re.I)
TRIVIAL = re.compile(
    r"\W*(?:(?:continue|go on|go ahead|proceed|keep going|yes|yep|yeah|yup|y|no|n|nope|ok|okay|k|sure|thanks|thank you|"
    r"thx|ty|great|perfect|nice|cool|good|awesome|hi|hello|hey|test|testing|ping|do it|do that|please|pls|next|done|stop|"
    r"exit|quit|resume|retry|try again|again|and|now|so|it|that worked|it works|works|worked|looks good|lgtm|sounds good|"
    r"right|correct|exactly|fine|hmm+|huh|what|run it|approved?|ship it|start|begin|go|hallo|good to go|good job|"
    r"well done|for both|all of them|implement it|make it so|step|[a-d]|\d{1,2}|option|how are you)\b[\s,.!?;:…-]*+|"
    r"(?:继续|好的?|可以|是的?|谢谢|你好|嗯|对)[\s、，。！？]*+)++\W*",
    re.I,
)


class Wish:
    """The words of a request, looked up once."""

    __slots__ = ("low", "words")

    def __init__(self, text: str) -> None:
        self.low = text.lower()
        self.words = frozenset(WORDS.findall(self.low))

    def _asks(self, words: frozenset[str], signs: tuple[str, ...]) -> bool:
        return not self.words.isdisjoint(words) or any(map(self.low.__contains__, signs))

    def reports_a_problem(self) -> bool:
        return self._asks(PROBLEM_WORDS, PROBLEM_SIGNS)

    def is_troubled(self) -> bool:
        """Whether something is not as it should be, be it no fault: slow, lost, refused."""
        return self._asks(TROUBLE_WORDS, TROUBLE_SIGNS)

    def wants_a_fix(self) -> bool:
        return self._asks(FIX_WORDS, FIX_SIGNS)

    def asks_why(self) -> bool:
        return self._asks(WHY_WORDS, WHY_SIGNS)

    def wants_more(self) -> bool:
        return self._asks(ADD_WORDS, ADD_SIGNS)

    def wants_it_tidier(self) -> bool:
        return self._asks(REFACTOR_WORDS, REFACTOR_SIGNS)

    def names_tests(self) -> bool:
        return not self.words.isdisjoint(TEST_WORDS) or "测试" in self.low

    def wants_a_run(self) -> bool:
        return (not self.words.isdisjoint(RUN_WORDS) and not self.words.isdisjoint(TEST_WORDS)) or "测试" in self.low

    def asks_how_it_stands(self) -> bool:
        return not self.words.isdisjoint(STANDING_WORDS)

    def asks_for_a_rule(self) -> bool:
        return self._asks(RULE_WORDS, RULE_SIGNS)


def is_question(text: str) -> bool:
    return text.endswith(("?", "？", "吗", "呢")) or QUESTION.match(text) is not None


def complains(request: str) -> bool:
    """Whether a request opens with what is wrong, and does not ask for a piece of work."""
    if WORK.match(request):
        return False
    opening = Wish(request[:OPENING])
    return opening.is_troubled() or (any(map(opening.low.__contains__, LACKING)) and not is_question(request[:OPENING]))


def is_greeting(text: str) -> bool:
    return len(text) <= 40 and GREETING.fullmatch(text) is not None


def is_trivial(text: str) -> bool:
    """Whether a prompt only says yes, go on, hello or thanks."""
    return len(text) <= 80 and TRIVIAL.fullmatch(text) is not None

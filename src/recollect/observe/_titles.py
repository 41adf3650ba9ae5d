"""Titles: one line that is true of the turn. Candidates come from commits, plans, answers and prompts; the best wins."""

import re
from collections.abc import Iterator

from recollect.observe import _cues, _types
from recollect.observe._prose import cut, unmarked
from recollect.observe._sentences import NAME
from recollect.observe._subjects import GENERIC, points_away, request_title, unlabelled
from recollect.observe._turn import Turn

TITLE = 80  # characters: a line of a list
BONUS = 0.6  # for a title that names something exactly: the most that a title can gain
SHORTEST = 10  # characters of a title that says something
BOUNDARY = re.compile(
    r"(?:,? (?:because|so that|which|so|since|while|where|and then|when)\b|[;:：，；。](?!\S{0,2}/)| [—–-] |, |"
    r"(?<=\w\w)[.?!] )(?!\s*(?:but|not|unless|except|only|however|never|yet)\b)"
)
WEAK_BOUNDARY = re.compile(r" (?=(?:that|with|for|in|on|at|to|by|from|as|via|after|before|during|using)\b)")
KIND = re.compile(
    r"(?:the )?(?:problem|issue|root cause(?: found)?|cause|fix|solution|answer|finding)\s*[:—–]\s*|"
    r"the (?:\w+ )?(?:problem|issue|bug|root cause|cause|reason)(?: here)? (?:is|was) that (?=\w)"
    r"(?!(?:I|this|that|it|its|these|they|there|we)\b)",
    re.I,
)
LEAD = re.compile(
    r"I have [^.]{3,80}?(?:,| and) (?:I|we)(?: also)?(?:'d like| want| need| would like) to |"
    r"sure[,!.] +(?:but )?|"
    r"(?:you're|you are) (?:absolutely |totally )?right(?: (?:that|about|to (?:be concerned|ask|worry)(?: about|"
    r" that)?))?[,.!:]?\s*"
    r"(?:[—–-]\s*)?|it (?:looks|seems|appears) (?:like|that|as if) |let(?:'s|s| us) |I(?:'ve| have)(?: just| also| now|"
    r" already)?"
    r"(?: noticed| found| seen| realized)?(?: that)? |(?:I|we)(?:'d|"
    r" would)? (?:strongly )?recommend (?!against)(?:that (?:we|you) |to )?",
    re.I,
)
AGAINST = re.compile(
    r"(?:I|we)(?:'d| would)? (?:strongly )?(?:recommend|advise|suggest|decided?) against (?=\w+ing\b)", re.I
)
EXEMPLIFIED = re.compile(r"^[^,]*, (?:e\.g|i\.e|for example|for instance|such as|like)\b[^,]*$", re.I)
CONDITION = re.compile(
    r"(?:if|when|while|since|because|although|as|once|unless|instead of|rather than|after|before)\b", re.I
)
PASSES = re.compile(
    r"(?:,| and)+ (?:now )?(?:all |the |\d+ )*(?:tests?|checks?|suite|build|lint)(?: now)? (?:all )?(?:pass|is green|"
    r"are green|succeed).*$"
)
PLEA = re.compile(
    r"(?:[,.;!—–-]|\band\b|\bso\b|\s)+(?:(?:please|pls|can you|could you|would you|can we)(?: please)? (?:fix|solve|"
    r"resolve|repair|look"
    r"|check|debug|investigate|help)\b.{0,30}|(?:fix|solve|resolve|repair|debug) (?:it|this|that|them)\b.{0,12})[.!?]*$",
    re.I,
)
ARTICLE = re.compile(r"(?:the|a|an|our|my|this|when|some|all)\b", re.I)
BECAUSE = re.compile(r",? (?:because(?: of)?|due to|since|caused by) (?P<cause>.+)$", re.I)
TYPED = 400  # characters: a longer complaint is a pasted log, whose first line names no symptom
CLAUSE = 30  # characters of a cause that can be a title of its own
FRAGMENTS = frozenset("<→-+*=>|)]}.,;:&%@#")  # what begins with one was cut out of something else
SIGNS = (("://", -2.5), ("→", -1.5))  # what does not belong into a title, and how much that costs
QUOTES = ("'", '"')
ASIDE = re.compile(r"\s*\([^()]*\)")
POINTED = re.compile(
    r"because\b|\w+ (?:it|this|that|them|these|those|both)\b|[\w.]+: \S{1,12}$|\S+: #?\w+ \(", re.IGNORECASE
)
TRAILER = re.compile(r"\s*\(#\d+\)$")


def title_of(turn: Turn, kind: str, subject: str) -> str:
    """The best candidate, as a title is written."""
    best, chosen = -99.0, ""
    for prior, text in _candidates(turn, kind, subject):
        if prior + BONUS <= best:
            continue
        title = written(text)
        worth = prior + _worth(title, text) - (4 if LEAD.match(title) else 0)
        if title and worth > best:
            best, chosen = worth, title
    return chosen or _of_deeds(turn).rstrip(" .")


def _candidates(turn: Turn, kind: str, subject: str) -> Iterator[tuple[float, str]]:
    """(how good that source is, text), the better sources first.

    The numbers rank sources, found by reading real turns: what was committed (10) before what the answer opens with
    (7.5), that before the request (6), that before any other sentence (4.5). One fault of a title costs one to three.
    """
    acted = bool(turn.changed or turn.commits)
    if commit := _types.chief_commit(turn):
        yield 10, commit_title(commit)
    if turn.pull_request:
        yield 9.5, commit_title(turn.pull_request.subject)
    if plan := next((text for text in map(unlabelled, turn.plan.headings) if text and not GENERIC.fullmatch(text)), ""):
        yield (7, plan) if acted else (9, f"Plan: {plan}")
    if kind == "diagnosis":
        yield from ((7.5 - place, cause) for place, cause in enumerate(_causes(turn)))
        yield from ((5.6, cause) for cause in turn.causes[:1])
    sums_up = (7.5 if acted else 6.2) if turn.leads else (5.2 if acted else 3)
    yield from ((sums_up - place * 0.6, text) for place, text in enumerate(turn.done[:4]))
    yield from _from_prompt(turn, kind, subject, acted=acted)
    yield from _from_answer(turn, acted=acted)


def _causes(turn: Turn) -> list[str]:
    """The causes as titles. Where nothing else was said the cause is the fact, and its clause alone the title, if "
    "that will do."""
    if len(turn.told) > 1 or not turn.causes or len(turn.request) > TYPED:
        return turn.causes[:2]
    found = BECAUSE.search(turn.causes[0])
    return [found["cause"]] if found and len(found["cause"]) >= CLAUSE and found["cause"].count(" ") > 2 else []


def _mending(subject: str) -> str:
    """A complaint as what was mended: "the login fails, please fix it" is "Fixed: the login fails"."""
    plea = PLEA.search(subject)
    title = request_title(subject)
    if not plea or plea.start() < SHORTEST or _types.of_title(title):
        return title
    symptom = subject[: plea.start()].rstrip(" ,.;")
    return f"Fixed: {symptom[:1].lower() + symptom[1:] if ARTICLE.match(symptom) else symptom}"


def _from_prompt(turn: Turn, kind: str, subject: str, *, acted: bool) -> Iterator[tuple[float, str]]:
    if subject:
        away = points_away(subject) and not NAME.search(subject)
        headed = any(heading.endswith(subject) for heading in turn.asked.headings)
        named = headed or subject in turn.asked.sentences[1:]  # after a lead-in comes the issue's own title
        planned = subject not in turn.asked.sentences[:1] and named and len(turn.request) > 400
        yield (
            (7.6 if planned else 6 if acted else 6.5) - (2.5 if away else 0),
            _mending(subject) if kind == "bug-fix" else request_title(subject),
        )


def _from_answer(turn: Turn, *, acted: bool) -> Iterator[tuple[float, str]]:
    for place, sentence in enumerate(turn.told[:4]):
        became = 2.3 if acted and place == 0 and _cues.BECAME.search(sentence) else 0
        yield 4.5 - place * 0.5 + became, sentence
    for heading in turn.said.headings[:2]:
        if not GENERIC.fullmatch(heading) and len(heading) > 14:
            yield 4, heading
    if acted:
        yield from ((4.5, deed) for sentence in turn.said.sentences[:3] if (deed := _cues.planned(_cues.opened(sentence))))


def _worth(title: str, text: str) -> float:
    """What speaks for and against a title, whatever its source."""
    worth = 0.0
    if len(title) < SHORTEST or title.isdigit():
        worth -= 6 if title.isascii() else 1
    if len(text) > TITLE:
        worth -= 0.8
    if len(text) > 200 or title.endswith("…"):
        worth -= 0.7
    if NAME.search(title):
        worth += BONUS
    if title.isascii() and title.count(" ") < 2:
        worth -= 2
    if _cues.DEICTIC.match(title):
        worth -= 2.5
    elif POINTED.match(title):
        worth -= 1.5
    if CONDITION.match(title) and EXEMPLIFIED.search(title):
        worth -= 3
    if _cues.is_hollow(title) or _cues.is_intention(title):
        worth -= 5
    return worth + sum(cost for sign, cost in SIGNS if sign in title) - (4 if title[:1] in FRAGMENTS else 0)


def commit_title(subject: str) -> str:
    """A commit's subject in plain words: its kind is the type's business, its scope is among the concepts."""
    subject = TRAILER.sub("", subject)
    found = _types.CONVENTIONAL.match(subject)
    if found and found["kind"] in {*_types.OF_COMMIT, "docs", "doc", "revert", "release"}:
        rest = found["rest"]
        word = rest.split(" ", 1)[0]
        return rest[:1].upper() + rest[1:] if word.replace("-", "").isalpha() and word.islower() else rest
    return subject


def written(text: str) -> str:
    """A text as a title: plain, whole clauses, no full stop, not longer than a line."""
    text = unmarked(text.replace("\\n", " "))
    if " against " in text:
        text = AGAINST.sub("Avoid ", text)
    for lead in (LEAD, KIND):
        if (found := lead.match(text)) and len(text) - found.end() >= SHORTEST:
            text = text[found.end() :]
    if "pass" in text or "green" in text:
        text = PASSES.sub("", text) or text
    text = text.strip(" .").rstrip(" .:,;!。：，；！—–-")
    text = text.replace('"""', "").rstrip()
    if text[:1] in QUOTES and text[-1:] == text[:1] and text.count(text[0]) == 2:
        text = text[1:-1]
    if len(text) > TITLE:
        text = ASIDE.sub("", text).rstrip(" .:,;!")
    if len(text) > TITLE:
        text = _clause(text, BOUNDARY, 44) or _clause(text, WEAK_BOUNDARY, 44) or _clause(text, BOUNDARY, 30) or text
    text = cut(text, TITLE)
    if text.count("(") > text.count(")"):
        text = text[: text.rindex("(")].rstrip(" ,;:") or text
    return _cues.capital(text)


def _clause(text: str, boundary: re.Pattern[str], shortest: int) -> str:
    """The longest beginning of a text that ends where a clause does and fits, if one does."""
    if CONDITION.match(text):  # its first clause alone would say nothing
        shortest = max(shortest, text.find(", ") + shortest // 2)
    ends = [found.start() for found in boundary.finditer(text, shortest, TITLE + 2) if found.start() <= TITLE]
    return text[: ends[-1]].rstrip(" .,;:—–-") if ends else ""


def _of_deeds(turn: Turn) -> str:
    """Where nothing was said: what was touched."""
    if turn.changed:
        return cut(f"Changed {', '.join(path.rsplit('/', 1)[-1] for path in turn.changed[:3])}", TITLE)
    if turn.runs:
        return cut(f"Ran {unmarked(turn.runs[-1].command)}", TITLE)
    if turn.read:
        return cut(f"Read {', '.join(path.rsplit('/', 1)[-1] for path in turn.read[:3])}", TITLE)
    return cut(unmarked(turn.request or (turn.said.sentences or ("",))[0]), TITLE)

"""Removes the markup of a text, splits it into headings and sentences, and classifies each sentence.

Code, tables, terminal colours, injected notes and emphasis contain no sentence worth remembering.
The work is bounded: only the beginning and the end of a long text are read.
People and agents use the phrases in any project; none belongs to a single project.
"""

import re
from collections.abc import Iterable
from itertools import islice

from msgspec import Struct

from recollect.observe.phrases import PhraseTable, contains_any

HEAD, TAIL = 5_000, 2_500  # characters: a summary is at the beginning or at the end of a long answer
MAX_BEGINNING = 1_400  # characters of a text from which tags are taken
MAX_SENTENCES = 45  # later sentences are never chosen
MIN_SENTENCE, MAX_SENTENCE = 20, 400  # characters of a sentence that is understood alone
MIN_RULE, MAX_RULE = 15, 300  # characters of a sentence in which a person sets a convention
MAX_REPORTS = 8  # more reports than an observation ever shows
MAX_OPENING_WORDS = 6  # words before the verb of a report: "I have now also just added"

# ---- markup

ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
INJECTED = re.compile(
    r"<(system[-_]reminder|environment[-_]context|environment_details|local-command-[a-z]+|"
    r"command-(?:name|args|message|contents)|user_instructions|permissions instructions|ide_[a-z_]+|attached_files?|"
    r"task-notification|recommended_plugins|skills_instructions|plugins_instructions|open_and_recently_viewed_files|"
    r"user_info|rules|instructions|INSTRUCTIONS|thinking|think|budget:[a-z_]+|available_skills|tool_use_error|"
    r"gitStatus)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
EDIT_BLOCK = re.compile(r"^<{5,} ?SEARCH.*?(?:^>{5,} ?REPLACE[^\n]*|\Z)", re.DOTALL | re.MULTILINE)
SOURCE_BLOCK = re.compile(r"<source>.*?(?:</source>|\Z)", re.DOTALL)
LONE_TAG = re.compile(r"^[ \t]*</?[A-Za-z][\w-]*(?: [^<>\n]{0,200})?/?>[ \t]*$", re.MULTILINE)
IMAGE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\n]{0,2000}\)|\[Image(?: #\d+)?[^\]\n]{0,80}\]|\[image\]")
LINK = re.compile(r"\[([^\]\n]{1,200})\]\(<?[^)\n]{0,2000}\)")
EMPHASIS = re.compile(r"\*(?=[\w\"'(])|(?<=[\w.!?:)\"'])\*(?=\W|$)|(?<!\w)_{1,2}(?=[A-Za-z])|(?<=[\w.!?:])_{1,2}(?![\w(])")
HEADING = re.compile(r"#{1,6}\s+(.+)")
BULLET = re.compile(r"(?:[-*+•◦▪●○–—>│├└─]+\s+|\(?\d{1,3}[.)]\s+|\[[ xX]\]\s+|(?:Step|STEP) \d+[:.]\s+)+")
SYMBOLS = re.compile(r"^[\W_]*[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f\u200d]+[\s:]*")
END = re.compile(r"[.!?…][\"')\]]*\s+(?=[^a-z\s])|[。！？；]")
ABBREVIATION_END = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Dr|Mr|Ms|No|Fig|al)|^\W*\d{1,3})\.$")
RULER = re.compile(r"^[\s|+\-=_*~#─━═│┌┐└┘├┤┬┴┼.:]*$")
SPACES = re.compile(r"\s+")
NAME = re.compile(
    r"(?<![\\\w])_*[A-Za-z](?:[a-z0-9-]*+(?:[A-Z_][\w.]*\w(?:\(\))?|/[\w./-]*\w|\(\))|[a-z0-9-]++\.[a-z]{1,4}\b(?![.\w])|"
    r"[A-Z]{0,3}-?\d{3,}[\w-]*)|--[a-z][\w-]+"
)
URL = re.compile(r"\bhttps?://\S+")
LABEL = re.compile(r"[^:—–\n]{1,70}?(?:: | [—–-] )(?=[A-Z])")

# ---- phrases

TABLE = PhraseTable("sentences")
REPORT_VERBS = TABLE.word_set("report_verbs")
REPORT_OPENINGS = TABLE.word_set("report_openings")
NEW_STATE = TABLE.pattern("new_state")
OLD_STATE = TABLE.pattern("old_state")
INTENTION = TABLE.pattern("intention")
OFFER = TABLE.pattern("offer")
PLAN = TABLE.pattern("plan")
OPENER = TABLE.pattern("opener")
CONNECTIVE = TABLE.pattern("connective")
EMPTY_REPORT = TABLE.pattern("empty_report")
REASON_HINTS = TABLE.phrases("reason_hints")
PRONOUN = TABLE.pattern("pronoun")
CAUSE_HINTS = TABLE.phrases("cause_hints")
CAUSE = TABLE.pattern("cause")
EXPLANATION = TABLE.pattern("explanation")
OWN_ACTION = TABLE.pattern("own_action")
HEDGE = TABLE.pattern("hedge")
CONVENTION_HINTS = TABLE.phrases("convention_hints")
CONVENTION = TABLE.pattern("convention")
OBLIGATION = TABLE.pattern("obligation")
ORDER = TABLE.pattern("order")
RULE = TABLE.pattern("rule")
ABBREVIATIONS = TABLE.word_set("abbreviations")


class Prose(Struct, frozen=True):
    """A parsed text. `heading_at` counts the sentences before the first heading. `text` is the beginning without markup."""

    headings: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    heading_at: int = 0
    text: str = ""


NO_PROSE = Prose()


# ---- from text to sentences


def head_and_tail(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """The beginning and the end of a long text; a short text unchanged."""
    if len(text) <= head + tail:
        return text
    return f"{text[:head]}\n\n{text[-tail:]}"


def strip_markup(text: str) -> str:
    """A text without colours, injected notes, code blocks, images and link targets."""
    if "\x1b" in text or "\x00" in text:
        text = ANSI.sub("", text)
    text = text.replace("\r", "").replace("’", "'").replace("‘", "'")
    if "<" in text:
        text = INJECTED.sub("\n", text)
        text = EDIT_BLOCK.sub("\n", text) if "SEARCH" in text else text
        text = SOURCE_BLOCK.sub("\n", text) if "<source>" in text else text
        text = LONE_TAG.sub("", text)
    if "```" in text or "~~~" in text:
        text = FENCE.sub("\n", text)
    if "[" in text:
        text = LINK.sub(r"\1", IMAGE.sub("", text))
    return text


def strip_emphasis(text: str) -> str:
    """A line without emphasis and backticks, with single spaces."""
    text = text.replace("`", "").replace("**", "")
    if "*" in text or " _" in text or text.startswith("_"):
        text = EMPHASIS.sub("", text)
    if text.isascii() and "  " not in text and "\n" not in text and "\t" not in text:
        return text.strip()
    return " ".join(text.split())


def parse_prose(text: str) -> Prose:
    """The headings and sentences of a text, in their order."""
    headings: list[str] = []
    sentences: list[str] = []
    heading_at = 0
    text = strip_markup(head_and_tail(text))
    for line in text.split("\n"):
        line = line.strip()
        if not line or line[0] in "|❯➜" or line[:2] in {"$ ", "::"} or RULER.match(line):
            continue
        if line[0] == "#" and (heading := HEADING.match(line)):
            heading_at = heading_at if headings else len(sentences)
            headings.append(BULLET.sub("", strip_emphasis(SYMBOLS.sub("", heading[1].rstrip("# "))), count=1))
            continue
        sentences += sentences_of_line(line)
        if len(sentences) >= MAX_SENTENCES:
            break
    return Prose(tuple(headings), tuple(sentences), heading_at, text[:MAX_BEGINNING])


def sentences_of_line(line: str) -> list[str]:
    """The sentences of one line, without its bullet and its emphasis."""
    line = strip_emphasis(line)
    if bullet := BULLET.match(line):
        line = line[bullet.end() :]
    if line and not line[0].isalnum() and line[0] not in "`*_\"'([{</.$@~":
        line = SYMBOLS.sub("", line)
    return split_sentences(line)


def split_sentences(line: str) -> list[str]:
    """The sentences of a plain line. An abbreviation does not end a sentence."""
    if not line:
        return []
    if "." not in line and "!" not in line and "?" not in line and line.isascii():
        return [line]
    parts: list[str] = []
    start = 0
    for end in END.finditer(line):
        part = line[start : end.end()].rstrip()
        if not ABBREVIATION_END.search(part):
            parts.append(part)
            start = end.end()
    if start < len(line):
        parts.append(line[start:])
    return parts


def truncate(text: str, limit: int) -> str:
    """A text of at most `limit` characters, cut at the end of a word."""
    if len(text) <= limit:
        return text
    short = text[: limit - 1]
    space = short.rfind(" ")
    return short[: space if space > limit // 2 else limit - 1].rstrip(" ,;:-–—([{\"'") + "…"


def capitalize(text: str) -> str:
    """A text with a capital first letter, unless it begins with an identifier, a path or a scope ("cart: round totals")."""
    if text[:1].isupper():
        return text
    word = text.split(" ", 1)[0].replace("'", "").rstrip(",.;!?")
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text


def find_names(text: str) -> list[str]:
    """The exact names in a text that a person would search for: identifiers, error codes, paths, options."""
    names = dict.fromkeys(NAME.findall(URL.sub("", text) if "://" in text else text))
    return [name for name in names if not (name.isalpha() and name.isupper()) and name.lower() not in ABBREVIATIONS]


# ---- classify a sentence


def strip_opener(sentence: str) -> str:
    """A sentence without its polite opening and its connective, with a capital first letter."""
    for pattern in (OPENER, CONNECTIVE):
        if opening := pattern.match(sentence):
            sentence = sentence[opening.end() :]
    return capitalize(sentence)


def reported_change(sentence: str) -> str | None:
    """The change that a sentence without opener reports: "I've added X" becomes "Added X"; None without one."""
    change = _from_report_verb(sentence)
    if change is None and (label := LABEL.match(sentence)):
        change = _from_report_verb(sentence[label.end() :])
    return change


def _from_report_verb(sentence: str) -> str | None:
    for _ in range(MAX_OPENING_WORDS):
        word, _, after = sentence.partition(" ")
        word = word.lower().rstrip(",:")
        if word in REPORT_VERBS:
            return capitalize(sentence) if not after.startswith("by ") else None
        if word not in REPORT_OPENINGS:
            return None
        sentence = after
    return None


def planned_change(sentence: str) -> str | None:
    """The change that a sentence announces: "I'll modify X" becomes "Modify X". Only for turns with changes."""
    plan = PLAN.match(sentence)
    return capitalize(plan["change"]) if plan else None


def is_intention(sentence: str) -> bool:
    """Whether a sentence announces, offers or asks something."""
    return INTENTION.match(sentence) is not None


def is_offer(sentence: str) -> bool:
    """Whether a sentence only promises, offers or asks for permission: nothing shows that the work was done."""
    return OFFER.match(sentence) is not None


def is_empty_report(sentence: str) -> bool:
    """Whether a sentence only says that work is done or that something follows, without a reason."""
    return EMPTY_REPORT.match(sentence) is not None and not contains_any(REASON_HINTS, sentence)


def is_cause(sentence: str, hints: tuple[str, ...] = CAUSE_HINTS) -> bool:
    """Whether a sentence names a cause and expresses no doubt."""
    return contains_any(hints, sentence.lower()) and CAUSE.search(sentence) is not None and HEDGE.search(sentence) is None


def explains_problem(sentence: str) -> bool:
    """Whether a sentence explains a reported problem by a reason that is not the agent's own action."""
    return EXPLANATION.search(sentence) is not None and not OWN_ACTION.match(sentence) and HEDGE.search(sentence) is None


def states_convention(sentence: str, hints: tuple[str, ...], *, has_changes: bool) -> bool:
    """Whether an agent's sentence says how things are always done in this project.

    In a turn with changes, "all X must" describes these changes, so it does not count.
    """
    if not contains_any(hints, sentence.lower()):
        return False
    return CONVENTION.match(sentence) is not None or (not has_changes and OBLIGATION.match(sentence) is not None)


def sets_convention(sentence: str, *, has_changes: bool) -> bool:
    """Whether a person's sentence says how things must always be done. A question or a single task does not."""
    if not MIN_RULE <= len(sentence) <= MAX_RULE or sentence[-1] in "?？":
        return False
    if not contains_any(CONVENTION_HINTS, sentence.lower()):
        return False
    return RULE.match(sentence) is not None or (
        not has_changes and OBLIGATION.match(sentence) is not None and not ORDER.match(sentence)
    )


# ---- choose sentences


def is_sentence(text: str) -> bool:
    """Whether a text is more than a name or an introduction, and not a question."""
    return text[-1] not in "?？:：" and (text.count(" ") >= 3 or not text.isascii())


def stands_alone(text: str) -> bool:
    """Whether a sentence has content that is understood without the sentences around it."""
    if not MIN_SENTENCE <= len(text) <= MAX_SENTENCE and (text.isascii() or len(text) < 6):
        return False
    last = text[-1]
    if last in "?？" or (text.isascii() and text.count(" ") < 3):
        return False
    if last in ":：" and not (text.count(" ") > 5 and NEW_STATE.search(text)):
        return False
    return not is_intention(text) and not is_empty_report(text)


def find_statements(sentences: Iterable[str]) -> list[str]:
    """Those of the sentences without opener that stand alone."""
    return [sentence.rstrip(" :：") for sentence in sentences if stands_alone(sentence)]


def find_reports(sentences: Iterable[str]) -> list[str]:
    """The changes that sentences without opener report: "Added X"."""
    changes = (reported_change(sentence) for sentence in sentences)
    reports = (
        text for text in changes if text and len(text) >= MIN_SENTENCE and text[-1] != "?" and not is_empty_report(text)
    )
    return [text.rstrip(" :：") for text in islice(reports, MAX_REPORTS)]


def find_causes(text: str) -> list[str]:
    """The sentences of a text that name a cause."""
    text = head_and_tail(text, 1_500, 1_000)
    if not contains_any(CAUSE_HINTS, text.lower()):
        return []
    lines = (line for line in strip_markup(text).split("\n") if contains_any(CAUSE_HINTS, line.lower()))
    sentences = (strip_opener(sentence) for line in lines for sentence in sentences_of_line(line.strip()))
    return [sentence for sentence in sentences if is_cause(sentence) and stands_alone(sentence)]

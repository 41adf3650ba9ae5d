"""Chooses a session's title: the first line of a prompt that names its subject.

Prompts often begin with a line that only introduces the next one, a link, a heading, the tags of a template, or a sentence
that gives the agent a role. One rule chooses the line for all agents. A title that the agent itself gave is used
unchanged, unless it is a placeholder.
"""

import re
from collections.abc import Iterator

from recollect.label import label

MAX_TITLE = 120  # characters of a title
MAX_SEARCHED = 8_000  # characters of a prompt that are searched for a title: a person reads no further
MAX_INTRODUCTION_WORDS = 6  # a line that ends in a colon and is not longer only introduces what follows
MAX_LINE = 1_000  # characters of a line that are read
MIN_SUBJECT_WORDS = 3  # a shorter heading names a section ("Context", "Issues found"), not a subject
CHARACTERS_PER_WORD = 2  # in a script without spaces

PLACEHOLDER = re.compile(
    r"(?:(?:new|untitled|unnamed|child|default|empty)\s+(?:\w+\s+)?(?:session|chat|thread|conversation|task|agent|composer)|untitled"
    r"|(?:new\s+)?(?:session|chat|thread|conversation))(?:\s*[-–—:#]?\s*[\d(][\d\s:.,TZ()/-]*)?",
    re.IGNORECASE,
)
BLOCK = re.compile(  # injected context before or between the person's words
    r"<(?P<name>[\w-]*(?:context|reminder|environment|instructions|metadata|caveat|attachments?|attached[\w-]*|selection|stdout)"
    r"[\w-]*)(?:\s[^<>]*)?>.*?</(?P=name)>",
    re.DOTALL | re.IGNORECASE,
)
FENCE = re.compile(r"^\s*(?:```|~~~)")
INDENTED = re.compile(r"^(?: {4}|\t)")
TAGS = re.compile(r"(?:</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>\s*)+")
WRAPPED = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>(.*)</\1>")
TEMPLATE = re.compile(r"\[\[\s*##.*##\s*\]\]|\{\{.*\}\}|\{%.*%\}")
HEADING = re.compile(r"#{1,6}\s+")
BULLET = re.compile(r"^(?:[-*+•·❯›>]|\d{1,3}[.)])\s+")
LINK = re.compile(r"!?\[(?P<text>[^\[\]]*)\]\((?P<target>[^()\s]*)(?:\s+\"[^\"]*\")?\)")
ADDRESS = re.compile(r"<?(?:https?|file|ssh|git|vscode)://\S+|www\.\S+", re.IGNORECASE)
PATH = re.compile(r"(?!/[\w:.-]+$)[`\"']?[@~]?(?:[A-Za-z]:)?[\w.~-]*(?:[/\\][\w.@~-]+)+[/\\]?(?::\d+(?:-\d+)?)?[`\"']?,?")
IMAGE = re.compile(r"\[(?:image|file|document|pasted text|attachment|audio|video)\b[^\]]*\]", re.IGNORECASE)
STACK = re.compile(r"(?:Traceback \(most recent call last\)|File \".*\", line \d+|at \S+ ?\(.*\))")
ROLE = re.compile(  # a sentence that gives the agent a role: "You are a senior reviewer."
    r"You are (?:an?|the|my|our|acting|assisting|helping|now)\b[^.!?\n]{0,300}[.!](?:\s+|$)", re.IGNORECASE
)
EMPHASIS = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
UNSPACED = re.compile(r"[぀-ヿ㐀-鿿豈-﫿]")
WORD = re.compile(r"[^\W_]+(?:['’._/-][^\W_]+)*")


def title_of(prompt: str) -> tuple[str, bool]:
    """The title for a prompt ("" if the prompt has no text), and whether it names a subject.

    If no line names a subject, the first line is the title.
    """
    prompt = prompt[:MAX_SEARCHED]
    subject = next((line for line in _subjects(BLOCK.sub("", prompt)) if line), "")
    if subject:
        return label(subject, MAX_TITLE), True
    first = next((line for line in prompt.splitlines() if line.strip() and not FENCE.match(line)), "")
    return label(_strip_markdown(first[:MAX_LINE].strip()) or first, MAX_TITLE), False


def _subjects(text: str) -> Iterator[str]:
    """The subject that each line names; "" for a line that does not name one."""
    inside_code = False
    for line in text.splitlines():
        if FENCE.match(line):
            inside_code = not inside_code
        elif not inside_code and not INDENTED.match(line):
            yield _subject(line[:MAX_LINE].strip())


def _subject(line: str) -> str:
    """The subject that a line names, without Markdown; "" if it does not name one."""
    line = BULLET.sub("", line, count=1)
    if TEMPLATE.fullmatch(line) or TAGS.fullmatch(line) or STACK.match(line):
        return ""
    if wrapped := WRAPPED.fullmatch(line):
        line = wrapped[2].strip()
    line = ROLE.sub("", line, count=1) if ROLE.match(line) else line
    plain, words = _strip_markdown(line), _count_words(line)
    if HEADING.match(line) and words < MIN_SUBJECT_WORDS:
        return ""
    if plain.endswith((":", "：")) and words <= MAX_INTRODUCTION_WORDS:
        return ""
    return plain if words else ""


def _strip_markdown(line: str) -> str:
    """A line without bullets, heading marks and emphasis. Each link is replaced by its text."""
    line = BULLET.sub("", line, count=1)
    if heading := HEADING.match(line):
        line = line[heading.end() :].rstrip("# ")
    return EMPHASIS.sub(r"\1", LINK.sub(lambda link: link["text"] or link["target"], line)).strip()


def _count_words(line: str) -> int:
    """The number of words in a line, without links, addresses, paths and images."""
    for pattern in (LINK, ADDRESS, IMAGE):
        line = pattern.sub(" ", line)
    line = " ".join(part for part in line.split() if not PATH.fullmatch(part))
    unspaced = len(UNSPACED.findall(line))
    return len(WORD.findall(UNSPACED.sub(" ", line))) + -(-unspaced // CHARACTERS_PER_WORD)


def is_placeholder(title: str) -> bool:
    """Whether an agent's title only says that the session has no title yet: "New Session", "Untitled"."""
    return PLACEHOLDER.fullmatch(title.strip()) is not None

"""Subjects: what a prompt is about, which is seldom its first words: a plan's heading, an issue's title, the question."""

import re

from recollect.observe._cues import either
from recollect.observe._prose import Prose
from recollect.observe._requests import is_question, is_trivial

GENERIC = re.compile(
    r"(?:the |your |my |our )?(?:context|overview|plan|task|tasks|background|objective|objectives|summary|goals?|problem|"
    r"problem statement|instructions?|description|introduction|requirements?|implementation(?: plan)?|changes?|"
    r"what changed|files?(?: to (?:change|modify|edit))?|notes?|steps?|approach|solution|issue|details|example|scope|role|"
    r"rules|guidelines|output(?: format)?|prompt|user request|request|question|todo|findings|results?|"
    r"key (?:changes|points|findings|files)|what (?:I|was) (?:did|done|implemented|changed)|verification|testing|"
    r"next steps|status|design|pr description|describe the bug|expected behaviou?r|steps(?:/code)? to reproduce|"
    r"recommended workflow|important boundaries|submission)\W*",
    re.I,
)
LABEL = re.compile(
    r"(?:implementation |detailed |refactor(?:ing)? |feature |bug ?fix )?(?:plan|task|issue|title|objective|goal|problem|"
    r"bug|feature request|question|request|subject|summary|计划|任务)(?: \d+)?\s*[:：—–-]\s*",
    re.I,
)
ROLE = either(
    # a part to play, a frame around the issue
    r"you will be (?:provided|given)|you are (?:a|an|the|now|assisting|tasked|working|doing|given|reviewing|currently)\b|"
    r"you're (?:a|an)\b",
    r"act as\b|as (?:a|an) (?:expert|senior|experienced)|your (?:task|job|role|goal) is\b|we(?:'re| are) currently solving",
    r"I(?:'ve| have) uploaded|consider the following|implement (?:the|this) (?:following )?plan|"
    r"here(?:'s| is) (?:the|a|an|my)",
    r"below (?:is|are)|the following\b|please read|read the following|base directory for this|caveat:|"
    r"this session is being continued",
    r"I'm (?:researching|working on|building|developing|writing)\b|important:|note:",
    # pasted: tags, JSON, logs, diffs, links, screenshots
    r"<|\{|\[[a-z]+:[\w-]+\]|[=#*+>~|-]{2,}|[+-]\d|https?://\S+$|['\"]/[^'\"]+['\"]\s*$|\S+\.(?:png|jpe?g|gif|webp)\b|\W*$",
)
COURTESY = re.compile(
    r"(?:(?:looks good|but|hi|hey|hello|ok|okay|so|and|also|now|well|hm+|btw|alright|great|cool|nice|thanks|yes|yeah|no|"
    r"please|pls|"
    r"actually|then|next|perfect|good|right|wait|oh|ah|lets?|let's)\b[,.! ]+)*"
    r"(?:(?:can|could|would|will) (?:you|we|u) (?:also |please |now |just |maybe )*(?:help me (?:to )?)?|"
    r"I (?:want|need|would like) (?:you |us )?to |I'd like (?:you |us )?to |I (?:think|guess) (?:that )?(?:we|you) should |"
    r"we (?:need|want|have) to |we should |you should |your task is to |help me (?:to )?|please |pls |let's )?"
    r"(?:also |please |just |now )*",
    re.I,
)
PLACED = re.compile(r"in (?:this|the) [^,]{3,80}, (?=\w+ \w+ \w)", re.I)
SCOPE = re.compile(r"(?:explore|search|look at|read|investigate)\b.*\b(?:codebase|repo|repository|project)\b", re.I)
POINTING = re.compile(r"\b(?:this|that|it|these|those|them|above)\b", re.I)


def subject_of(asked: Prose) -> str:
    """What a prompt is about: the first heading or sentence that is more than a lead-in."""
    said = [text for text in asked.sentences[:12] if _says_something(text)][:2]
    if len(said) == 2 and SCOPE.match(said[0]):
        said = said[1:]
    sentence = _introduced(asked) or (said[0] if said else "")
    heading = next((text for text in map(unlabelled, asked.headings[:6]) if text and not GENERIC.fullmatch(text)), "")
    if heading and (not sentence or _leads_with_heading(asked, sentence)):
        return heading
    return sentence or heading


def _introduced(asked: Prose) -> str:
    """A request whose object was pasted below it: both, in one line."""
    first, *rest = asked.sentences[:2] or ("",)
    if first[-1:] in (":", "：") and rest and first.count(" ") >= 2 and _says_something(first[:-1]):
        brief = len(asked.sentences) == 2 and rest[0][0].isalnum() and len(first) + len(rest[0]) < 120
        return f"{first} {rest[0]}" if brief else first[:-1]
    return ""


def unlabelled(heading: str) -> str:
    """A heading without the word for what kind of text it heads: "Plan: add X" is "Add X"."""
    label = LABEL.match(heading)
    return (heading[label.end() :] if label else heading).strip(" #:-")


def _says_something(sentence: str) -> bool:
    if sentence[-1:] in ":：" or ROLE.match(sentence) or GENERIC.fullmatch(sentence):
        return False
    return (" " in sentence or not sentence.isascii()) and not is_trivial(sentence)


def _leads_with_heading(asked: Prose, sentence: str) -> bool:
    """Whether the text before the first heading only led to it."""
    before = asked.sentences[: asked.heading_at]
    return sentence not in before


def request_title(subject: str) -> str:
    """A request as a title says it: "can you please add X?" is "Add X"; a question stays one."""
    if place := PLACED.match(subject):
        subject = subject[place.end() :]
    courtesy = COURTESY.match(subject)
    rest = (subject[courtesy.end() :] if courtesy else subject).strip()
    if len(rest) < 8:
        rest = subject
    if rest != subject and rest.endswith("?") and not is_question(rest.rstrip("? ")):
        rest = rest.rstrip("? ")
    return rest[:1].upper() + rest[1:]


def points_away(text: str) -> bool:
    """Whether a text speaks of something that only its listener sees."""
    return POINTING.search(text) is not None

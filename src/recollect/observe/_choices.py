"""Choices: which sentence settles something for good, and how a title says it.

A person lays down, an agent reports or recommends. What an edit merely does differently ("returns None instead of 0") is a
detail of that edit and no decision: beside edits a choice counts if it says that it is one, or why it was made.
"""

import re

from recollect.observe._cues import capital, either, has

SHORTEST, LONGEST = 12, 320  # characters of a sentence that settles something
MOMENT = 80  # characters at the beginning of a sentence, which tell that it is for the moment only
WORDS = tuple(
    (
        "decid|decision|chose|choos|opted|go with|going with|went with|instead|rather than|prefer|let's |don't |do not |"
        "never |always |avoid |stick |settle|agreed|picked|recommend|suggest|from now on|going forward|henceforth|"
        "in future|over |, not |and not |standardi|we'll use|we will use|lean|决定|采用|改用|选择|建议|推荐"
    ).split("|")
)  # a person's
TOLD_WORDS = tuple(
    (
        "decid|decision|chose|opted|go with|going with|went with|instead of|rather than|prefer|settled|agreed|picked|"
        "recommend|suggest|from now on|going forward|standardi|let's |stick with|best|better|lean|i'd use|"
        "决定|采用|改用|选择|建议|推荐"
    ).split("|")
)  # an agent's
FILLER = (
    r"(?:(?:no|and|but|also|please|ok|okay|well|hm+|so|actually|yes|yeah|alright|all right|sure|right|then|great|agreed|"
    r"perfect|good|fine|done|understood|as discussed|note)[,.!:; ]+(?:that )?){0,3}"
)
SETTLED = either(
    # said to be a decision
    FILLER
    + r"(?:(?:the |our |my |final )*(?:decision|verdict)(?: (?:is|was))?(?: to\b|\s*[:—–-])|decided(?: to| on|:)) ?\S",
    r".{0,40}\b(?:I|we|they|everyone|(?:the|our|my) (?:team|group))(?:'ve| have| has)?(?: all| both| now| already|"
    r" finally| just)?"
    r" (?:decided|chose|chosen|opted|agreed|settled|picked|standardi[sz]ed)(?! (?:whether|if|what|how|which|when|by|"
    r"yet)\b)\b",
    r".{0,60}\b(?:was|were) (?:chosen|picked|selected) (?:over|instead of|because)\b",
    r".{0,60}\bsettled (?:on|for) \S",
    # laid down for what comes
    FILLER + r"(?:from now on|going forward|from here on|henceforth|in (?:the )?future)\b",
    r".{10,200}\b(?:from now on|going forward|from here on|henceforth)[.!]?$",
    r".{0,40}\b(?:we|I|let's)(?:'ll| will|'re| are|'m| am|'d like to| want to)?(?: now| all| just)? (?:go(?:ing)?|"
    r"stick(?:ing)?|stay(?:ing)?|went) "
    r"with (?!(?:the (?:flow|first|second|above|latter|former)|this|that|it|option)\b)",
    FILLER + r"(?:let's|lets|let us|we should|we shall) (?:not (?!worry|forget|do (?:this|that|it)\b)|never |always |all )?"
    r"(?:use|go with|adopt|switch (?:to|from)|standardi[sz]e|stick (?:with|to)|stay with|avoid|"
    r"settle on|drop|prefer|store|keep (?:using|to)) ",
    FILLER + r"(?:let's|lets|let us) not (?!worry|forget|do (?:this|that|it)\b)[a-z]+ \S",
    FILLER + r"(?:go with|stick (?:with|to)|standardi[sz]e on) (?!(?:the (?:flow|first|second)|this|that|it|option)\b)\S",
    r".{0,30}(?:我们|已经|最终)?(?:决定|我们采用|改用|选择了)",
)
OPPOSED = either(
    # one named thing and not the other
    FILLER + r"let's [^.]{3,80}\b(?:use|go with|take) [^.]{2,60}\b(?:instead|rather)\b",
    r"(?:I|we)(?:'ve| have)? (?:used|kept|switched|put|stored|left|moved|made|opted|placed) [^.]{3,200} (?:instead of|"
    r"rather than|over) ",
    FILLER + r"(?:(?:we|I)(?:'ll| will|'d| would| should)? |let's )?(?:chose|choose|picked|prefer(?:red)?|favou?r(?:ed)?|"
    r"opted for) "
    r"[^.]{2,80}? (?:over|to|instead of|rather than) \S",
    FILLER
    + r"(?:(?:for|in|when|if) [^,.]{3,60}, )?(?:please )?(?:just )?(?:use|keep|write|store|put|call|make|have|run|return|"
    r"build|log|take|pick|choose|prefer|switch to|deploy|host) [^.]{2,100}?(?:,? not |,? instead of |,? rather than |"
    r",? instead\b| over )",
    FILLER
    + r"(?:please )?(?:don't|do not|never|stop|avoid) (?:us(?:e|ing)|writ(?:e|ing)|call(?:ing)?|mock(?:ing)?|put(?:ting)?|"
    r"stor(?:e|ing)|import(?:ing)?|add(?:ing)?) [^.;]{2,80}(?:[,;.]|\band\b|\bbut\b)? ?(?:just |rather |please )?(?:use|"
    r"instead|write|"
    r"call|mock|put|store|import|add|prefer)\b",
    FILLER + r"(?:instead of|rather than) [^,]{3,80},? ?(?:please |just |let's |we(?:'ll)? )?(?:use|write|store|call|go|put|"
    r"have|mock)\b",
    r"[^.?]{2,90} (?:rather than|instead of|over) [^.?]{2,90}\b(?:because|so that|since)\b",
)
DIRECTIVE = either(
    FILLER
    + r"(?:(?:when|in|for|if) [^,.]{3,60}, )?(?:(?:don't|do not|never|always) (?!(?:commit|push|edit|change|modify|run|do|"
    r"write|implement|touch|worry|start|forget|think|know|see|have|understand|believe|care|stop|wait|be|get|work|like|seem|"
    r"remember|mind|use the|want|make changes|make any)\b)[a-z]+ \w",
    r"(?:always|never) (?:run|write|commit|push|edit|change|use|be|do|have|get)\b \w",
    r"(?:we|you|they) (?:should|must) (?:never|always|not) [a-z]+ \w",
    r"prefer [^.]{3,80} (?:over|to|instead of|rather than)\b)",
)
LASTING = re.compile(
    r"\b(?:always|never|from now on|going forward|from here on|henceforth|in (?:the )?future|decided|decision|settled|"
    r"agreed|"
    r"standardi[sz]e|opted|chose)\b",
    re.I,
)
RECOMMENDED = either(
    r"\b(?:I|we)(?:'d| would)? (?:strongly |definitely |personally )?(?:recommend|suggest|go with|prefer|lean|choose|"
    r"pick|use)\b",
    r"\b(?:my |the |our )?recommendation(?: is| would be|:)|\bbe(?:st|tter) (?:option|choice|approach|fit)\b|建议|推荐",
)
REASON = re.compile(
    r"\b(?:because|since (?!yesterday|last|then|\d|v\d)|so that|so (?:we|it|they|that)\b|in order to|to (?:avoid|"
    r"prevent|keep|allow|"
    r"match|simplify|reduce|support)|due to|given (?:that|the)|as (?:it|they|we|this|that|the)\b[^,.]{0,40}\b(?:is|are|"
    r"has|have|"
    r"needs?|can|was|would)\b|which (?:keeps|avoids|makes|lets|means|gives|allows))\b|因为|以便",
    re.I,
)
IN_CODE = re.compile(r"\w\(|\b\w+_\w+|\bself\.|\b[a-z]\w*\.[a-z]\w+\b(?! ?$)|--?[a-z]+=|[\"`#]|\w=\w|::|->|\[\]|^\S+: Added")
HESITANT = re.compile(
    r"\b(?:maybe|perhaps|might|could be|possibly|not sure|whether|wait|hmm+|wonder|haven't|hasn't|"
    r"not (?:yet )?(?:decided|agreed|settled)|"
    r"didn't|bet|if (?:we|you) (?:decide|choose|go))\b",
    re.I,
)
TRANSIENT = re.compile(
    r"\b(?:commit|push|yet|for now|right now|wait|stop(?! using)|run it|this time|for a moment|worry|forget|sure if|see|"
    r"look|check|"
    r"explain|tell me|able to|have to|still|working|understand|edits?|answer|format|respond|response|reply|report|output|"
    r"this test|first|next|try|bet|wonder(?:ing)?|isn't it|right\?)\b|…|\.\.\.",
    re.I,
)
VAGUE = re.compile(
    r"\b(?:suggest|recommend) (?:\w+ing )?(?:it|this|that|them|these)\b|\b(?:use|go with|keep) (?:something|whatever|it|"
    r"this|that|them|both|these)\b|"
    r"\b(?:that|this|the first|the second|which|same|current|your|a similar) (?:approach|option|way|one|plan)\b|"
    r"\b(?:option|approach|choice|variant|alternative|plan) (?:[a-d1-9]\b|one|two|three)",
    re.I,
)
ASKED = either(
    r"(?:which|what(?:'s| is)? (?:the )?(?:best|better)|what (?:do|would|should) (?:you|we|I)\b)",
    r".*\b(?:should (?:we|I|it|they)|would you (?:recommend|use|choose|prefer)|do you (?:recommend|prefer|think we)|"
    r"is it better|better to|vs\.?|versus|recommend(?:ation)?|pros and cons)\b",
    r".*\b\w[\w.-]* or (?:an? |the |use |rather )?\w[\w.-]*(?: [\w.-]+){0,5}\?",
    r".*(?:哪个|还是|建议|推荐)",
)
LEAD = either(
    r"(?:I|we)(?:'d| would)(?: probably)? (?=(?:use|go with|pick|choose|prefer|take|keep)\b)",
    r"(?:I|we)(?:'ve| have)? (?=(?:used|kept|switched|put|stored|left|moved|made|placed)\b)",
    FILLER + r"(?:(?:I|we)(?:'d| would)? (?:strongly |definitely |personally |also )*(?:recommend|"
    r"suggest)(?:ed)?(?: that (?:we|you) | "
    r"(?:you |we )?(?:to )?(?:use |using |going with |go with )?|:\s*)",
    r"(?:my |the |our )?(?:updated |final |short )*(?:recommendation|suggestion)(?: is| would be)?(?: to| that (?:we|"
    r"you))?(?: use| go with)?[: ]+",
    r"(?:(?:the |our |my |final )*(?:decision|verdict)(?: (?:is|was))?(?: to\b|\s*[:—–-])|decided(?: to| on|:)) ?",
    r"(?:I|we|they|everyone|(?:the|our|my) team)(?:'ve| have| has)?(?: all| both| now| already| finally|"
    r" just)? (?:decided (?:to|on|that|against(?= \w+ing))|"
    r"settled (?:on|for)|agreed (?:to|on|that)|opted (?:to|for)|standardi[sz]ed on) ",
    r"(?:I|we)(?:'ve| have)? (?:chose|chosen|picked|went with|prefer(?:red)?|favou?r(?:ed)?) (?=[^.]{2,80} (?:over|"
    r"instead of|rather than)\b)",
    r"(?:(?:the|our|my) team |we |I )?(?:chose|picked) (?=[^.]{2,80} (?:over|instead of|rather than)\b)",
    r"(?:we|I)(?:'ll| will|'re going to| are going to) (?=\w)|(?:let's|lets|let us|we should|we shall) (?!not\b))",
)
AGAINST = re.compile(
    FILLER + r"(?:I|we)(?:'d| would|'ve| have)? (?:strongly )?(?:recommend|advise|suggest|decided?) against (?=\w+ing\b)",
    re.I,
)
WHO = re.compile(FILLER + r"(?:I|we|they|everyone|(?:the|our|my) team)(?:'ve|'ll| have| has| will)? (?=\w)", re.I)
NOT = re.compile(FILLER + r"(?:let's|lets|let us) not (?=\w)", re.I)
WHY = re.compile(
    r",? (?:because|so that|since (?!yesterday|last|then|\d|v\d)|due to|in order to|as (?:it|they|we|this|that)\b|"
    r"given that)\b.*$|"
    r" [—–-] .*$",
    re.I,
)


def _sized(sentence: str) -> bool:
    return SHORTEST <= len(sentence) <= LONGEST and sentence[-1] not in "?？"


def is_settled(sentence: str) -> bool:
    """Whether a sentence says of itself that it decides."""
    return _sized(sentence) and SETTLED.match(sentence) is not None and HESITANT.search(sentence) is None


def has_reason(sentence: str) -> bool:
    return REASON.search(sentence) is not None


def laid_down(sentence: str, *, acted: bool) -> bool:
    """Whether a person decides with this sentence: not for the moment, and not a mere detail of what is being edited."""
    if not _sized(sentence) or not has(WORDS, sentence.lower()) or _is_vague(sentence):
        return False
    reason, lasting = has_reason(sentence), LASTING.search(sentence) is not None
    if TRANSIENT.search(sentence, 0, MOMENT) and not (lasting and SETTLED.match(sentence)):
        return False
    if IN_CODE.search(sentence) and not (reason or (lasting and SETTLED.match(sentence))):
        return False
    if is_settled(sentence):
        return True
    if OPPOSED.match(sentence) and (not acted or reason or "n't use" in sentence or "not use" in sentence):
        return True
    return DIRECTIVE.match(sentence) is not None and (not acted or lasting or reason)


def chosen(sentence: str, *, acted: bool, asked: bool) -> bool:
    """Whether an agent tells a choice with this sentence; beside edits only one that it gives a reason for."""
    if not _sized(sentence) or _is_vague(sentence) or HESITANT.search(sentence):
        return False
    if acted:
        return has_reason(sentence) and (SETTLED.match(sentence) or OPPOSED.match(sentence)) is not None
    if asked and RECOMMENDED.search(sentence):
        return True
    return SETTLED.match(sentence) is not None and TRANSIENT.search(sentence) is None


def _is_vague(sentence: str) -> bool:
    return VAGUE.search(sentence) is not None


def asks_to_choose(text: str) -> bool:
    """Whether a question wants one of several things, or advice."""
    return ASKED.match(text) is not None


def choice_of(sentence: str) -> str:
    """What was chosen and why, without who chose: "we decided to keep X because Y" is "Keep X because Y"."""
    sentence = AGAINST.sub("Avoid ", sentence)
    if refused := NOT.match(sentence):
        return f"Don't {sentence[refused.end() :]}"
    lead = LEAD.match(sentence)
    return capital(sentence[lead.end() :] if lead else sentence)


def choice_title(sentence: str) -> str:
    """A choice as its title: what was chosen over what; why is left to the facts."""
    choice = choice_of(sentence)
    if choice.count(" ") < 2 and (who := WHO.match(sentence)):
        choice = capital(sentence[who.end() :])
    short = WHY.sub("", choice)
    return short if short.count(" ") >= 1 and len(short) >= SHORTEST else choice

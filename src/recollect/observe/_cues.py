"""Cues: the turns of phrase that tell what a sentence does: report, intend, explain, decide, lay down.

Each cue is a phrase that people and agents use in any project; none knows of a project. A cheap look for a word comes
before the expression that decides.
"""

import re


def either(*phrases: str) -> re.Pattern[str]:
    """One expression of many phrases, each on a line of its own, in any case."""
    return re.compile("|".join(phrases), re.I)


VERBS = frozenset(
    """added fixed updated implemented created removed renamed refactored changed moved replaced extracted split simplified
    converted migrated improved introduced wrote written resolved ported merged pushed committed opened bumped upgraded
    installed configured enabled disabled restored reverted cleaned deduplicated optimized optimised documented switched
    rebased addressed corrected deleted dropped reworked stashed posted submitted published built generated adjusted
    increased reduced rewrote rewritten consolidated wired hooked exposed extended tightened hardened reorganized
    restructured patched registered normalized shortened widened expanded aligned unified combined swapped downgraded
    pinned made tagged released deployed closed modified refined ensured clarified formatted applied marked limited capped
    cached wrapped integrated modernized tweaked filtered sorted escaped redesigned polished staged copied downloaded
    started stopped restarted cloned archived scaffolded drafted skipped preserved set""".split()
)
LEADS = frozenset(
    "i i've i'd we we've have successfully now also just so and then it is has been finally additionally".split()
)
LABELLED = re.compile(r"[^:—–\n]{1,70}?(?:: | [—–-] )(?=[A-Z])")
BECAME = re.compile(
    r"\b(?:now|has been|have been|is fixed|are fixed|no longer|was (?:added|fixed|removed|updated|merged))\b", re.I
)
WAS = re.compile(
    r"\b(?:was|were|had|did(?:n't| not)|wasn't|weren't)\b(?! (?:added|fixed|updated|removed|merged|pushed|created|run)\b)"
)
INTENTION = either(
    r"(?:(?:now|first|next|then|and|so|okay|ok|alright|certainly|sure|also|good|great|perfect|"
    r"finally)[,!. ]+)*(?:let me\b|let's\b",
    r"to [a-z]+ [^,]{3,90}, (?:we|I|you)\b",
    r"I(?:'ll| will| am going to|'m going to| need to| should| want to|'d like to| can now)\b",
    r"I'm (?:checking|now|looking|running)\b",
    r"I(?:'m| am| can| now|'ve| have)? (?:can )?(?:now )?(?:see|understand|got|all|enough|"
    r"have (?:a|all|enough|everything|the))\b",
    r"we(?:'ll| will| need to| can)\b",
    r"here's|here is|here are|below|to (?:do|fix|implement) th",
    r"(?:checking|looking at|running)\b",
    r"would you like|do you want|want me to|shall I|should I|let me know|feel free",
    r"please (?:provide|let|confirm|share|run|try))",
)
OFFER = either(
    r"(?:I(?:'ll| will| can| could|'m going to|'ve (?:noted|recorded|saved))|let me|would you|do you|want me|shall I|"
    r"should I|feel free|"
    r"please |I (?:noted|will follow|understand)|if you(?:'d| would)? like|happy to)\b",
)
PLANNED = re.compile(
    r"(?:I'll|I will|let me|let's|we'll|we need to|we can) (?:now |also |first )?(?P<deed>"
    r"(?:add|fix|update|implement|create|remove|rename|refactor|change|move|replace|extract|split|simplify|modify|convert|"
    r"improve|"
    r"introduce|write|adjust|use|make|delete|resolve|port|rewrite|restructure|enhance|set)\b.+)",
    re.I | re.S,
)
OPENER = re.compile(
    r"(?:(?:fixed(?=!|: (?:the|a|an) [^.]{3,60} (?:was|were|is|are) )|updated(?=[!.] )|good|yeah|yup|perfect|great|"
    r"excellent|done|certainly|sure|absolutely|okay|ok|yes|"
    r"yep|no problem|good (?:question|catch|idea|point|news)|great (?:question|idea|point|catch)|"
    r"you(?:'re| are) (?:absolutely |totally |completely )?(?:right|correct)(?: about [^.!]{1,60}| that)?|got it|alright|"
    r"all right|of course|I see|ah|aha|oh|nice|awesome|all (?:done|set)|understood|summary|tl;?dr|thanks|thank you|"
    r"fair(?: point)?|agreed|noted|makes sense|correct|right|confirmed|success|sorry|my apologies|"
    r"I apologize[^.!]{0,60}|apologies|exactly|indeed|"
    r"sounds good|will do|(?:final |short )?answer|result|outcome|verdict|conclusion|finished|completed|complete|hm+|wow|"
    r"hello|hi|short version|in short|bottom line|green|clean now)(?:[!.,:;]+|\s?[—–]+|\s-+)(?:\s+|$))+",
    re.I,
)
CONNECTIVE = re.compile(
    r"(?:so|and|but|also|then|however|therefore|additionally|finally|in addition|of course)(?:, | (?!far|that))(?=\w)",
    re.I,
)
HOLLOW = either(
    # it is done, it passes, it is in place
    r"all (?:\d+ )?(?:tests?|checks?|files?|changes?|tasks?|steps?|done)\b.{0,50}(?:pass|green|clean|complete|done|set)",
    r"(?:the |all )?(?:tests?|build|lint(?:er|ing)?|type ?checks?|everything|it|\w+script)(?: still)? (?:now )?"
    r"(?:pass|succeed|work|look(?!s like)|compile|is |are |builds)",
    r"(?:the )?fix(?:es)? works?\b|all clean\b|clean formatting|(?:build|lint|tests?)\b.{0,30}\bpass",
    r"(?:the |my )?(?:[\w-]+ ){0,2}(?:fix|change|work|task|implementation|plan|file|pr|patch|update|feature|worktree)s? "
    r"(?:is|are|has been|have been|looks?) (?:now )?"
    r"(?:done|complete|ready|good|correct|in place|clean|working|applied|successful|finished|implemented|written|made)",
    r"(?:no|that's it|it's done|it works|that's all|good|nothing else|working tree clean|committed(?: and pushed)?|pushed|"
    r"merged|done|"
    r"fixed|updated|implemented|addressed|changes made|addressed and pushed.{0,40})\W*$",
    # something was done, but what?
    r"(?:i(?:'ve| have)? )?(?:made|completed|finished|implemented) (?:the|all|these|those|your|several|some|good)?\s*"
    r"(?:requested |necessary |following |suggested )?(?:changes?|tasks?|edits?|updates?|modifications?|progress)\b",
    r"(?:fixed|updated|changed|implemented|done|committed|pushed) (?:in|at|on|as|to) \S+\W*$|"
    r"(?:created|wrote) (?:a |the )?summary",
    r"I(?:'ve| have)? (?:got|found|identified|confirmed|now) (?:the|it|what)[^:]{0,40}$",
    r"I (?:researched|investigated|reviewed|checked) ",
    r"I(?:'ve| have) (?:thoroughly |fully )?(?:explored|traced|read|looked|gone|completed|examined)\b",
    r"(?:these|this|those) (?:changes?|modifications?|updates?|edits?|should|will|would|is|are|ensures?|way)\b",
    # what only leads to something
    r"now (?:you|if|when)\b|here(?:'s| is| are)|below (?:is|are)|the following|what (?:I|changed)|based on|looking at",
    r"(?:key |main )?(?:changes|points|findings|notes?)(?: made)?:|after (?:reviewing|looking|examining)",
    r"(?:in )?summary|to (?:summarize|recap)|is there anything|how can I",
)
REASON_WORDS = (" because ", " due to ", " since ")
DEICTIC = re.compile(r"(?:it|its|it's|this|that|that's|these|those|they|they're|there|both|he|she|same|here|such)\b", re.I)

CAUSE_WORDS = tuple(
    (
        "root cause|caused by|culprit|issue is|issue was|problem is|problem was|bug is|bug was|reason|because|due to|"
        "turns out|turned out|that's why|this is why|cause:|issue:|problem:|cause is|cause was|stems| since |lies in|原因|"
        "因为|导致|问题在于|由于"
    ).split("|")
)
CAUSE = re.compile(
    r"\broot cause(?: of [^.]{1,60}?)?(?: found)?(?: is| was|:| [—–-])|\bcaused by\b|\bculprit (?:is|was)\b|"
    r"\bthe (?:real |actual |main |core |underlying |key |only )?(?:issue|problem|bug|cause|reason|error|failure|"
    r"crash)(?: here| with [^.]{1,40}| in [^.]{1,40})? (?:is|was|were|lies|comes|came|stems|occurs|happens)\b|"
    r"\bturn(?:s|ed) out\b|\b(?:fail(?:s|ed|ing)?|happen(?:s|ed|ing)?|crash(?:es|ed)?|br(?:eaks|oke)|hangs?|wrong|"
    r"occur(?:s|red)?|throws?|errors?)\b[^.]{0,60}\b(?:because|due to|since)\b|\bthat's why\b|\bthis is (?:because|why)\b|"
    r"^(?:the )?(?:issue|problem|bug|cause|reason|root cause|why)\s*:\s*\S|原因是|根本原因|问题在于|是因为|由于",
    re.I,
)
EXPLAINED = re.compile(
    r"\b(?:because|due to|as a result of|caused by|blocked by)\b|, so (?:the|every|all|no|nothing)\b|"
    r"\bsince (?!yesterday|last|then|\d|v\d|version|the (?:upgrade|release|update|last|change|migration)|"
    r"this (?:morning|week)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)|\b(?:is|are|was|were|gets?|got) (?:still |simply |just )?(?:missing|"
    r"disabled|"
    r"expired|misconfigured|outdated|out of date|not (?:set|configured|installed|called|closed|released|awaited)|"
    r"never \w+ed)\b",
    re.I,
)
OWN_DEED = re.compile(
    r"(?:I|we|you|let|this|that|these|(?:the|my) (?:fix|change|new|most|domain|task|feedback|plan|test)|now|to|if|here|"
    r"since|and|"
    r"\w+:)\b",
    re.I,
)
HEDGED = either(
    r"\b(?:maybe|perhaps|might be|could be|may (?:be|fail)|possibly|I think|I suspect|not sure|wait|hmm+|whether|isn't)\b",
    r"\b(?:if the (?:issue|problem)|let me|let's|I need|is not (?:here|the)|is (?:now )?(?:fixed|resolved|solved))\b",
    r"\bmy (?:\w+ )?(?:calls?|reads?|edits?|search|changes?|script)\b",  # the agent's own stumbling
)
PATTERN_WORDS = tuple("pattern|convention|always|never|every |each |all |practice|rule|idiom|约定|规范".split("|"))
PATTERN = either(
    # said to be one
    r".{0,40}\b(?:the|our|this|standard|usual|project|house) (?:[\w-]+ ){0,3}(?:pattern|convention|idiom|rule)(?: here|"
    r" in (?:this|the|our)"
    r" [^.]{2,30}| for [^.]{2,40})?(?: is:| is that| is to| is always| are:|:)",
    r".{0,40}\b(?:pattern|convention|idiom|rule)s? we (?:use|follow)\b|(?:.{0,60}, )?by convention\b|.{0,30}\bas a rule\b",
    r"(?:[\w-]+ ){0,2}conventions?(?: is| are|:) (?:that|to)\b|(?:the )?best practice (?:is|here)|.{0,20}\brule of thumb\b",
    r"(?:(?:in|for) [^,.]{3,40}, )?we (?:always|never) (?!(?:return|see|get|have|had)\b)[a-z]+ \w",
    r".{0,30}(?:约定|规范)(?:是|为|要求|：)",
)
OBLIGED = either(
    r"(?:(?!like\b|there\b|it\b)[A-Z`][\w` -]{2,50}(?<! that)(?<! which) (?:should|must) (?:always|never) [a-z]+\b|"
    r"(?:always|never) (?!in\b|"
    r"on\b|at\b|\w+(?:s|ed|ing) )[a-z]+ \w+",
    r"(?:every|each|all) (?!(?:the )?(?:tests?|checks?|changes?|steps?|tasks?)\b)[^.,;:?]{3,50} "
    r"(?:must|should|needs? to|has to|have to|goes through|go through)\b)",
)
ALWAYS = re.compile(r"(?:always|never)\b", re.I)  # what a person begins so is an order, which is a decision
RULE = either(
    r"(?:(?:in|for|on) [^,.]{3,40}?,? )?(?:remember,? |note that |fyi,? |and |so )*(?:we (?:always|never|usually|generally) "
    r"(?!(?:see|get|have|had)\b)[a-z]+ \w",
    r"(?:the|our|this) (?:[\w-]+ ){0,3}(?:pattern|convention|idiom|rule)s?(?: (?:here|we (?:use|follow)|in (?:this|the|"
    r"our) [^.]{2,30}|"
    r"for [^.]{2,40}))?(?: is| are|:) (?!right\b|there\b|in\b|already\b|wrong\b|broken\b|not\b|too\b|a bit\b)",
    r"by convention\b|as a rule\b|(?:the )?(?:pattern|convention)s? we (?:use|follow)\b)",
)


def has(words: tuple[str, ...], low: str) -> bool:
    """The cheap look: whether any of the words is there at all."""
    return any(map(low.__contains__, words))


def hints(words: tuple[str, ...], low: str) -> tuple[str, ...]:
    """Which of the words a whole text holds: of its sentences only those are asked for."""
    return tuple(filter(low.__contains__, words))


def opened(sentence: str) -> str:
    """A sentence without its polite opening, its first letter large."""
    if found := OPENER.match(sentence):
        sentence = sentence[found.end() :]
    if found := CONNECTIVE.match(sentence):
        sentence = sentence[found.end() :]
    return capital(sentence)


def reported(sentence: str) -> str | None:
    """What an opened sentence reports as done, as a title says it: "I've added X" is "Added X"."""
    done = _deed(sentence)
    if done is None and (label := LABELLED.match(sentence)):
        done = _deed(sentence[label.end() :])
    return done


def _deed(sentence: str) -> str | None:
    rest = sentence
    for _ in range(6):
        word, _, after = rest.partition(" ")
        word = word.lower().rstrip(",:")
        if word in VERBS:
            return capital(rest) if not after.startswith("by ") else None
        if word not in LEADS:
            return None
        rest = after
    return None


def planned(sentence: str) -> str | None:
    """What a sentence announces, as a deed: "I'll modify X" is "Modify X". Only worth something where it was done."""
    found = PLANNED.match(sentence)
    return capital(found["deed"]) if found else None


def is_intention(sentence: str) -> bool:
    return INTENTION.match(sentence) is not None


def is_offer(sentence: str) -> bool:
    """Whether a sentence only promises, offers or asks for leave: nothing of it is known to have come true."""
    return OFFER.match(sentence) is not None


def is_hollow(sentence: str) -> bool:
    """Whether a sentence says that it is done or that something follows, and no more; what gives a reason says more."""
    return HOLLOW.match(sentence) is not None and not has(REASON_WORDS, sentence)


def is_cause(sentence: str, words: tuple[str, ...] = CAUSE_WORDS) -> bool:
    return has(words, sentence.lower()) and CAUSE.search(sentence) is not None and HEDGED.search(sentence) is None


def explains(sentence: str) -> bool:
    """Whether a sentence explains trouble, said where there is some: it gives a reason that is not the agent's own."""
    return EXPLAINED.search(sentence) is not None and not OWN_DEED.match(sentence) and HEDGED.search(sentence) is None


def is_pattern(sentence: str, words: tuple[str, ...], *, acted: bool) -> bool:
    """Whether a sentence tells how things are always done here; beside edits "all X must" is what those edits were for."""
    if not has(words, sentence.lower()):
        return False
    return PATTERN.match(sentence) is not None or (not acted and OBLIGED.match(sentence) is not None)


def is_rule(sentence: str, *, acted: bool) -> bool:
    """Whether a person lays down how things are always done: not a question, not what is to be done now."""
    if not 15 <= len(sentence) <= 300 or sentence[-1] in "?？" or not has(PATTERN_WORDS, sentence.lower()):
        return False
    return RULE.match(sentence) is not None or (
        not acted and OBLIGED.match(sentence) is not None and not ALWAYS.match(sentence)
    )


def capital(text: str) -> str:
    """A text whose first letter is large, unless it begins with an identifier, a path or a scope ("cart: round totals")."""
    if text[:1].isupper():
        return text
    word = text.split(" ", 1)[0].replace("'", "").rstrip(",.;!?")
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text

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
PLANNED = re.compile(
    r"(?:I'll|I will|let me|let's|we'll|we need to|we can) (?:now |also |first )?(?P<deed>"
    r"(?:add|fix|update|implement|create|remove|rename|refactor|change|move|replace|extract|split|simplify|modify|convert|"
    r"improve|"
    r"introduce|write|adjust|use|make|delete|resolve|port|rewrite|restructure|enhance|set)\b.+)",
    re.I | re.S,
)
OPENER = re.compile(
    r"(?:(?:fixed(?=!)|updated(?=[!.] )|good|yeah|yup|perfect|great|excellent|done|certainly|sure|absolutely|okay|ok|yes|"
    r"yep|no problem|good (?:question|catch|idea|point|news)|great (?:question|idea|point|catch)|"
    r"you(?:'re| are) (?:absolutely |totally |completely )?(?:right|correct)(?: about [^.!]{1,60}| that)?|got it|alright|"
    r"all right|of course|I see|ah|aha|oh|nice|awesome|all (?:done|set)|understood|summary|tl;?dr|thanks|thank you|"
    r"fair(?: point)?|correct|right|confirmed|success|sorry|my apologies|I apologize[^.!]{0,60}|apologies|exactly|indeed|"
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
    r"(?:pass|succeed|work|look|compile|is |are |builds)",
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
HEDGED = either(
    r"\b(?:maybe|perhaps|might be|could be|may (?:be|fail)|possibly|I think|I suspect|not sure|wait|hmm+|whether|isn't)\b",
    r"\b(?:if the (?:issue|problem)|let me|let's|I need|is not (?:here|the)|is (?:now )?(?:fixed|resolved|solved))\b",
    r"\bmy (?:\w+ )?(?:calls?|reads?|edits?|search|changes?|script)\b",  # the agent's own stumbling
)
DECISION_WORDS = tuple(
    (
        "decid|chose|opted|go with|going with|went with|instead of|rather than|prefer|let's use|we'll use|we will use|"
        "we should use|stick with|settled|agreed|picked|decision|决定|采用|改用|选择"
    ).split("|")
)
DECISION = re.compile(
    r"\b(?:I|we|I've|we've|have|has|was|were) (?:have |'ve )?(?:decided|chose|chosen|opted|agreed|settled)\b|"
    r"\bdecision\s*:|\b(?:go(?:ing)?|went|stick(?:ing)?) with\b|\blet's (?:use|go with|keep|stick)\b|"
    r"\bwe(?:'ll| will| should) (?:use|keep|go with|stick with)\b|"
    r"\b(?:chose|choose|picked|prefer(?:red)?|favou?r(?:ed)?) [^.]{2,60} (?:over|to|instead of|rather than|because)\b|"
    r"\b(?:use|uses|using|used|keep|keeps|kept|make|made|added|stored?|returns?|returned|put|switch(?:ed)?|moved|replaced|"
    r"calls?|called|passe?[sd]?|shows?|checks?|runs?) [^.]{2,90} (?:instead of|rather than)\b|决定|我们采用|改用|选择了",
    re.I,
)
CHOOSING = re.compile(
    r"(?:I|we|I've|we've|we'll|decision|use[sd]?|using|keep|kept|chose|prefer|going|go|stick)\b|我们|决定|改用",
    re.I,
)
RECOMMENDED = re.compile(
    r"\b(?:I|we)(?:'d| would)? (?:strongly )?(?:recommend|suggest|go with|prefer|lean)|"
    r"\b(?:my |the )?recommendation(?: is| would be|:)|\bbe(?:st|tter) (?:option|choice|approach|fit)\b|建议|推荐",
    re.I,
)
DIRECTIVE = either(
    r"(?:(?:no|and|but|also|please|ok|okay|well|hm+|so|actually|yes|yeah|alright)[,. ]+){0,3}(?:(?:when|in|for|"
    r"if) [^,.]{3,60}, )?(?:"
    r"(?:don't|do not|never) (?!(?:commit|push|edit|change|modify|run|do|write|implement|touch|worry|start|forget|think|"
    r"know|see|have|"
    r"understand|believe|care|stop|wait|be|get|work|like|seem|remember|mind|use the|want|make changes|make any)\b)[a-z]+ \w",
    r"always\b|never\b|prefer\b|avoid\b|let's (?:use|go with|keep|stick|not|call|make|have)\b|stick (?:to|with)\b|go with\b",
    r"use .{2,80}(?:,? not\b|,? instead\b| instead of\b| rather than\b|,? don't\b)",
    r"(?:instead|rather),? (?:use|make|have|do|just|of)\b",
    r"(?:we|it|they) (?:should(?:n't)? |must(?:n't)? |should not |must not |never |always )",
    r"I (?:don't want|would prefer|prefer|want (?:it|them|this|that|the) )",
    r"make sure (?:that |to )?(?:it|we|every|all|the|never|always)\b",
    r"(?:the|all|each|every) [^.]{2,50} (?:should|must)(?: not| always| never| only)? (?:use|be|have|return|call|live|"
    r"stay|come)\b",
    r"[^.?]{2,120}\b(?:should|use|want|must|like|prefer)\b[^.?]{1,120}(?:, not\b|\bnot just\b|\binstead of\b|"
    r"\brather than\b)",
    r"[^.?]{2,60}\b(?:(?:explicitly |really )?don't want|(?:only|would only) want)\b)",
)
TRANSIENT = re.compile(
    r"\b(?:commit|push|yet|for now|right now|wait|stop|run it|this time|for a moment|worry|forget|sure if|see|look|check|"
    r"explain|tell me|able to|have to|still|working|understand|edits?|answer|format|respond|response|reply|report|output|"
    r"this test)\b",
    re.I,
)
PATTERN_WORDS = tuple("""pattern convention always never every each must should practice rule idiom 约定 规范""".split())
PATTERN = re.compile(
    r"\bthe (?:usual |common |existing |same |general |standard |established |right |correct |recommended )?(?:pattern|"
    r"convention|idiom|rule) (?:here )?(?:is|are|we use)\b|\bby convention\b|\bconventions? (?:is|are|of|for|that)\b|"
    r"\b(?:should|must) (?:always|never)\b|^(?:always|never) [a-z]+ \w+|"
    r"\b(?:every|each|all) [^.,]{3,40} (?:must|should|needs? to|has to|have to)\b|\bbest practice\b|\bas a rule\b|"
    r"\brule of thumb\b|约定|规范",
    re.I,
)


def has(words: tuple[str, ...], low: str) -> bool:
    """The cheap look: whether any of the words is there at all."""
    return any(map(low.__contains__, words))


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


def is_hollow(sentence: str) -> bool:
    return HOLLOW.match(sentence) is not None


def is_cause(sentence: str) -> bool:
    return has(CAUSE_WORDS, sentence.lower()) and CAUSE.search(sentence) is not None and HEDGED.search(sentence) is None


def is_decision(sentence: str) -> bool:
    """A choice that was made: told in the first person or as a deed, not as how something else behaves."""
    if not has(DECISION_WORDS, sentence.lower()) or not DECISION.search(sentence):
        return False
    return reported(sentence) is not None or CHOOSING.match(sentence) is not None


def is_pattern(sentence: str) -> bool:
    return has(PATTERN_WORDS, sentence.lower()) and PATTERN.search(sentence) is not None


def is_directive(sentence: str) -> bool:
    """What a person lays down for good: not a step of the moment, not a question."""
    return (
        15 <= len(sentence) <= 300
        and not sentence.rstrip().endswith("?")
        and DIRECTIVE.match(sentence) is not None
        and TRANSIENT.search(sentence) is None
    )


def capital(text: str) -> str:
    """A text whose first letter is large, unless it begins with an identifier, a path or a scope ("cart: round totals")."""
    word = text.split(" ", 1)[0].replace("'", "").rstrip(",.;!?")
    return text[:1].upper() + text[1:] if word.isalpha() and word.islower() else text

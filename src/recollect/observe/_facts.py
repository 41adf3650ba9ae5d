"""Facts and the story: what is kept of a turn beside its title, each line taken from an event."""

import re
from collections.abc import Iterable, Iterator

from recollect.observe import _commands, _cues, _types
from recollect.observe._prose import cut, unmarked
from recollect.observe._sentences import SHORTEST, is_sentence, names_in
from recollect.observe._turn import Run, Turn

FACT, FACTS = 200, 6
FEW = 3  # facts: where less was said, what was changed is told as well
NARRATIVE = 900
SUBTITLE = 160
WORD = re.compile(r"[^\W_][\w.+-]*\w|\w")
EMPTY_WORDS = frozenset(
    """a an the is are was were be been it its this that these those we i you they he she our my your us to of in on for and
    or as at by from with so now then also just have has had will would should can let lets decided decision decide
    settled agreed opted chose chosen picked go going went want recommend suggest issue problem cause reason root note
    noted yes ok okay here there all both team final not t s ll ve d re m""".split()
)  # what a choice, a cause or an answer is introduced with
PROMISED = 50  # characters of a promise that tells what it is about
LONGER = 40  # characters by which a text that says more is longer, so that nobody need count its words
INTRODUCTION = 40  # characters in which what introduces a fact ends
NUMBERED = re.compile(r"\s*\(#\d+\)$")
INTRODUCED = re.compile(r"(?:Committed|Pull request): ")
ASKED, CAUSE, DONE, RESULT = 280, 220, 260, 120  # characters of each part of the story
CAUSED = "Cause: "  # how the line of the story begins that says why it was so


def facts_of(turn: Turn, kind: str, title: str) -> list[str]:
    """At most six, the most telling first; none says only what the title says."""
    found: list[str] = []
    if kind in {"bug-fix", "diagnosis"}:
        found += turn.causes[:2] or _faults(turn)
    if error := error_of(turn):
        found.append(error)
    if kind in {"discovery", "diagnosis", "general"} and not turn.changed:
        found += turn.told[:5]
    else:
        found += turn.done[:4] or turn.told[:3]
    found += _of_runs(turn)
    if commit := _types.chief_commit(turn):
        found.append(f"Committed: {commit}")
    if turn.pull_request:
        found.append(f"Pull request: {turn.pull_request.subject}")
    if len(found) < FEW and turn.changed:
        found.append(f"Changed {', '.join(turn.changed[:5])}")
    return distinct(found or _answered(turn), title, turn.wish.low)


def _faults(turn: Turn) -> list[str]:
    """Where no cause is named as one: how it was before, if the answer says so early."""
    early = [
        text for text in turn.told[:3] if text not in turn.done and _cues.WAS.search(text) and not _cues.BECAME.search(text)
    ]
    return (
        [text for text in early if not _cues.DEICTIC.match(text) and not _cues.OWN_DEED.match(text)][:1]
        if turn.changed
        else []
    )


def _answered(turn: Turn) -> list[str]:
    """Where nothing stands alone: what was answered all the same."""
    return [text for text in turn.sentences[:4] if _is_told(text)]


def _is_told(text: str) -> bool:
    return len(text) >= (PROMISED if _cues.is_offer(text) else SHORTEST) and is_sentence(text) and not _cues.is_hollow(text)


def distinct(found: Iterable[str], title: str, asked: str = "") -> list[str]:
    """Those that say more than the title, the prompt (in small letters) and the ones before, in their order."""
    kept: list[str] = []
    for fact in found:
        fact = cut(unmarked(fact), FACT)
        if fact and fact not in kept and says_more(fact, title) and fact.rstrip(" .!").lower() not in asked:
            kept.append(fact)
    return kept[:FACTS]


def says_more(fact: str, known: str, words: int = 1) -> bool:
    """Whether a fact holds that many words that are not known yet; how it is introduced does not count."""
    if ": " in fact[:INTRODUCTION]:
        fact = _types.CONVENTIONAL.sub(r"\g<rest>", NUMBERED.sub("", INTRODUCED.sub("", fact)))
    if len(fact) > len(known) + words * LONGER:
        return True
    new = set(WORD.findall(fact.lower())) - set(WORD.findall(known.lower())) - EMPTY_WORDS
    return len(new) >= words


def error_of(turn: Turn) -> str:
    """The error that the turn met, with the command that met it."""
    run = failing(turn)
    if run is None or not run.outcome.error:
        return ""
    return f"{label(run)} failed: {run.outcome.error}"


def failing(turn: Turn) -> Run | None:
    """The failure that matters: of a check rather than of any command, the first."""
    failed = [run for run in turn.runs if run.outcome.failed and run.outcome.error]
    return next((run for run in failed if run.check), failed[0] if failed and not turn.changed else None)


def passing_after(turn: Turn, failed: Run) -> Run | None:
    """The last run of the same check, if it passed in the end."""
    again = [run for run in turn.runs if run.check == failed.check and run.call.seq > failed.call.seq]
    return again[-1] if again and not again[-1].outcome.failed else None


def _of_runs(turn: Turn) -> Iterator[str]:
    """How the checks ended: the last run of each."""
    last = {run.check: run for run in turn.runs if run.check}
    for run in list(last.values())[-3:]:
        first = next(earlier for earlier in turn.runs if earlier.check == run.check)
        counts = f" ({run.outcome.counts})" if run.outcome.counts else ""
        if run.outcome.failed:
            if run is not first or _commands.is_test(run.check):
                yield f"{label(run)} failed in the end{counts}"
        elif first.outcome.failed:
            yield f"{label(run)} failed at first and passed in the end{counts}"
        elif counts:
            yield f"{label(run)} passed{counts}"


def label(run: Run) -> str:
    return cut(run.check, 60) if run.check else cut(unmarked(run.command.split("\n", 1)[0]), 70)


def subtitle_of(turn: Turn, kind: str, title: str) -> str:
    """One sentence that says more than the title."""
    candidates = [*(turn.causes if kind in {"bug-fix", "diagnosis"} else []), *turn.done[:3], *turn.told[:3]]
    shown = title.rstrip("…").lower()
    for sentence in candidates:
        low = sentence.lower()
        if (shown[:60] not in low or len(low) > len(shown) + LONGER) and low[:60] not in shown:
            return cut(unmarked(sentence), SUBTITLE)
    return ""


def narrative_of(turn: Turn, kind: str, subject: str) -> str:
    """What was asked, why it was so, what was done, how it ended."""
    lines = []
    if asked := asked_in(turn, subject):
        lines.append(f"Asked: {cut(asked, ASKED)}")
    if turn.causes and kind in {"bug-fix", "diagnosis"}:
        lines.append(f"{CAUSED}{cut(turn.causes[0], CAUSE)}")
    if done := _done(turn):
        lines.append(f"Done: {cut(done, DONE)}" if turn.changed or turn.commits else f"Answered: {cut(done, DONE)}")
    if ended := _ended(turn):
        lines.append(f"Result: {cut(ended, RESULT)}")
    if commit := _types.chief_commit(turn):
        lines.append(f"Committed: {cut(commit, RESULT)}")
    return cut("\n".join(lines), NARRATIVE)


def asked_in(turn: Turn, subject: str) -> str:
    """The request from its subject on, two sentences of it."""
    sentences = turn.asked.sentences
    if subject in sentences:
        at = sentences.index(subject)
        return " ".join(sentences[at : at + 2])
    return subject or unmarked(turn.request[:ASKED])


def _done(turn: Turn) -> str:
    said = turn.done[:2] or turn.told[:2]
    if not said and turn.changed:
        return f"Changed {', '.join(turn.changed[:4])}"
    return " ".join(sentence if sentence[-1] in ".!?。！？" else f"{sentence}." for sentence in said)


def _ended(turn: Turn) -> str:
    checks = [run for run in turn.runs if run.check]
    if checks:
        run = checks[-1]
        counts = f", {run.outcome.counts}" if run.outcome.counts else ""
        return f"{label(run)} {'failed' if run.outcome.failed else 'passed'}{counts}"
    return next((text for text in turn.said.sentences[:8] if "pass" in text and _cues.is_hollow(text)), "")


def unnamed(turn: Turn, kept: str) -> str:
    """The exact names in the request that nothing else holds, so that a search for one finds the turn."""
    low = kept.lower()
    missing = [name for name in names_in(turn.request[:1_500]) if name.lower() not in low and len(name) <= 60][:6]
    return f"Named: {', '.join(missing)}" if missing else ""

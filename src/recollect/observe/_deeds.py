"""Deeds: what the calls of a turn did, whichever agent's tools they were: files read and changed, checks run, commits."""

import re
from collections.abc import Iterable
from typing import Any

from recollect.model import Event
from recollect.observe import _commands, _files
from recollect.observe._outcomes import outcome_of
from recollect.observe._prose import cut, prose
from recollect.observe._turn import Commit, Run, Turn, Words

MOST_RUNS = 400  # commands of one turn that are judged; a turn of more is a day's work, its end tells
LONGEST_PATH = 300  # characters; what is longer is no path but the text that was taken for one
APPLIED = re.compile(r"^Applied edit to (.+)$", re.MULTILINE)
COMMITTED = re.compile(r"^Commit [0-9a-f]{7,40} (.+)$", re.MULTILINE)
CHANGED = re.compile(r"^Changed files:\n((?:.+\n?)++)", re.MULTILINE)
CHOSEN = re.compile(r"\"([^\"\n]{5,300})\"\s*[=:]\s*\"([^\"\n]{1,300})\"")
OFFERED = "(Recommended)"  # what a menu says of one of its entries
GO_AHEAD = re.compile(r"\b(?:plan|proceed|continue|look good|ready|approve|go ahead|start)\b", re.I)
ASKING = {"askuserquestion", "question", "askfollowupquestion", "askuser", "requestuserinput", "askquestion"}
FINISHING = {"finish", "attemptcompletion", "taskcomplete", "complete", "submit", "donetool", "finalanswer", "exitplanmode"}
PATCHING = ("exec", "shell", "bash", "run", "container", "python", "functions", "applypatch", "applydiff", "patch")
NUMBERED_EDIT = re.compile(r"edit \d+:\d+\s")  # the editor inside a shell of SWE-agent, which answers with the open file
OPEN_FILE = re.compile(r"\[File: (\S+) \(\d+ lines")
SCRATCH = ("/tmp/", "/private/tmp/", "/var/folders/", "/private/var/", "/dev/")  # what is written there is not kept


def take_call(turn: Turn, call: Event, response: Event | None, cwd: str | None) -> None:
    """What one call did. A call that failed read or asked all the same, but changed nothing."""
    turn.calls += 1
    arguments = call.arguments or {}
    name = _files.short_name(call.tool)
    failed = response is not None and response.failed
    if name in FINISHING:
        _take_words(turn, call, name, arguments)
    elif name in ASKING and response is not None:
        pairs = CHOSEN.findall(response.text[:3_000])
        turn.choices += [(_choice(*pair), response) for pair in pairs if "?" not in pair[1] and not GO_AHEAD.search(pair[0])]
    elif _files.reads(name, arguments):
        paths = [*_files.named_in(arguments), *_files.ticked_in(arguments)]
        turn.read += _shown(paths, "", cwd)
    elif _files.changes(name, arguments):
        if not failed:
            _take_edit(turn, call, response, cwd)
    elif "pullrequest" in name and "create" in name and isinstance(title := arguments.get("title"), str):
        turn.pull_request = None if failed else Commit(call, title[:300])
    elif command := _commands.command_of(arguments):
        _take_command(turn, call, response, command, cwd)
    if not failed and _may_patch(name) and (patched := list(_files.patched_in(arguments))):
        turn.edits.append(call)
        turn.changed += _shown(patched, "", cwd)


def _choice(question: str, answer: str) -> str:
    return f"{cut(question.strip().rstrip('? '), 40)}: {answer.removesuffix(OFFERED).rstrip()}"


def _may_patch(name: str) -> bool:
    """A shell or a script can carry a patch; tools that change files are asked already."""
    return name.startswith(PATCHING)


def _take_edit(turn: Turn, call: Event, response: Event | None, cwd: str | None) -> None:
    arguments = call.arguments or {}
    paths = list(_files.named_in(arguments)) or list(_files.patched_in(arguments))
    if not paths and response is not None:
        paths = list(_files.answered_in(response.text))
    if paths:
        shown = _shown(paths, "", cwd)
        turn.edits.append(call)
        turn.changed += shown
        if "write" in (call.tool or "").lower() or "create" in (call.tool or "").lower():
            turn.created += shown


def _take_command(turn: Turn, call: Event, response: Event | None, command: str, cwd: str | None) -> None:
    bared = _commands.bare(command)
    base = (call.arguments or {}).get("workdir")
    failed = response is not None and (response.failed or response.exit_code not in (None, 0))
    wrote = False
    for folder, path, changes in _commands.touched(bared):
        shown = _shown([path], _based(base, folder), cwd)
        wrote = wrote or (changes and not failed)
        (turn.changed if changes else turn.read).extend([] if failed and changes else shown)
    if response is not None and NUMBERED_EDIT.match(command) and (opened := OPEN_FILE.search(response.text[:2_000])):
        turn.changed += _shown([opened[1]], "", cwd)
        wrote = True
    if wrote:
        turn.edits.append(call)
    if not failed and (subject := _commands.commit_of(command)):
        turn.commits.append(Commit(call, subject))
    if not failed and (title := _commands.pull_request_of(command)):
        turn.pull_request = Commit(call, title)
    if response is not None and len(turn.runs) < MOST_RUNS:
        check = _commands.check_of(bared)
        if check or (failed and not _commands.only_looks(bared)):
            outcome = outcome_of(response, checked=bool(check))
            turn.runs.append(Run(call, response, command, check, outcome))


def _based(base: Any, folder: str) -> str:
    base = base if isinstance(base, str) else ""
    if not folder or folder.startswith(("/", "~")):
        return folder or base
    return f"{base}/{folder}" if base else folder


def _take_words(turn: Turn, call: Event, name: str, arguments: dict[str, Any]) -> None:
    """What an agent says through a tool: its last word, or the plan it proposes."""
    for key in ("plan", "result", "message", "summary", "final_thought", "answer", "output"):
        text = arguments.get(key)
        if isinstance(text, str) and len(text) > 20:
            if name == "exitplanmode":
                turn.plan = prose(text)
            else:
                turn.answers.append(Words(call, text))
            return


def take_notice(turn: Turn, event: Event, cwd: str | None) -> None:
    """Some programs tell what they have applied and committed in notices of their own."""
    text = event.text[:20_000]
    if "Applied edit to " in text:
        turn.changed += _shown(APPLIED.findall(text), "", cwd)
        turn.edits.append(event)
        text = text[text.index("Applied edit to ") :]
    if "Commit " in text:
        turn.commits += [Commit(event, subject) for subject in COMMITTED.findall(text)]
    if "Changed files:" in text and (listed := CHANGED.search(text)):
        turn.changed += _shown(listed[1].split("\n"), "", cwd)
    if "diff --git" in text:
        turn.changed += _shown(_files.patched_in({"diff": text}), "", cwd)


def _shown(paths: Iterable[str], folder: str, cwd: str | None) -> list[str]:
    shown = (_files.shown(path, folder, cwd) for path in paths)
    return [path for path in shown if path.isprintable() and 0 < len(path) <= LONGEST_PATH and not path.startswith(SCRATCH)]

"""Sorts the events of a turn into the request, the actions and the answer, for the rules that classify them."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Event, Kind
from recollect.observe import commands, files
from recollect.observe.commands import Outcome
from recollect.observe.phrases import PhraseTable, phrases_in
from recollect.observe.requests import RequestWords, is_complaint, is_trivial
from recollect.observe.sentences import (
    CAUSE_HINTS,
    NO_PROSE,
    Prose,
    explains_problem,
    find_causes,
    find_reports,
    find_statements,
    head_and_tail,
    is_cause,
    parse_prose,
    reported_change,
    strip_markup,
    strip_opener,
    truncate,
)

MAX_PROMPTS = 12  # prompts of one turn that are read: the first one with content is the request
MAX_REQUEST = 1_500  # characters of a request whose words are classified
MAX_SLASH_COMMAND = 4_000  # characters of a slash command that are read
LOOK_BACK = 6  # answers at the end of a turn that are searched for the summary
EXPLAINING = 4  # sentences at the start of an answer to a complaint, among which the cause is expected
OPENING = 3  # sentences at the start of an answer, among which its summary is expected
MAX_THOUGHTS = 8  # thoughts at the end of a turn that are searched for a cause
MAX_CAUSES = 3
MAX_RUNS = 400  # commands of one turn whose outcome is read; further ones add nothing
MAX_PATH = 300  # characters: a longer text is not a path
MAX_JSON = 20_000  # characters of an answer that is decoded as JSON
MAX_NOTICE = 20_000  # characters of a notice that are read
MAX_TITLE = 300  # characters of a pull request's title
MIN_FINAL = 20  # characters: a shorter argument of a final tool is not an answer
RECOMMENDED_SUFFIX = "(Recommended)"  # agents add it to one entry of a menu
TEMPORARY_FOLDERS = ("/tmp/", "/private/tmp/", "/var/folders/", "/private/var/", "/dev/")

SLASH_COMMAND = re.compile(r"/([\w:.-]+)(?:\s+(.*))?\s*$", re.DOTALL)
APPLIED = re.compile(r"^Applied edit to (.+)$", re.MULTILINE)
COMMITTED = re.compile(r"^Commit [0-9a-f]{7,40} (.+)$", re.MULTILINE)
CHANGED_FILES = re.compile(r"^Changed files:\n((?:.+\n?)++)", re.MULTILINE)
MENU_ANSWER = re.compile(r"\"([^\"\n]{5,300})\"\s*[=:]\s*\"([^\"\n]{1,300})\"")
NUMBERED_EDIT = re.compile(r"edit \d+:\d+\s")  # SWE-agent's editor inside a shell; it responds with the open file
OPEN_FILE = re.compile(r"\[File: (\S+) \(\d+ lines")

TABLE = PhraseTable("turn")
LOCAL_COMMANDS = TABLE.word_set("local_commands")
TALKING_COMMANDS = TABLE.word_set("talking_commands")
QUESTION_TOOLS = TABLE.word_set("question_tools")
FINAL_TOOLS = TABLE.word_set("final_tools")
FINAL_ARGUMENTS = TABLE.words("final_arguments")
PATCHING_TOOLS = TABLE.words("patching_tools")
GO_AHEAD = TABLE.pattern("go_ahead")
NO_WORDS = RequestWords("")


class CommandRun(Struct, frozen=True):
    """A command that ran, and its outcome. `check` is its name if it is a test, a build or another check."""

    call: Event
    response: Event
    command: str
    check: str
    outcome: Outcome


class FinalAnswer(Struct, frozen=True):
    """An answer of the agent: an event's text, or the argument of a tool for final answers."""

    event: Event
    text: str


class Commit(Struct, frozen=True):
    """The subject of a commit, or the title of a pull request."""

    event: Event
    subject: str


class ObservedTurn(Struct):
    """Everything that the rules use of a turn."""

    prompt: Event | None = None
    prompts: list[Event] = []
    request: str = ""
    request_words: RequestWords = NO_WORDS
    request_prose: Prose = NO_PROSE
    answer: Event | None = None
    answers: list[FinalAnswer] = []
    answer_prose: Prose = NO_PROSE
    sentences: list[str] = []  # of the answer, each without its polite opening
    lower: str = ""  # the sentences in lower case, one per line, for fast lookups
    opens_with_report: bool = False  # then the report sums up the answer
    statements: list[str] = []  # sentences of the answer that stand alone
    reports: list[str] = []  # changes that the answer reports
    causes: list[str] = []
    thoughts: list[Event] = []
    edits: list[Event] = []
    changed_files: list[str] = []
    created_files: list[str] = []
    read_files: list[str] = []
    runs: list[CommandRun] = []
    commits: list[Commit] = []
    pull_request: Commit | None = None
    choices: list[tuple[str, Event]] = []  # the answers that the person chose in menus
    plan: Prose = NO_PROSE
    call_count: int = 0
    last_event: Event | None = None

    def has_changes(self) -> bool:
        return bool(self.changed_files or self.commits)


def read_turn(events: Sequence[Event], cwd: str | None) -> ObservedTurn:
    """The turn with these events. Recollect's own events are left out."""
    turn = ObservedTurn()
    events = [event for event in events if not event.own]
    turn.last_event = events[-1] if events else None
    responses = {event.answers: event for event in events if event.kind is Kind.TOOL_RESPONSE and event.answers is not None}
    for event in events:
        match event.kind:
            case Kind.USER_INPUT:
                turn.prompts.append(event)
            case Kind.ASSISTANT_RESPONSE if event.text.strip():
                turn.answers.append(FinalAnswer(event, event.text))
            case Kind.REASONING if event.text:
                turn.thoughts.append(event)
            case Kind.TOOL_CALL:
                _add_call(turn, event, responses.get(event.seq), cwd)
            case Kind.RUNTIME if event.text:
                _add_notice(turn, event, cwd)
            case _:
                pass
    _set_request(turn)
    turn.request_words = RequestWords(turn.request[:MAX_REQUEST])
    _set_answer(turn)
    _set_causes(turn)
    turn.changed_files = list(dict.fromkeys(turn.changed_files))
    changed = set(turn.changed_files)
    turn.read_files = [path for path in dict.fromkeys(turn.read_files) if path not in changed]
    return turn


# ---- the request


def _set_request(turn: ObservedTurn) -> None:
    """Set the request: the first prompt that asks for something. Commands to the program itself do not count."""
    requests = [(event, request_text(event.text)) for event in turn.prompts[:MAX_PROMPTS]]
    for event, request in sorted(requests, key=lambda pair: pair[1].startswith("/")):
        if request and not is_trivial(request):
            turn.prompt, turn.request, turn.request_prose = event, request, parse_prose(request)
            return
    turn.prompt = next((event for event in turn.prompts if request_text(event.text)), None)
    turn.request = request_text(turn.prompt.text) if turn.prompt else ""


def request_text(text: str) -> str:
    """The text of a prompt without injected notes; empty for a command to the program itself."""
    text = text.strip()
    if text.startswith("/") and (command := SLASH_COMMAND.match(text[:MAX_SLASH_COMMAND])):
        name, arguments = command[1], (command[2] or "").strip()
        if name in LOCAL_COMMANDS:
            return ""
        if name in TALKING_COMMANDS:
            return arguments
        return arguments if len(arguments.split()) >= 3 or not arguments.isascii() else text[:MAX_SLASH_COMMAND]
    return strip_markup(head_and_tail(text)).strip() if "<" in text or "\x1b" in text else text


# ---- the answer


def _set_answer(turn: ObservedTurn) -> None:
    """Set the answer: the last one that sums up the turn, not one that only says goodbye."""
    for answer in reversed(turn.answers[-LOOK_BACK:]):
        prose = parse_prose(_sentences_of_json(answer.text))
        sentences = [strip_opener(sentence) for sentence in prose.sentences]
        statements = find_statements(sentences)
        if answer is turn.answers[-1]:
            is_summary = bool(statements)
        else:
            is_summary = len(statements) >= 3 or any(len(sentence) > 40 for sentence in statements)
        if is_summary or (turn.answer is None and sentences):
            turn.answer, turn.answer_prose, turn.statements = answer.event, prose, statements
            turn.reports = find_reports(sentences)
            turn.sentences, turn.lower = sentences, "\n".join(sentences).lower()
            turn.opens_with_report = any(map(reported_change, sentences[:OPENING]))
        if is_summary:
            return
    if turn.answer is None and turn.answers:
        turn.answer = turn.answers[-1].event


def _sentences_of_json(text: str) -> str:
    """The sentences in an answer that is JSON; another answer unchanged."""
    if not text.startswith("{") or len(text) > MAX_JSON:
        return text
    try:
        fields = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
    sentences = [value for value in fields.values() if isinstance(value, str) and value.count(" ") > 3]
    return "\n".join(sentences) or text


def _set_causes(turn: ObservedTurn) -> None:
    """Set the causes: sentences that name one, in the final answer. If a problem was reported, in earlier texts too."""
    hints = phrases_in(CAUSE_HINTS, turn.lower)
    causes = [sentence for sentence in turn.statements if is_cause(sentence, hints)] if hints else []
    if not causes and is_complaint(turn.request):
        early = [sentence for sentence in turn.statements[:EXPLAINING] if sentence not in turn.reports]
        causes = [sentence for sentence in early if explains_problem(sentence)]
    if not causes and turn.request_words.reports_problem():
        causes = [sentence for answer in turn.answers[-LOOK_BACK:] for sentence in find_causes(answer.text)]
        causes = causes or [sentence for event in turn.thoughts[-MAX_THOUGHTS:] for sentence in find_causes(event.text)][-2:]
    turn.causes = list(dict.fromkeys(causes))[:MAX_CAUSES]


# ---- the actions


def _add_call(turn: ObservedTurn, call: Event, response: Event | None, cwd: str | None) -> None:
    """Add the actions of one tool call. A failed call may have read or asked something, but changed nothing."""
    turn.call_count += 1
    arguments = call.arguments or {}
    tool = files.normalize_tool(call.tool)
    failed = response is not None and response.failed
    if tool in FINAL_TOOLS:
        _add_final_text(turn, call, tool, arguments)
    elif tool in QUESTION_TOOLS and response is not None:
        pairs = MENU_ANSWER.findall(response.text[:3_000])
        turn.choices += [(_menu_choice(*pair), response) for pair in pairs if _is_choice(*pair)]
    elif files.reads_file(tool, arguments):
        paths = [*files.argument_paths(arguments), *files.quoted_paths(arguments)]
        turn.read_files += _display_paths(paths, "", cwd)
    elif files.changes_file(tool, arguments):
        if not failed:
            _add_edit(turn, call, response, cwd)
    elif "pullrequest" in tool and "create" in tool and isinstance(title := arguments.get("title"), str):
        turn.pull_request = None if failed else Commit(call, title[:MAX_TITLE])
    elif command := commands.shell_command(arguments):
        _add_command(turn, call, response, command, cwd)
    if not failed and tool.startswith(PATCHING_TOOLS) and (patched := list(files.patched_paths(arguments))):
        turn.edits.append(call)
        turn.changed_files += _display_paths(patched, "", cwd)


def _is_choice(question: str, answer: str) -> bool:
    return "?" not in answer and not GO_AHEAD.search(question)


def _menu_choice(question: str, answer: str) -> str:
    return f"{truncate(question.strip().rstrip('? '), 40)}: {answer.removesuffix(RECOMMENDED_SUFFIX).rstrip()}"


def _add_final_text(turn: ObservedTurn, call: Event, tool: str, arguments: dict[str, Any]) -> None:
    """Add the text that an agent passes to a tool: its final answer, or the plan that it proposes."""
    for name in FINAL_ARGUMENTS:
        text = arguments.get(name)
        if isinstance(text, str) and len(text) > MIN_FINAL:
            if tool == "exitplanmode":
                turn.plan = parse_prose(text)
            else:
                turn.answers.append(FinalAnswer(call, text))
            return


def _add_edit(turn: ObservedTurn, call: Event, response: Event | None, cwd: str | None) -> None:
    arguments = call.arguments or {}
    paths = list(files.argument_paths(arguments)) or list(files.patched_paths(arguments))
    if not paths and response is not None:
        paths = list(files.reported_paths(response.text))
    if paths:
        changed = _display_paths(paths, "", cwd)
        turn.edits.append(call)
        turn.changed_files += changed
        if "write" in (call.tool or "").lower() or "create" in (call.tool or "").lower():
            turn.created_files += changed


def _add_command(turn: ObservedTurn, call: Event, response: Event | None, command: str, cwd: str | None) -> None:
    stripped = commands.strip_quoted(command)
    workdir = (call.arguments or {}).get("workdir")
    base = workdir if isinstance(workdir, str) else ""
    failed = response is not None and (response.failed or response.exit_code not in (None, 0))
    has_written = False
    for folder, path, changes in commands.touched_files(stripped):
        paths = _display_paths([path], files.join_path(base, folder), cwd)
        has_written = has_written or (changes and not failed)
        (turn.changed_files if changes else turn.read_files).extend([] if failed and changes else paths)
    if response is not None and NUMBERED_EDIT.match(command) and (opened := OPEN_FILE.search(response.text[:2_000])):
        turn.changed_files += _display_paths([opened[1]], "", cwd)
        has_written = True
    if has_written:
        turn.edits.append(call)
    if not failed and (subject := commands.commit_subject(command)):
        turn.commits.append(Commit(call, subject))
    if not failed and (title := commands.pull_request_title(command)):
        turn.pull_request = Commit(call, title)
    if response is not None and len(turn.runs) < MAX_RUNS:
        check = commands.check_name(stripped)
        if check or (failed and not commands.only_searches(stripped)):
            outcome = commands.judge_outcome(response, is_check=bool(check))
            turn.runs.append(CommandRun(call, response, command, check, outcome))


def _add_notice(turn: ObservedTurn, event: Event, cwd: str | None) -> None:
    """Add the edits and commits that a program reports in a notice."""
    text = event.text[:MAX_NOTICE]
    if "Applied edit to " in text:
        turn.changed_files += _display_paths(APPLIED.findall(text), "", cwd)
        turn.edits.append(event)
        text = text[text.index("Applied edit to ") :]
    if "Commit " in text:
        turn.commits += [Commit(event, subject) for subject in COMMITTED.findall(text)]
    if "Changed files:" in text and (listed := CHANGED_FILES.search(text)):
        turn.changed_files += _display_paths(listed[1].split("\n"), "", cwd)
    if "diff --git" in text:
        turn.changed_files += _display_paths(files.patched_paths({"diff": text}), "", cwd)


def _display_paths(paths: Iterable[str], folder: str, cwd: str | None) -> list[str]:
    """Paths in the form in which they are shown, without unprintable ones and files in temporary folders."""
    displayed = (files.display_path(path, folder, cwd) for path in paths)
    return [path for path in displayed if path.isprintable() and _is_lasting(path)]


def _is_lasting(path: str) -> bool:
    return 0 < len(path) <= MAX_PATH and not path.startswith(TEMPORARY_FOLDERS)

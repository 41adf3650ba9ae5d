"""A home with sessions of every kind, shared by the tests of the history contract.

A session is named by its title; the purpose of its words is explained next to them.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from tests.conftest import Person
from tests.contract.history_client import History, connect_history
from tests.logs import Claude, write

Record = dict[str, Any]
MEGABYTES = 3


@contextmanager
def serve_archive(folder: Path) -> Iterator[History]:
    """The home with all its logs, synced, with a server and a client."""
    person = Person(folder)
    write_logs(person)
    person.sync()
    with connect_history(person) as history:
        yield history


# ---- Codex logs


class Codex:
    """Writes the lines of one Codex session; every line is a second later than the one before."""

    def __init__(self, number: int, start: str = "2026-01-02T09:00:00.125+00:00", cwd: str = "/home/sam/harbour") -> None:
        self.number, self.cwd, self.ids = number, cwd, 0
        self.clock = datetime.fromisoformat(start) + timedelta(minutes=number)
        self.session = self._id()

    def _id(self) -> str:
        self.ids += 1
        return f"019b7d{self.number:02x}-{self.ids:04x}-7001-8a11-000000000000"

    def line(self, kind: str, **payload: Any) -> Record:
        self.clock += timedelta(seconds=1)
        stamp = self.clock.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"timestamp": stamp, "type": kind, "payload": payload}

    def begins(self, **more: Any) -> Record:
        return self.line("session_meta", id=self.session, cwd=self.cwd, cli_version="0.144.2", source="cli", **more)

    def prompt(self, text: str) -> list[Record]:
        turn = self._id()
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        return [
            self.line("event_msg", type="task_started", turn_id=turn),
            self.line("turn_context", turn_id=turn, cwd=self.cwd, model="gpt-5"),
            self.line("response_item", **item),
            self.line("event_msg", type="user_message", message=text, images=[], local_images=[]),
        ]

    def injects(self, *texts: str) -> Record:
        content = [{"type": "input_text", "text": text} for text in texts]
        return self.line("response_item", type="message", role="user", content=content)

    def says(self, text: str) -> list[Record]:
        content = [{"type": "output_text", "text": text}]
        return [
            self.line("event_msg", type="agent_message", message=text),
            self.line("response_item", type="message", role="assistant", content=content),
        ]

    def calls(self, tool: str, call: str, namespace: str | None = None, **arguments: Any) -> Record:
        named = {"name": tool, "arguments": json.dumps(arguments), "call_id": call}
        return self.line("response_item", type="function_call", **named, **({"namespace": namespace} if namespace else {}))

    def patches(self, call: str, patch: str) -> Record:
        return self.line("response_item", type="custom_tool_call", name="apply_patch", call_id=call, input=patch)

    def result(self, call: str, text: str, exit_code: int | None = None) -> Record:
        wrapped = json.dumps({"output": text, "metadata": {"exit_code": exit_code}})
        output = text if exit_code is None else wrapped
        return self.line("response_item", type="function_call_output", call_id=call, output=output)

    def completes(self) -> Record:
        return self.line("event_msg", type="task_complete", turn_id="x")

    def aborted(self, reason: str) -> Record:
        return self.line("event_msg", type="turn_aborted", turn_id="x", reason=reason)


# ---- the sessions of Codex

MIGRATION = "Fix ClickHouse schema migration failure"
MIGRATION_PROMPT = (
    "The ClickHouse schema migration is failing after adding the event ordinal column. Please find the issue and fix it."
)
MIGRATION_ANSWER = (
    "Updated the migration ordering and verified the ClickHouse schema applies cleanly. "
    "Validation: cargo test --workspace --locked passed."
)
CARGO = "cargo test --workspace --locked"
CARGO_FAILED = f"{CARGO} failed in moraine-clickhouse-client\n\nfailures:\n  migrations_apply_in_order\n"
CHECKOUT = "/Users/eric/src/moraine"


def migration(log: Codex) -> list[Record]:
    return [
        log.begins(),
        log.line("event_msg", type="thread_name_updated", thread_name=MIGRATION),
        *log.prompt(MIGRATION_PROMPT),
        log.calls("exec_command", "c1", cmd=CARGO, workdir=CHECKOUT),
        log.result("c1", CARGO_FAILED, 101),
        log.patches("c2", "*** Begin Patch\n*** Update File: order.sql\n*** End Patch\n"),
        log.result("c2", "Success. Updated the following files:\nM order.sql\n", 0),
        log.calls("exec_command", "c3", cmd=CARGO, workdir=CHECKOUT),
        log.result("c3", "test result: ok", 0),
        *log.says(MIGRATION_ANSWER),
        log.completes(),
        *log.prompt("Can you summarize the validation?"),
        *log.says("Validation passed with make docs-build and cargo test for the affected crate."),
        log.completes(),
    ]


def tides(log: Codex) -> list[Record]:
    """Web search beside an ordinary tool."""
    action = {"type": "search", "query": "tide table harbour"}
    return [
        log.begins(),
        *log.prompt("Is there a newer tide table?"),
        log.line("response_item", type="web_search_call", id="ws", status="completed", action=action),
        log.calls("exec_command", "c1", cmd="ls tides"),
        log.result("c1", "2025.csv", 0),
        *log.says("Yes, from March."),
        log.completes(),
    ]


def dredging(log: Codex) -> list[Record]:
    """Injected context before the first prompt; the parent of a fork."""
    return [
        log.begins(),
        log.injects("# AGENTS.md instructions for /home/sam/harbour\n\nRun the tests."),
        log.injects("<environment_context>\n  <shell>zsh</shell>\n</environment_context>"),
        *log.prompt("Write the dredging notes"),
        *log.says("The dredging notes mention a sunken coracle."),
        log.completes(),
    ]


def dredging_fork(log: Codex) -> list[Record]:
    parent = Codex(3)
    copied = dredging(parent)
    header = log.begins(forked_from_id=parent.session)
    copied = [{**line, "timestamp": header["timestamp"]} for line in copied]
    own = [*log.prompt("Review the notes about dredging"), *log.says("One date is wrong."), log.completes()]
    return [header, *copied, *own]


def gates(log: Codex) -> list[Record]:
    """Spawns a sub-agent that has its own log."""
    child = Codex(6).session
    return [
        log.begins(),
        *log.prompt("Have someone check the lock gates"),
        log.calls("spawn_agent", "c1", message="Check both lock gates"),
        log.line("event_msg", type="collab_agent_spawn_end", call_id="c1", new_thread_id=child),
        log.result("c1", json.dumps({"agent_id": child})),
        *log.says("Gate two is silent."),
        log.completes(),
    ]


def gates_agent(log: Codex) -> list[Record]:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": Codex(5).session, "depth": 1}}}
    return [
        {**log.begins(), "payload": {"id": log.session, "cwd": log.cwd, "source": spawned}},
        *log.prompt("Check both lock gates"),
        *log.says("The second gate never reports."),
        log.completes(),
    ]


def archive(log: Codex) -> list[Record]:
    """Recollect's own traffic again, as Codex writes it."""
    return [
        log.begins(),
        *log.prompt("Ask the archive"),
        log.calls("search_sessions", "c1", namespace="mcp__recollect", query="barnacle"),
        log.result("c1", "a barnacle"),
        log.calls("exec_command", "c2", cmd="recollect open event:barnacle"),
        log.result("c2", "the same barnacle", 0),
        *log.says("Asked."),
        log.completes(),
    ]


def codex_ends(opening: str, *last: Callable[[Codex], list[Record]]) -> Callable[[Codex], list[Record]]:
    """A session of one turn: a prompt, a command, and the given last records."""

    def records(log: Codex) -> list[Record]:
        shared = [log.begins(), *log.prompt(opening), log.calls("exec_command", "c1", cmd="make"), log.result("c1", "ok", 0)]
        return shared + [record for part in last for record in part(log)]

    return records


CODEX: list[Callable[[Codex], list[Record]]] = [
    migration, tides, dredging, dredging_fork, gates, gates_agent,
    codex_ends("codex answered", lambda log: log.says("Made."), lambda log: [log.completes()]),
    codex_ends("codex interrupted", lambda log: log.says("Making"), lambda log: [log.aborted("interrupted")]),
    codex_ends("codex cancelled", lambda log: [log.aborted("replaced")]),
    codex_ends("codex crashed", lambda log: [log.line("event_msg", type="error", message="stream disconnected")]),
    codex_ends("codex running", lambda log: log.says("I am still making it.")),
    codex_ends("codex silent", lambda log: [log.completes()]),
    archive,
]  # fmt: skip


# ---- the sessions of Claude Code


def monitor(log: Claude) -> list[Record]:
    """Three turns and a fourth that is running; reasoning; tools that are used twice."""
    return [
        {"type": "ai-title", "aiTitle": "Investigate monitor startup", "sessionId": log.session},
        log.prompt("Where is the monitor configured?"),
        log.thinks("The person wants the monitor; the heliograph module comes to mind."),
        log.calls("Grep", "t1", pattern="monitor"),
        log.result("t1", "etc/monitor.toml"),
        log.calls("Bash", "t2", command="cat etc/monitor.toml"),
        log.result("t2", "Exit code 3\ncat: no such file", failed=True),
        log.calls("Grep", "t3", pattern="startup"),
        log.result("t3", "none"),
        log.says("In etc/monitor.toml."),
        log.prompt("Is it enabled?"), log.says("Yes."),
        log.prompt("Since when?"), log.says("Since Monday."),
        log.prompt("Check whether the monitor starts after the latest config change."),
        log.calls("Bash", "t4", command="bin/moraine status"),
    ]  # fmt: skip


def settled(log: Claude) -> list[Record]:
    """Turns without an end marker: the next prompt ends them."""
    return [
        log.prompt("settled with words"), log.says("Half an answer.", stop=None),
        log.calls("Bash", "t1", command="make"), log.result("t1", "made"),
        log.prompt("settled without words"), log.calls("Bash", "t2", command="make"), log.result("t2", "made again"),
        log.prompt("and now?"), log.says("All settled."),
    ]  # fmt: skip


def twice(log: Claude) -> list[Record]:
    return [
        log.prompt("Count the buoys twice"), log.says("Counting."),
        log.prompt("continue"), log.says("One to nine."),
        log.prompt("continue"), log.says("Ten to twelve."),
    ]  # fmt: skip


def web(log: Claude) -> list[Record]:
    """Every kind of tool: the web decides the mode."""
    return [
        log.prompt("Find the newest chart online"),
        log.calls("Bash", "t1", command="ls"), log.result("t1", "charts"),
        log.calls("mcp__recollect__search_sessions", "t2", query="chart"), log.result("t2", "{}"),
        log.calls("WebFetch", "t3", url="https://example.org/chart"), log.result("t3", "a chart"),
        log.says("Found one."),
    ]  # fmt: skip


OWN = "What did we decide about the kelp farm?"


def own(log: Claude) -> list[Record]:
    """Recollect's own traffic; no other text has `barnacle`."""
    return [
        log.prompt(OWN),
        log.calls("mcp__recollect__search_sessions", "t1", query="kelp barnacle"),
        log.result("t1", '{"results": ["the barnacle decision"]}'),
        log.calls("mcp__recollect__open", "t2", id="event:barnacle"),
        log.result("t2", "barnacle in full"),
        log.calls("Bash", "t3", command="recollect search barnacle"),
        log.result("t3", "1. barnacle"),
        log.calls("Bash", "t4", command="ls kelp"),
        log.result("t4", "kelp.csv"),
        log.says("We decided to wait."),
    ]


def voyage(turns: int) -> Callable[[Claude], list[Record]]:
    def records(log: Claude) -> list[Record]:
        pairs = (
            (log.prompt(f"voyage of {turns} turns, day {day}"), log.says(f"Logged {day}.")) for day in range(1, turns + 1)
        )
        return [record for pair in pairs for record in pair]

    return records


def soundings(log: Claude) -> list[Record]:
    """One turn with more than two hundred events."""
    rounds = [(log.calls("Read", f"t{n}", path=f"log/{n}"), log.result(f"t{n}", f"depth {n}")) for n in range(120)]
    return [log.prompt("Read all soundings"), *(record for pair in rounds for record in pair), log.says("All read.")]


QUIET = "all quiet on the water, nothing to report\n"


def survey(log: Claude) -> list[Record]:
    """An event of three megabytes with a word at its beginning, in its middle and at its end."""
    half = QUIET * (MEGABYTES * 1_000_000 // 2 // len(QUIET))
    text = f"anchorfirst\n{half}anchormiddle\n{half}anchorlast"
    return [
        log.prompt("Show the survey"),
        log.calls("Bash", "t1", command="cat survey"),
        log.result("t1", text),
        log.says("Long."),
    ]


def bench(name: str) -> Callable[[Claude], list[Record]]:
    """Identical answers, which differ only in time and id."""

    def records(log: Claude) -> list[Record]:
        rounds = [(log.prompt(f"{name} bench, round {n}"), log.says("Zephyr calibrated.")) for n in range(3)]
        return [record for pair in rounds for record in pair]

    return records


LANGUAGES = {
    "zh": "数据库迁移失败，请修复login问题。",
    "ja": "データベースの移行に失敗しました。",
    "ko": "데이터베이스 마이그레이션이 실패했습니다.",
    "ru": "Миграция базы данных не удалась.",
    "de": "Die Größe der Datenbankverbindung prüfen.",
    "ar": "فشل ترحيل قاعدة البيانات",
    "hi": "डेटाबेस माइग्रेशन विफल रहा",
    "th": "ฐานข้อมูล ล้มเหลว",
    "el": "Η μετάβαση απέτυχε",
}


def languages(log: Claude) -> list[Record]:
    return [log.prompt("Say it in every language"), *(log.says(text) for text in LANGUAGES.values())]


IDENTIFIERS = "Renamed getUserName in src/auth.ts; the auth_token check now raises ERR_AUTH_FAILED since v2.10.3."


def identifiers(log: Claude) -> list[Record]:
    return [
        log.prompt("Rename the accessor"),
        log.calls("Edit", "t1", file_path="src/quartermaster.py", old_string="fetchLedger"),
        log.result("t1", "The file quartermaster was edited: halyard"),
        log.says(IDENTIFIERS),
        log.prompt("Which error was it?"),
        log.says("The log says connection refused by the bilge pump."),
        log.prompt("And the other way round?"),
        log.says("It refused the connection; the pump in the bilge is fine."),
    ]


BURIED = {  # words far from the beginning of a long text, each in its own answer
    "signalbox": "signalbox",
    "plain": "the derrick collapsed",
    "stem": "then retry the hoist",
    "accent": "the café closed",
    "inside": "their art endured",
    "cjk": "船坞的闸门",
    "camel": "call openSluiceGate now",
}


WHOLE_SNIPPET, CUT_SNIPPET = "ballast " * 39 + "ballasts", "keelson " * 40 + "!"  # 320 characters, and one more


def buried(log: Claude) -> list[Record]:
    filler = "start parting chart " * 60
    long = (f"{filler}{words} {filler}" for words in BURIED.values())
    return [log.prompt("Bury some words"), *(log.says(text) for text in (*long, WHOLE_SNIPPET, CUT_SNIPPET))]


PAINT = "Paint the harbour wall"
INJECTED = {  # texts that are not from the person, by a word that only each of them has
    "caveat": "<local-command-caveat>Caveat: ignore the caveatword</local-command-caveat>",
    "reminder": "<system-reminder>mind the budgetword</system-reminder>",
    "skill": "Base directory for this skill: skillword",
    "echo": "<local-command-stdout>spent 3 coins, echoword</local-command-stdout>",
}


def paint(log: Claude) -> list[Record]:
    """Every kind of record between prompts that is not a prompt."""
    hook = {"type": "hook_success", "hookName": "SessionStart", "content": "hookword"}
    return [
        log._tree("attachment", attachment=hook),
        log.prompt(INJECTED["caveat"], isMeta=True),
        log.prompt([{"type": "text", "text": PAINT}, {"type": "text", "text": "Use the blue paint"}]),
        log.prompt(INJECTED["reminder"]),
        log.prompt(INJECTED["skill"], isMeta=True),
        log.calls("Bash", "t1", command="paint"), log.result("t1", "painted"),
        log.says("Painted."),
        log.prompt(INJECTED["echo"]),
        log.prompt("This session is being continued: compactword", isCompactSummary=True),
        log.prompt([{"type": "text", "text": "<system-reminder>again, doorword</system-reminder>"}, {"type": "text", "text": "Now the route"}]),
        log.says("Done."),
    ]  # fmt: skip


COMMANDS = "Steer home"


def commands(log: Claude) -> list[Record]:
    """A slash command that the agent answers is a prompt; one that only the program answers is not."""
    return [
        log.prompt(COMMANDS), log.says("Steering."),
        log.prompt("<command-name>/review</command-name><command-message>review</command-message><command-args>12</command-args>"),
        log.says("Reviewed."),
        log.prompt("<command-name>/cost</command-name><command-message>cost</command-message>"),
        log.prompt("<local-command-stdout>3 coins</local-command-stdout>"),
    ]  # fmt: skip


def claude_ends(opening: str, *last: Callable[[Claude], Record]) -> Callable[[Claude], list[Record]]:
    """A session of one turn: a prompt, a command, and the given last records."""

    def records(log: Claude) -> list[Record]:
        shared = [log.prompt(opening), log.calls("Bash", "t1", command="make"), log.result("t1", "made")]
        return shared + [part(log) for part in last]

    return records


def api_error(log: Claude) -> Record:
    return log.says("API Error: 529 overloaded", stop="stop_sequence", model="<synthetic>", isApiErrorMessage=True)


def prompted(*records: Callable[[Claude], Record]) -> Callable[[Claude], list[Record]]:
    return lambda log: [record(log) for record in records]


LONG_LINE = "Explain " + "the mooring rules " * 40
PREVIEW = 200  # characters: the longest preview, and prompts of just that length and one more
JUST_FITS, JUST_TOO_LONG = "ebb " * 49 + "ebbs", "flow " * 40 + "!"


def summarised(log: Claude) -> list[Record]:
    """Titled by a summary record that names the last event; the summary is longer than a title may be."""
    messages = [log.prompt("prompt of a summarised session"), log.says("Fine.")]
    return [*messages, {"type": "summary", "summary": "Summary " + "of many words " * 30, "leafUuid": log.last}]


CLAUDE: list[Callable[[Claude], list[Record]]] = [
    monitor, settled, twice, web, own, voyage(100), voyage(101), soundings, survey, languages, identifiers, buried, paint,
    commands,
    *(claude_ends(f"claude {stop}", partial(Claude.says, text="Made.", stop=stop))
      for stop in ("end_turn", "stop_sequence", "max_tokens", "refusal")),
    claude_ends("claude interrupted", lambda log: log.says("Making", stop=None), lambda log: log.interrupted()),
    claude_ends("claude interrupted in a tool", lambda log: log.prompt("[Request interrupted by user for tool use]")),
    claude_ends("claude crashed", api_error),
    claude_ends("claude bookkeeping", lambda log: log.says("Made."), lambda log: log.system("turn_duration", durationMs=5)),
    claude_ends("claude streaming", lambda log: log.says("I am making it", stop=None)),
    claude_ends("claude calling", lambda log: log.calls("Bash", "t2", command="make more")),
    claude_ends("claude went on", lambda log: log.says("Made."), lambda log: log.calls("Bash", "t2", command="more")),
    claude_ends("claude asked"),
    prompted(lambda log: log.prompt("just a chat"), lambda log: log.says("Hello.")),
    prompted(lambda log: log.prompt("\n\n  first line  that counts\nsecond line"), lambda log: log.says("Yes.")),
    prompted(lambda log: log.prompt(LONG_LINE), lambda log: log.says("They are long.")),
    prompted(lambda log: log.prompt("prompt of a named session"), lambda log: log.says("Yes."),
             lambda log: {"type": "custom-title", "customTitle": "Named by hand", "sessionId": log.session}),
    prompted(lambda log: log.prompt("prompt under a blank title"), lambda log: log.says("Yes."),
             lambda log: {"type": "custom-title", "customTitle": "  ", "sessionId": log.session}),
    prompted(lambda log: log.prompt("<system-reminder>nobody spoke</system-reminder>")),
    prompted(lambda log: log.prompt(JUST_FITS), lambda log: log.says(JUST_TOO_LONG)),
    prompted(lambda log: log.prompt(JUST_TOO_LONG), lambda log: log.says(JUST_FITS)),
    prompted(lambda log: log.prompt("Meet a stranger"), lambda log: log._tree("stranger", text="strangeword"),
             lambda log: log.says("Met.")),
    summarised,
]  # fmt: skip


# ---- sub-agents and copies, in separate files

ERRAND = "Send agents for rope"
AGENTS = ("Fetch the hawser", "Fetch the lanyard", "Fetch the painter")  # the last one is still running


def write_logs(person: Person) -> None:
    for number, session in enumerate(CODEX, 1):
        codex = Codex(number)
        write(person.codex_log(codex.session), session(codex))
    for number, lines in enumerate(CLAUDE, 1):
        claude = _claude(number)
        write(person.claude_log(claude.session), lines(claude))
    for number, name in ((60, "first"), (61, "second")):
        log = _claude(number, start=60_000)
        write(person.claude_log(log.session), bench(name)(log))
    write_errand(person)
    write_resumed_session(person)


def _claude(number: int, start: int | None = None) -> Claude:
    return Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 1_000 if start is None else start)


def write_errand(person: Person) -> None:
    """Write a session, two finished sub-agents, and one that is still running."""
    log = _claude(70)
    spawned = [
        log.prompt(ERRAND),
        log.calls("Task", "t1", prompt=AGENTS[0]),
        {**log.result("t1", "hawser fetched"), "toolUseResult": {"agentId": "a1"}},
        log.calls("Task", "t2", prompt=AGENTS[1]),
        {**log.result("t2", "lanyard fetched"), "toolUseResult": {"agentId": "a2"}},
        log.says("Both are here."),
        log.prompt("One more, please"),
        log.calls("Task", "t3", prompt=AGENTS[2]),
    ]
    path = write(person.claude_log(log.session), spawned)
    for number, words in enumerate(AGENTS, 1):
        agent = Claude(log.session, start=70_000 + number * 100)
        records = [agent.prompt(words), agent.calls("Bash", "look", command="look"), agent.result("look", "rope")]
        records = [{**record, "isSidechain": True, "agentId": f"a{number}"} for record in [*records, agent.says("Got it.")]]
        write(path.with_suffix("") / "subagents" / f"agent-a{number}.jsonl", records)


LIGHTHOUSE = "Plan the lighthouse repair"
RESUMED = "Now order the paint"


def write_resumed_session(person: Person) -> None:
    """Write a session, and a second file that begins with a copy of it under the same uuids."""
    log, resumed = _claude(75), _claude(76)
    original = [log.prompt(LIGHTHOUSE), log.says("First the fresnel lens.")]
    write(person.claude_log(log.session), original)
    copied = [{**record, "sessionId": resumed.session} for record in original]
    write(person.claude_log(resumed.session), [*copied, resumed.prompt(RESUMED), resumed.says("Ordered, in vermilion.")])

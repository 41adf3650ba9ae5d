"""A home with sessions of every kind, shared by the tests of the trace contract.

A session is named by its title; the purpose of its words is explained next to them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recollect.index.ngrams import NGRAMS
from tests.conftest import Person
from tests.contract.history_archive import Codex
from tests.contract.trace_client import Trace, connect_trace
from tests.logs import Claude, write

Record = dict[str, Any]
Story = Callable[[Claude], list[Record]]


# ---- sessions for searches


EVERYWHERE = "Where is the Marlinspike?"


def everywhere(log: Claude) -> list[Record]:
    """`marlinspike` in every kind of record, in any case; the index of each event is that of its line."""
    return [
        log.prompt(EVERYWHERE),
        log.thinks("A marlinspike parts the strands of a rope."),
        log.calls("Grep", "t1", pattern="MARLINSPIKE", path="locker"),
        log.result("t1", "locker/3: one marlinspike, rusty"),
        log.says("The marlinspike lies in locker 3."),
        log.prompt("<system-reminder>mind the marlinspike</system-reminder>"),
        log.prompt("Continued: the marlinspike was found.", isCompactSummary=True),
        log.calls("mcp__marlinspike__fetch", "t2"),
        log.prompt("[Request interrupted by user for the marlinspike]"),
        log._tree("stranger", text="an unheard-of marlinspike"),
    ]


EVERYWHERE_TYPES = [
    "user", "reasoning", "tool_call", "tool_result", "message", "notification", "notification", "tool_call", "notification",
    "notification",
]  # fmt: skip
IDENTIFIERS = "Rename the accessor"


def identifiers(log: Claude) -> list[Record]:
    return [
        log.prompt(IDENTIFIERS),
        log.calls("Edit", "t1", file_path="src/auth.ts", old_string="getUserName()", new_string="fetchUserName()"),
        log.result("t1", "raise ERR_AUTH_FAILED from reason", failed=True),
        log.says("Renamed getUserName in src/auth.ts; it raises ERR_AUTH_FAILED since v2.10.3."),
    ]


ESCAPES = "Quote the bosun"
QUOTED = (
    'say "belay \\"that\\""\n\tgrep -E "^a|b$" C:\\temp\\new'  # every character that JSON escapes, except control characters
)
NESTED: dict[str, Any] = {
    "edits": [{"old": 'first line\nsecond "line"', "new": ["tab\there", 42, 1.5, None, True]}],
    'a "key"\n': "x",
}


def escapes(log: Claude) -> list[Record]:
    return [
        log.prompt(ESCAPES),
        log.calls("Bash", "t1", command=QUOTED),
        log.result("t1", QUOTED),
        log.calls("MultiEdit", "t2", **NESTED),
        log.result("t2", 'wrote {"old": "first line\\nsecond"}'),
        log.says('He said "belay".'),
    ]


SCRIPTS = "Say it in every script"
SCRIPT_TEXTS = (
    "数据库迁移失败，请修复login问题。",
    "データベースの移行に失敗しました。",
    "데이터베이스 마이그레이션이 실패했습니다.",
    "فشل ترحيل قاعدة البيانات",
    "party 🎉🎊 family 👩‍👩‍👧‍👦 flag 🇳🇱",
    "cafe\u0301 beside caf\u00e9",
    "Die STRASSE ist groß, die Straße GROSS; İstanbul, ISPARTA und ıhlara; ΟΔΟΣ, οδός; ﬁne oﬃce",
    "bell\x07 escape\x1b[31mred\x1b[0m nul\x00 unit\x1f delete\x7f csi\x9b end",
)


def scripts(log: Claude) -> list[Record]:
    return [log.prompt(SCRIPTS), *(log.says(text) for text in SCRIPT_TEXTS)]


SIGNS = "Collect strange signs"
SIGN_TEXTS = (
    "100% of a_b and a.c, [x] (y|z) {1,2} ^start end$ \\d+ ~tilde",
    "1000 of azb and abc, x y z 1 start end d tilde",
    "SELECT * FROM event WHERE text LIKE '%x%'; -- DROP TABLE event",
    'title:"exact phrase" AND (body^2 OR -not) +must fuzzy~1 [a TO b] \\*',
    "*?.!:;,-_/\\|()[]{}<>@#$%^&+=~`'\"",
    "  blanks   at   the   edges  ",
)


def signs(log: Claude) -> list[Record]:
    return [log.prompt(SIGNS), *(log.says(text) for text in SIGN_TEXTS)]


GULLS = 23  # events that contain `gull`, in six sessions of two agents; two of them began at the same moment


def gulls(number: int, count: int) -> Story:
    def records(log: Claude) -> list[Record]:
        prompt = log.prompt(f"Feed the GULL of pier {number}")
        return [prompt, *(log.says(f"Fed gull {place}.") for place in range(count - 1))]

    return records


WORST = {  # the characters that take the most bytes in a preview, by a word that finds them
    "knellemoji": "🎉",
    "knellcontrol": "\x01",
    "knellquote": '"',
    "knellhan": "鐘",
    "knellfamily": "👩‍👩‍👧‍👦",
}
WORST_TITLE = "Ring every bell"


def worst(log: Claude) -> list[Record]:
    rows = [log.says(sign * 40 + word + sign * 400) for word, sign in WORST.items() for _ in range(11)]
    return [log.prompt(WORST_TITLE), *rows]


# ---- long sessions

LEDGER = "Show the long ledger"
LEDGER_PROMPT = f"{LEDGER}\n" + "and every entry in it " * 20
LEDGER_THOUGHTS = ("tau" * 500, "x" * 500, "y" * 501)
LEDGER_ANSWER = "The ledger says:\n" + "鐘" * 3_000
LEDGER_LINE = "all quiet on the water, nothing to report\n"
LEDGER_OUTPUT = "anchorfirst\n" + LEDGER_LINE * 600 + "anchormiddle\n" + LEDGER_LINE * 600 + "anchorlast"  # 50 KB
LEDGER_ARGUMENT = "cat " + "ledger.txt " * 200


def ledger(log: Claude) -> list[Record]:
    first, just, over = LEDGER_THOUGHTS
    return [
        log.prompt(LEDGER_PROMPT), log.thinks(first), log.says(LEDGER_ANSWER, stop=None),
        log.calls("Bash", "t1", command=LEDGER_ARGUMENT), log.result("t1", LEDGER_OUTPUT),
        log.thinks(just), log.calls("Bash", "t2", command="half"), log.result("t2", "z" * 500),
        log.thinks(over), log.calls("Bash", "t3", command="more"), log.result("t3", "w" * 501, failed=True),
        log.says("Done."),
    ]  # fmt: skip


SIXTY = "day 0: sail on"


def sixty(log: Claude) -> list[Record]:
    """Sixty turns, each with a long prompt, thoughts, a tool and an answer."""
    days = (
        [
            log.prompt(f"day {day}: sail on\n" + f"and note wind {day} " * 20), log.thinks("The wind turns. " * 60),
            log.calls("Bash", f"t{day}", command=f"sail --day {day} " + "--reef " * 20),
            log.result(f"t{day}", "knots " * 400), log.says("Sailed on, the wind was fair. " * 30),
        ]
        for day in range(60)
    )  # fmt: skip
    return [record for day in days for record in day]


STEPPED = "Climb three hundred steps"


def stepped(log: Claude) -> list[Record]:
    steps = (
        [
            log.says(f"Step {step}. " + "Up, and up, and up. " * 20, stop=None),
            log.calls("Climb", f"t{step}", height=step, command=f"climb {step}"), log.result(f"t{step}", f"stood on {step} " * 60),
        ]
        for step in range(300)
    )  # fmt: skip
    return [log.prompt(STEPPED), *(record for step in steps for record in step)]


HEAVY = "Recite the sagas"


def heavy(log: Claude) -> list[Record]:
    """Forty turns whose messages alone exceed the size limit of every level except `full`."""
    turns = ([log.prompt(f"{HEAVY}\nsaga {turn}"), log.says(f"saga {turn}: " + "波" * 3_000)] for turn in range(40))
    return [record for turn in turns for record in turn]


# ---- sessions for steps and insights

NETS = "Mend the nets"


def nets(log: Claude) -> list[Record]:
    """A turn of every outcome: no tools, all passed, one of two failed, all failed, one unfinished, one failed and one unfinished."""
    return [
        log.prompt(NETS), log.says("Mended by hand."),
        log.prompt("good"), log.calls("Bash", "a1", command="mend"), log.result("a1", "ok"),
        log.calls("Grep", "a2", pattern="hole"), log.result("a2", "none"), log.calls("Bash", "a3"), log.result("a3", "ok"),
        log.prompt("half good"), log.calls("Read", "b1", file_path="net"), log.result("b1", "no net", failed=True),
        log.calls("Bash", "b2", command="mend"), log.result("b2", "ok"),
        log.prompt("bad"), log.calls("Bash", "c1", command="mend"), log.result("c1", "Exit code 3\ntorn", failed=True),
        log.says("Torn.", stop=None), log.calls("Bash", "c2", command="mend"), log.result("c2", "torn", failed=True),
        log.prompt("unfinished"), log.calls("Bash", "d1", command="mend"),
        log.prompt("bad and unfinished"), log.calls("Bash", "e1"), log.calls("Bash", "e2"),
        log.result("e2", "torn", failed=True), log.says("Waiting.", stop=None), log.calls("Grep", "e3"),
    ]  # fmt: skip


RIGGING = "Climb the rigging"


def rigging(log: Claude) -> list[Record]:
    """A turn for every rule about steps."""
    return [
        log.prompt(RIGGING), log.thinks("A1"), log.says("A2", stop=None), log.calls("Bash", "a1", command="up"),
        log.result("a1", "A3"), log.says("A4"),
        log.prompt("thought after words"), log.says("B1", stop=None), log.thinks("B2"), log.says("B3"),
        log.prompt("thought after a tool"), log.calls("Bash", "c1"), log.result("c1", "C1"), log.thinks("C2"), log.says("C3"),
        log.prompt("thoughts in a row"), log.thinks("D1"), log.thinks("D2"), log.says("D3"),
        log.prompt("side by side"), log.calls("Bash", "e1"), log.calls("Read", "e2"), log.calls("Grep", "e3"),
        log.result("e3", "E3"), log.result("e1", "E1"), log.result("e2", "E2", failed=True), log.says("E4"),
        log.prompt("answered later"), log.calls("Bash", "f1"), log.says("F1"),
        log.prompt("and now"), log.result("f1", "F2"), log.says("G1"),
        log.prompt("failed beside unfinished"), log.calls("Bash", "h1"), log.calls("Bash", "h2"),
        log.result("h2", "H2", failed=True),
        log.prompt("done beside unfinished"), log.calls("Bash", "i1"), log.calls("Bash", "i2"), log.result("i2", "I2"),
        log.prompt("an answer to nobody"), log.result("nobody", "J1"), log.says("J2"),
        log.prompt("silence"),
    ]  # fmt: skip


SIGNALS = "Hoist the signals"


def signals(log: Claude) -> list[Record]:
    """Every kind of notification."""
    return [
        log.prompt(SIGNALS), log.prompt("<system-reminder>reminded</system-reminder>"), log.says("Hoisted.", stop=None),
        log.prompt("Continued: compacted", isCompactSummary=True), log.system("informational", content="informed"),
        log.system("turn_duration", durationMs=5_000), log._tree("stranger", text="unheard of"), log.interrupted(),
    ]  # fmt: skip


CIRCLES, NEARLY = "Walk in circles", "Walk nearly in circles"


def used(log: Claude, prompt: str, *tools: str) -> list[Record]:
    calls = ((log.calls(tool, f"{log.clock}"), log.result(f"{log.clock - 1}", "ok")) for tool in tools)
    return [log.prompt(prompt), *(record for pair in calls for record in pair), log.says("Walked.")]


def circles(log: Claude) -> list[Record]:
    """Runs of two, three and five turns with the same tools; other turns end a run."""
    turns = [("Grep", "Edit")] * 2 + [("Bash",)] * 3 + [()] + [("Read", "Read")] * 5
    return [record for place, tools in enumerate(turns) for record in used(log, CIRCLES if not place else "on", *tools)]


def nearly(log: Claude) -> list[Record]:
    """Never three consecutive turns: two, another order, a turn without tools in between, one more tool."""
    turns = [("Grep", "Edit")] * 2 + [("Edit", "Grep")] * 2 + [(), ("Edit", "Grep"), ("Edit",), (), (), ()]
    return [record for place, tools in enumerate(turns) for record in used(log, NEARLY if not place else "on", *tools)]


TIDE = "Wait for the tide"


def tide(log: Claude) -> list[Record]:
    """Tools of twelve seconds, of exactly ten, of a millisecond more, and one without a result."""
    records = [log.prompt(TIDE), log.calls("Sluice", "t1")]
    log.clock += 11
    records += [log.result("t1", "high"), log.prompt("just"), log.calls("Weir", "t2")]
    log.clock += 9
    records += [log.result("t2", "higher"), log.prompt("over"), log.calls("Gate", "t3")]
    log.clock += 9
    late = log.result("t3", "highest")
    late["timestamp"] = late["timestamp"].replace(".000Z", ".001Z")
    return [*records, late, log.prompt("never"), log.calls("Lock", "t4")]


STORM = "Weather the storm"


def storm(log: Claude) -> list[Record]:
    """More failures than a score can subtract."""
    turns = ([log.prompt(STORM), log.calls("Bash", f"t{n}"), log.result(f"t{n}", "lost", failed=True)] for n in range(15))
    return [record for turn in turns for record in turn]


CLAUDE: list[Story] = [
    everywhere, identifiers, escapes, scripts, signs, worst, ledger, sixty, stepped, heavy, nets, rigging, signals, circles,
    nearly, tide, storm, gulls(1, 7), gulls(2, 5), gulls(3, 4),
]  # fmt: skip


# ---- Codex

DEPTHS, PIER = "Sound the depths", "Count what sits on the pier"
PATCH = "*** Begin Patch\n*** Update File: depths.csv\n+5 fathoms\n*** End Patch\n"


def counted(log: Codex, **total: int) -> Record:
    return log.line("event_msg", type="token_count", info={"total_token_usage": total})


def depths(log: Codex) -> list[Record]:
    """Reasoning, exit codes, a patch, and tokens."""
    return [
        log.begins(), *log.prompt(DEPTHS),
        log.line("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "The lead line is short."}]),
        log.calls("exec_command", "c1", cmd="sound --fathoms", workdir="/home/sam"), log.result("c1", "bottom not found", 101),
        counted(log, input_tokens=1_000, cached_input_tokens=400, output_tokens=50, reasoning_output_tokens=20),
        log.patches("c2", PATCH), log.result("c2", "Success.", 0),
        *log.says("Five fathoms."), log.completes(),
    ]  # fmt: skip


def pier(log: Codex) -> list[Record]:
    opening = [log.begins(), *log.prompt(PIER)]
    return [*opening, *log.says("A gull sits there."), *log.says("And a second gull."), log.completes()]


# ---- the home


def sync_first_logs(person: Person) -> Person:
    """Write and sync almost all sessions; the last one of Claude Code has only its beginning."""
    for number, story in enumerate(CLAUDE, 1):
        log = _claude(number)
        write(person.claude_log(log.session), story(log)[: 2 if number == len(CLAUDE) else None])
    codex = Codex(1)
    write(person.codex_log(codex.session), depths(codex))
    person.sync()
    return person


def sync_later_logs(person: Person) -> Person:
    """Write and sync two sessions of the same moment, the end of the incomplete one, and one older than most."""
    log = _claude(len(CLAUDE))
    write(person.claude_log(log.session), CLAUDE[-1](log))
    for number in (41, 42):
        log = _claude(number, start=50_000)
        write(person.claude_log(log.session), gulls(number, number - 39)(log))
    codex = Codex(2)
    write(person.codex_log(codex.session), pier(codex))
    person.sync()
    return person


def _claude(number: int, start: int | None = None) -> Claude:
    return Claude(f"{number:08d}-0000-4000-8000-000000000000", start=number * 2_000 if start is None else start)


FILLER, FILLER_EVENTS = "···", 5_000  # a text that no test searches, and enough events to build the n-gram index


def build_ngram_index(person: Person) -> None:
    """Build the n-gram index of all synced sessions."""
    log = Claude("99999999-0000-4000-8000-000000000000")
    blocks = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": FILLER} for n in range(FILLER_EVENTS)]
    write(person.claude_log(log.session), [log.prompt(FILLER), log.prompt(blocks)])
    person.sync()
    (person.state / "settings.toml").write_text('[embedding]\nmodel = "none"\n')
    person.run("distil")
    assert NGRAMS.folder(person.realm).exists()


@contextmanager
def serve_archive(folder: Path) -> Iterator[Trace]:
    """The home with all its logs, synced, with a server and a client."""
    with connect_trace(sync_later_logs(sync_first_logs(Person(folder)))) as trace:
        yield trace


@contextmanager
def serve_indexed_archive(folder: Path) -> Iterator[Trace]:
    """The same home, with an n-gram index of only the first logs, and of only a part of one session."""
    person = sync_first_logs(Person(folder))
    build_ngram_index(person)
    with connect_trace(sync_later_logs(person)) as trace:
        yield trace

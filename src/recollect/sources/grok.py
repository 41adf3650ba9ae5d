"""Grok keeps a folder per session under ~/.grok/sessions/<encoded folder>/<session>/.

Evidence: samples that others wrote with Grok Build's own types, in both of its formats; no real session was at hand.
`chat_history.jsonl` is what the model sees: chat messages, in format 0 with a `role`, from format 1 on with a `type` and the
thoughts as items of their own. It has no times and no ids, and a compaction or a rewind writes it anew. Title, folder and
parent are in `summary.json`. A prompt is wrapped in <user_query>; what the program itself said as the user has a
`synthetic_reason`, all but the <user_info> at the beginning. That a turn was interrupted is told by the prompt after it.
What a fork inherited has nothing to be known by, and is there twice.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.model import About, Entry, Kind, Problem, Record, Stop, TitleRank
from recollect.sources._container import Line
from recollect.sources._head import Head
from recollect.sources._json import beside, document
from recollect.sources._jsonl import every_line
from recollect.sources._message import Scribe, chat_message, command_or_prompt, each_line, text_of
from recollect.sources._source import Document, Source, home_of
from recollect.sources._values import as_text

HISTORY, SUMMARY = "chat_history.jsonl", "summary.json"
QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
INJECTED = ("<user_info>", "<system-reminder>", "<system_reminder>")
CANCELLED = "Tool execution was cancelled by the user"
INTERRUPTS = {"permission_rejected": Stop.CANCEL, "permission_cancelled": Stop.CANCEL}
ROLES = {"system": "system", "user": "user", "assistant": "assistant", "tool_result": "tool"}


class Info(Struct, frozen=True):
    id: str | None = None
    cwd: str | None = None


class Summary(Struct):
    """summary.json, or the meta.json that a parent keeps of a sub-agent."""

    info: Info = Info()
    generated_title: str | None = None
    session_summary: str | None = None
    head_branch: str | None = None
    session_kind: str | None = None
    forked_at: Any = None
    parent_session_id: str | None = None
    child_session_id: str | None = None


def homes(env: Mapping[str, str]) -> list[Path]:
    root = Path(env["GROK_HOME"]) if env.get("GROK_HOME") else home_of(env) / ".grok"
    return [root / "sessions"]


def recognises(head: Head) -> bool:
    return head.path.name == HISTORY or any(
        row.get("type") == "backend_tool_call"
        or (row.get("type") == "user" and ("synthetic_reason" in row or "prompt_index" in row))
        or ("model_id" in row and "assistant" in {row.get("type"), row.get("role")})
        for row in head.objects()
    )


def recognises_summary(head: Head) -> bool:
    first = head.first()
    return {"info", "num_chat_messages"} <= first.keys() or {"parent_session_id", "child_session_id"} <= first.keys()


def summary_of(path: Path) -> list[Path]:
    return [path.with_name(SUMMARY)]


def read(path: Path, lines: list[Line | Problem]) -> Iterator[Entry]:
    summary = beside(path.with_name(SUMMARY), Summary) or Summary()
    session = summary.info.id or path.parent.name
    yield from each_line(lines, session, _item)


def _item(scribe: Scribe, line: Line) -> Iterator[Record]:
    item: dict[str, Any] = line.value
    kind = item.get("type")
    message = {**item, "role": ROLES.get(kind, kind)} if isinstance(kind, str) else item
    match message.get("role"):
        case "user":
            yield from _user(scribe, message)
        case "assistant":
            yield from _assistant(scribe, message)
        case "tool":
            for record in chat_message(scribe, message):
                record.failed = record.text.startswith(CANCELLED)
                yield record
        case "reasoning":
            yield scribe.record(Kind.REASONING, text_of(item.get("content") or item.get("summary")))
        case "backend_tool_call":
            yield from _backend_call(scribe, item.get("kind"))
        case _:
            yield from chat_message(scribe, message)


def _user(scribe: Scribe, message: dict[str, Any]) -> Iterator[Record]:
    if interrupt := message.get("prior_turn_interrupt"):
        stop = INTERRUPTS.get(str(interrupt), Stop.INTERRUPT)
        yield scribe.record(Kind.RUNTIME, str(interrupt), stop=stop)
    text = text_of(message.get("content"))
    wrapped = QUERY.search(text)
    own = wrapped[1] if wrapped else text
    match message.get("synthetic_reason"):
        case None if text.startswith(INJECTED):
            yield scribe.record(Kind.SYSTEM, text)
        case None:
            yield from command_or_prompt(scribe, own)
        case "interjection":
            yield scribe.record(Kind.USER_INPUT, own)
        case "compaction_meta":
            yield scribe.record(Kind.COMPACTION, text)
        case _:
            yield scribe.record(Kind.SYSTEM, text)


def _assistant(scribe: Scribe, message: dict[str, Any]) -> Iterator[Record]:
    model = message.get("model_id")
    scribe.model = model if isinstance(model, str) else None
    yield from chat_message(scribe, message, stop=None if message.get("tool_calls") else Stop.ANSWER)


def _backend_call(scribe: Scribe, kind: Any) -> Iterator[Record]:
    """A tool that ran where the model runs: the call and what it found are one item."""
    if not isinstance(kind, dict):
        yield scribe.unknown(kind)
        return
    call = as_text(kind.get("id")) or None
    given = next((kind[name] for name in ("action", "input", "code") if name in kind), None)
    arguments = dict(given) if isinstance(given, dict) else given
    found = arguments.pop("sources", None) if isinstance(arguments, dict) else kind.get("outputs")
    yield scribe.call(as_text(kind.get("name") or kind.get("tool_type")) or None, call, arguments)
    if found:
        yield scribe.result(call, found, failed=kind.get("status") == "failed")


def read_summary(path: Path, summary: Summary) -> Iterator[Entry]:
    if summary.child_session_id:
        yield About(session=summary.child_session_id, parent=summary.parent_session_id)
        return
    forked = summary.forked_at is not None and summary.session_kind != "subagent"
    yield About(
        session=summary.info.id or path.parent.name,
        title=summary.generated_title or summary.session_summary,
        title_rank=TitleRank.GENERATED if summary.generated_title else TitleRank.SUMMARY,
        parent=None if forked else summary.parent_session_id,
        cwd=summary.info.cwd,
        branch=summary.head_branch,
    )


SOURCE = Source(
    name="grok",
    title="Grok",
    formats=(
        Document(
            homes=homes,
            endings=(HISTORY,),
            recognises=recognises,
            load=every_line(dict[str, Any]),
            read=read,
            beside=summary_of,
        ),
        Document(
            homes=homes,
            endings=(SUMMARY, "meta.json"),
            recognises=recognises_summary,
            load=document(Summary),
            read=read_summary,
        ),
    ),
)

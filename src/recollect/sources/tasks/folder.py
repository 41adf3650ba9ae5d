"""Reads a task of Cline, or of its forks Roo Code and Kilo Code: one folder, whose log is `ui_messages.json`.

A task without it is read from the history (`tasks.conversation`).

`<User>/globalStorage/<extension>/tasks/<task>/` holds the entries that the interface showed (`ui_messages.json`, rewritten
each time), the messages between agent and model (`api_conversation_history.json`), the models in use
(`task_metadata.json`) and, in Roo Code and Kilo Code, the task's entry in the list of tasks (`history_item.json`).

Evidence: the types that the three publish, and parts of eight published tasks, inspected by eye and not stored.
An entry is rewritten under the same `ts` while it streams, and the last version counts. A `partial` entry may also be
followed by its complete version. Tokens are in `api_req_started`, before the model's answer; a cancellation's
reason is added there afterwards. `tasks.tools` reads calls, `tasks.messages` reads messages.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Record, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import Homes
from recollect.sources.formats.json import decode_each, json_document, read_sidecar
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document
from recollect.sources.formats.usage import with_cost
from recollect.sources.formats.values import as_count, as_text, parse_time
from recollect.sources.tasks.conversation import is_conversation, read_conversation
from recollect.sources.tasks.entries import Message, NumberedMessage, Task, plain, reason
from recollect.sources.tasks.history import ModelMessage, first_text, folder_in, match_calls, model_in
from recollect.sources.tasks.messages import SPEECH, prompt
from recollect.sources.tasks.tools import ANSWERS, CALLS, answer, answers_of, call, calls_of, topic_of

FOLDERS = {
    "cline": {"saoudrizwan.claude-dev", ".cline"},
    "roo-code": {"rooveterinaryinc.roo-cline", ".vscode-mock"},
    "kilo-code": {"kilocode.kilo-code", ".kilocode"},
}
LOG, HISTORY = "ui_messages.json", "api_conversation_history.json"
METADATA, ITEM = "task_metadata.json", "history_item.json"
REQUESTS = {"api_req_started", "api_req_finished", "deleted_api_reqs", "subagent_usage"}
CANCELLED = {"user_cancelled": Stop.INTERRUPT, "streaming_failed": Stop.CRASH, "retries_exhausted": Stop.CRASH}
RESUMED = {"resume_task", "resume_completed_task"}
AFTER_A_REQUEST = {"api_req_started", "api_req_failed", "user_feedback", *RESUMED}
ERRORS = {
    *("error", "error_retry", "diff_error", "clineignore_error", "rooignore_error"),
    *("command_permission_denied", "condense_context_error"),
}
NOTICES = {
    *("info", "task_progress", "api_req_retried", "api_req_deleted", "auto_approval_max_req_reached", "hook_status"),
    *("load_mcp_documentation", "generate_explanation", "mcp_notification", "report_bug", "user_edit_todos"),
    *("shell_integration_warning", "shell_integration_warning_with_suggestion", *RESUMED),
}
ROO_HEADING = "# Current Workspace Directory"  # above the list of files; Cline writes "Working"
CLINE_FIELDS = {"modelInfo", "conversationHistoryIndex", "lastCheckpointHash"}  # fields that only Cline writes
BOOKKEEPING = {
    *("api_req_rate_limited", "api_req_retry_delayed", "browser_session_status", "checkpoint_created"),
    *("checkpoint_saved", "conditional_rules_applied", "hook_output_stream", "mcp_server_request_started"),
}


class ModelUse(Struct):
    ts: Any = None
    model_id: Any = None


class Metadata(Struct):
    model_usage: list[ModelUse] = []


class Item(Struct, rename="camel"):
    title: str | None = None
    workspace: str | None = None
    parent_task_id: str | None = None


def task_format(agent: str, homes: Homes, extension: str) -> Document:
    """The format of a task's folder, for one of the three agents."""
    return Document(
        homes=homes,
        usual_place=f".config/Code/User/globalStorage/{extension}/tasks",
        endings=(LOG, HISTORY),
        is_log=is_log,
        recognises=lambda head: agent_of(head) == agent,
        load=json_document(list[Raw]),
        read=read,
        sidecars=lambda log: [log.with_name(name) for name in (HISTORY, METADATA, ITEM) if name != log.name],
        owner=lambda changed: _log_of(changed) if changed.name in {HISTORY, METADATA, ITEM} else None,
    )


def is_log(path: Path) -> bool:
    """Whether a file is a task's log. The history is the log if there is no other."""
    return path.name == LOG or not path.with_name(LOG).exists()


def _log_of(path: Path) -> Path:
    history = path.with_name(HISTORY)
    return history if is_log(history) else path.with_name(LOG)


def agent_of(head: Head) -> str | None:
    """The agent of a task, or None: by its folder, elsewhere by the fields that only Cline writes."""
    items = head.values[0] if head.values and isinstance(head.values[0], list) else []
    entries = [entry for entry in items[:40] if isinstance(entry, dict)]
    by_folder = (agent for agent, folders in FOLDERS.items() if folders & set(head.path.parts))
    if is_conversation(entries):
        return next(by_folder, "roo-code" if ROO_HEADING in as_text(entries[:2]) else "cline")
    if not any("ts" in entry and entry.get("type") in ("ask", "say") and entry["type"] in entry for entry in entries):
        return None
    is_cline = entries[0].get("say") == "task" or any(CLINE_FIELDS & entry.keys() for entry in entries)
    return next(by_folder, "cline" if is_cline else "roo-code")


def read(path: Path, raws: list[Raw]) -> Iterable[Entry]:
    if any(message is not None and isinstance(message.role, str) for _, message, _ in decode_each(raws[:1], ModelMessage)):
        yield from _read_history(path, raws)
        return
    entries = _last_versions(raws)
    task = Task(_session(path, entries))
    history = read_sidecar(path.with_name(HISTORY), list[ModelMessage]) or []
    yield _session_metadata(path, task.session, _folder(entries, history))
    task.exact = match_calls(calls_of(entries), history)
    task.answers = answers_of(entries)
    task.models = _models(path, model_in(history))
    for entry in entries:
        yield from _entry(task, entry)
    yield from _end_of_request(task)


def _read_history(path: Path, raws: list[Raw]) -> Iterator[Entry]:
    """The entries of a task that has only the messages to and from the model."""
    task = Task(path.parent.name if path.name == HISTORY else path.stem)
    history = [message or ModelMessage(role="unknown", content=raw) for _, message, raw in decode_each(raws, ModelMessage)]
    yield _session_metadata(path, task.session, folder_in(first_text(history)))
    task.models = _models(path, model_in(history))
    yield from read_conversation(task, history, parse_time(task.session))  # Cline names a task by its start time


def _session_metadata(path: Path, session: str, folder: str | None) -> SessionMetadata:
    item = read_sidecar(path.with_name(ITEM), Item) or Item()
    return SessionMetadata(
        session=session,
        title=item.title,
        title_rank=TitleRank.GENERATED,
        parent=item.parent_task_id,
        cwd=item.workspace or folder,
    )


def _session(path: Path, entries: list[NumberedMessage]) -> str:
    """The task's id: its folder's name; elsewhere the file's first time, which is how Cline names tasks."""
    if path.parent.parent.name == "tasks":
        return path.parent.name
    return next((as_text(entry.message.ts) for entry in entries if entry.message and entry.message.ts), path.parent.name)


def _last_versions(raws: list[Raw]) -> list[NumberedMessage]:
    """The last version of each entry."""
    last: dict[Any, NumberedMessage] = {}
    for place, message, raw in decode_each(raws, Message):
        key = (as_text(message.ts), message.name()) if message and message.ts else place
        last[key] = NumberedMessage(last[key].place if key in last else place, message, raw)
    entries = list(last.values())
    return [entry for entry, after in zip_longest(entries, entries[1:]) if not _is_restarted(entry, after)]


def _is_restarted(entry: NumberedMessage, after: NumberedMessage | None) -> bool:
    """Whether the next entry is the complete version of an unfinished one."""
    before, complete = entry.message, after.message if after else None
    if before is None or complete is None or not before.partial or before.name() != complete.name():
        return False
    return (
        topic_of(before) == topic_of(complete)
        if before.name() in CALLS
        else complete.text_without_marks().startswith(before.text_without_marks())
    )


def _folder(entries: list[NumberedMessage], history: list[ModelMessage]) -> str | None:
    messages = (entry.message for entry in entries if entry.message)
    requests = (as_text(message.json().get("request")) for message in messages if message.name() == "api_req_started")
    return folder_in(next(requests, "")) or folder_in(first_text(history))


def _models(path: Path, default: str | None) -> list[tuple[int, str]]:
    """(start time, model), for entries that do not name their model."""
    uses = (read_sidecar(path.with_name(METADATA), Metadata) or Metadata()).model_usage
    models = [(parse_time(use.ts) or 0, use.model_id) for use in uses if isinstance(use.model_id, str)]
    return sorted(models) or ([(0, default)] if default else [])


# ---- entries


def _entry(task: Task, entry: NumberedMessage) -> Iterator[Entry]:
    message, place = entry.message, entry.place
    if message is None or not message.name():
        yield RecordBuilder(session=task.session, key=f"{task.session}@{place}", line=place).unknown(entry.raw)
        return
    name = message.name()
    key = f"{task.session}/{as_text(message.ts)}/{name}" if message.ts else f"{task.session}@{place}"
    if name in AFTER_A_REQUEST:
        yield from _end_of_request(task)
    builder = RecordBuilder(session=task.session, key=key, at=parse_time(message.ts), line=place, usage=task.usage)
    builder.model = _model(task, message)
    records = list(_read(task, builder, message, entry))
    cut = list(_cut(task, builder, message))
    yield from [*records, *cut] if name == "user_feedback" else [*cut, *records]  # entries after a prompt belong to its turn
    if not records:
        yield Ignored(name)
    if name not in REQUESTS:
        task.usage = builder.usage
    task.now = builder.at or task.now


def _model(task: Task, message: Message) -> str | None:
    info = message.model_info
    if isinstance(info, dict) and isinstance(info.get("modelId"), str):
        return str(info["modelId"])
    return task.model_at(parse_time(message.ts) or 0)


def _read(task: Task, builder: RecordBuilder, message: Message, entry: NumberedMessage) -> Iterator[Record]:
    name = message.name()
    if name == "text" and entry.place == 1:
        yield from prompt(task, builder, message)
    elif name in SPEECH:
        yield from SPEECH[name](task, builder, message)
    elif name in CALLS:
        yield from call(task, entry.place, builder, message)
    elif name in ANSWERS:
        yield from answer(task, builder, message)
    elif name in REQUESTS:
        _request(task, builder, message)
    elif name in ERRORS | NOTICES:
        task.waiting = task.waiting or name in RESUMED
        yield builder.record(Kind.RUNTIME, reason(message.text_without_marks()) or plain(name), failed=name in ERRORS)
    elif name not in BOOKKEEPING:
        yield builder.unknown(entry.raw)


def _cut(task: Task, builder: RecordBuilder, message: Message) -> Iterator[Record]:
    """Reads a compaction: every entry repeats the range of messages that are cut off; a new range is a new compaction."""
    cut = message.deleted
    if isinstance(cut, list) and len(cut) == 2 and cut != task.deleted:
        task.deleted = cut
        key, at = f"{builder.key}/cut", parse_time(message.ts)
        cut_builder = RecordBuilder(session=task.session, key=key, at=at, line=builder.line)
        text = f"Messages {as_text(cut[0])} to {as_text(cut[1])} are no longer sent to the model."
        yield cut_builder.record(Kind.COMPACTION, text)


# ---- requests to the model


def _request(task: Task, builder: RecordBuilder, message: Message) -> None:
    fields = message.json()
    if usage := _usage(fields):
        task.usage = (task.usage or Usage()) + usage
    if message.name() != "api_req_started":
        return
    task.waiting = task.completed = False
    stop = CANCELLED.get(as_text(fields.get("cancelReason")))
    if stop is not None:
        text = reason(text_of(fields.get("streamingFailedMessage"))) or plain(as_text(fields["cancelReason"]))
        task.cancelled = builder.record(Kind.RUNTIME, text, stop=stop, failed=stop is Stop.CRASH)


def _usage(counts: dict[str, Any]) -> Usage | None:
    """The tokens of a request. With OpenAI's protocol, input includes cached tokens."""
    read, written = as_count(counts.get("cacheReads")), as_count(counts.get("cacheWrites"))
    tokens_in, tokens_out = as_count(counts.get("tokensIn")), as_count(counts.get("tokensOut"))
    if not (read or written or tokens_in or tokens_out):
        return with_cost(None, counts.get("cost"))
    if counts.get("apiProtocol") == "openai":
        tokens_in = max(tokens_in - read - written, 0)
    usage = Usage(input=tokens_in, output=tokens_out, cache_read=read, cache_write=written)
    return with_cost(usage, counts.get("cost"))


def _end_of_request(task: Task) -> Iterator[Record]:
    if task.cancelled is not None:
        task.waiting = True
        task.cancelled.at, task.cancelled.usage, task.usage = task.now, task.usage, None
        yield task.cancelled
        task.cancelled = None

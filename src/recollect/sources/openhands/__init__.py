"""OpenHands keeps one folder per conversation, ~/.openhands/conversations/<id>/ (before 1.0: ~/.openhands/sessions/<id>/).

Evidence: 289 real sessions of 2024 and 2025 in the form before 1.0, in 11 files; published runs of 1.16; the published
structure of the folders.
In such a folder every event is a small file, `events/<number>.json` or `events/event-<number>-<id>.json`. Next to them,
`base_state.json` has the model, the workspace and the tokens of every call; before 1.0, `metadata.json` has the title. An
exported conversation is one list of its events. An evaluation has one line of JSON per task, with the events in `history`:
in 2024 as pairs of an action and its observation, later as a list. Times have no zone.
A file may also have the saved output of `openhands --headless --json`: one event per line, between texts for the terminal.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw, Struct

from recollect.model import Entry, Ignored, Kind, Problem, SessionMetadata, Stop, TitleRank, Usage
from recollect.sources.formats.container import Line, Unreadable, WrongShape
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import user_home
from recollect.sources.formats.json import decode_or_none, json_document, read_content, read_sidecar, read_text
from recollect.sources.formats.jsonl import json_lines
from recollect.sources.formats.message import RecordBuilder, text_of
from recollect.sources.formats.source import Document, Source
from recollect.sources.formats.usage import litellm_usage, with_session_cost
from recollect.sources.formats.values import as_object, as_text, parse_time
from recollect.sources.openhands.actions import act_entries
from recollect.sources.openhands.events import event_entries
from recollect.sources.openhands.progress import SessionProgress

STATE, FIRST, METADATA = "base_state.json", "0.json", "metadata.json"
EVENT_FILE = re.compile(r"(?:event-)?(\d+)(?:-.*)?\.json")
CONVERSATION = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
LIMIT = "maximum iteration"
MODEL = re.compile(r"^. Agent initialized with model: (\S+)$", re.MULTILINE)


class Event(Struct):
    """The fields that events have in both forms."""

    id: Any = None
    timestamp: Any = None
    kind: Any = None


class Metadata(Struct):
    title: str | None = None


class State(Struct):
    agent: Any = None
    workspace: Any = None
    stats: Any = None


class Row(Struct):
    """One task of an evaluation."""

    history: list[Raw] = []
    instance_id: Any = None
    id: Any = None
    question_id: Any = None
    issue: Any = None
    metadata: Any = None
    metrics: Any = None
    error: Any = None


def homes(env: Mapping[str, str]) -> list[Path]:
    root = Path(env["OPENHANDS_PERSISTENCE_DIR"]) if env.get("OPENHANDS_PERSISTENCE_DIR") else user_home(env) / ".openhands"
    conversations = env.get("OPENHANDS_CONVERSATIONS_DIR")
    return [Path(conversations) if conversations else root / "conversations", root / "sessions"]


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("kind"), str):
        return "source" in value and "timestamp" in value and "id" in value
    is_act = isinstance(value.get("action"), str) or isinstance(value.get("observation"), str)
    return is_act and not {"role", "type", "step_id"} & value.keys()


def is_state(head: Head) -> bool:
    first = head.first()
    is_state = isinstance(first.get("agent"), dict) and isinstance(first.get("workspace"), dict)
    return is_state or (len(head.values) == 1 and "kind" in first and _is_event(first))


def is_act_file(head: Head) -> bool:
    return len(head.values) == 1 and _is_event(head.first()) and {"id", "timestamp", "source"} <= head.first().keys()


def is_export(head: Head) -> bool:
    match head.values:
        case [[first, *_]]:
            return _is_event(first)
    return False


def is_evaluation(head: Head) -> bool:
    match head.first().get("history"):
        case [[first, *_], *_] | [first, *_]:
            return _is_event(first)
    return False


def is_printed(head: Head) -> bool:
    values = (decode_or_none(line, dict[str, Any]) for line in head.text.split("\n") if line.startswith("{"))
    return any(_is_event(value) and str(value.get("kind")).endswith("Event") for value in values if value)


# ---- folders


def event_files(log: Path) -> list[Path]:
    """The event files of a conversation in order, given its log: the file that represents the conversation."""
    folder = log.parent if log.name == FIRST else log.parent / "events"
    try:
        files = [(EVENT_FILE.fullmatch(path.name), path) for path in folder.iterdir()]
    except OSError:
        return []
    return [path for _, path in sorted((int(name[1]), path) for name, path in files if name)]


def all_files(log: Path) -> list[Path]:
    return [*event_files(log), *([log.parent.parent / METADATA] if log.name == FIRST else [])]


def owner(name: str) -> Callable[[Path], Path | None]:
    """A function that maps an event file to its conversation's log."""

    def log_of(path: Path) -> Path | None:
        folder = path.parent.parent if path.parent.name == "events" else path.parent
        log = folder / "events" / FIRST if name == FIRST else folder / STATE
        is_part = path.name == METADATA or (path.parent.name == "events" and EVENT_FILE.fullmatch(path.name))
        return log if is_part and log.is_file() else None

    return log_of


def read_folder(path: Path, state: State) -> Iterable[Entry]:
    session = path.parent.name
    yield SessionMetadata(
        session=session, cwd=_within(state.workspace, "working_dir"), model=_within(state.agent, "llm", "model")
    )
    entries = _read_event_files(path, session, SessionProgress(usages=_usages(state.stats)))
    yield from with_session_cost(entries, _cost(state.stats))


def read_older_folder(path: Path, _: Any) -> Iterable[Entry]:
    session = path.parent.parent.name
    metadata = read_sidecar(path.parent.parent / METADATA, Metadata)
    if metadata and metadata.title:
        yield SessionMetadata(session=session, title=metadata.title, title_rank=TitleRank.GENERATED)
    yield from _read_event_files(path, session, SessionProgress())


def _read_event_files(log: Path, session: str, progress: SessionProgress) -> Iterator[Entry]:
    for place, path in enumerate(event_files(log), 1):
        try:
            raw = read_content(path)
        except (OSError, Unreadable):
            continue
        if decode_or_none(raw, Raw) is None:
            yield Problem(log, place, "an event is not JSON, or incomplete", path.name)
        else:
            yield from _entries(session, place, raw.decode("utf-8", "replace"), progress)


# ---- files


def read_export(path: Path, raws: list[Raw]) -> Iterable[Entry]:
    id_in_name = CONVERSATION.search(path.stem)
    session = id_in_name[0] if id_in_name else f"{path.parent.name}/{path.stem}"
    progress = SessionProgress()
    for place, raw in enumerate(raws, 1):
        yield from _entries(session, place, bytes(raw).decode("utf-8", "replace"), progress)


def read_printed(path: Path, content: str) -> Iterable[Entry]:
    """Reads the saved output of a run. It has the conversation's id only at the end, so its first event identifies it."""
    events = (decode_or_none(line, Event) for line in content.split("\n") if line.startswith("{"))
    session = next((text_of(event.id) for event in events if event and event.id), path.stem)
    model = MODEL.search(content)
    yield SessionMetadata(session=session, model=model[1] if model else None)
    progress = SessionProgress()
    for place, line in enumerate(content.split("\n"), 1):
        if not line.startswith("{"):
            yield Ignored("words for the terminal")
        elif decode_or_none(line, Raw) is None:
            yield Problem(path, place, "an event is not JSON, or incomplete", line[:100])
        else:
            yield from _entries(session, place, line, progress)


def read_evaluation(path: Path, lines: list[Line | Problem]) -> Iterable[Entry]:
    names = Counter[str]()
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        row = Row() if isinstance(line.value, WrongShape) else line.value
        name = _name(row) or f"@{line.number}"
        names[name] += 1
        run = f"{path.parent.name}/{path.stem}/{name}"
        yield from _row(run if names[name] == 1 else f"{run}#{names[name]}", row)


def _name(row: Row) -> str:
    """The name of a task in its run."""
    issue = _within(row.issue, "number")
    return next((text_of(name) for name in (row.instance_id, row.id, row.question_id, issue) if name is not None), "")


def _row(session: str, row: Row) -> Iterator[Entry]:
    model = _within(row.metadata, "llm_config", "model") or _within(row.metadata, "model_name")
    title = _within(row.issue, "title") or text_of(row.instance_id)
    yield SessionMetadata(session=session, model=model, title=title or None, title_rank=TitleRank.SUMMARY)
    progress = SessionProgress(is_evaluation=True)
    read = (
        entry
        for place, raw in enumerate(_flat(row.history), 1)
        for entry in _entries(session, place, bytes(raw).decode("utf-8", "replace"), progress)
    )
    yield from with_session_cost(read, as_object(row.metrics).get("accumulated_cost"))
    if error := text_of(row.error):
        builder = RecordBuilder(session=session, key=f"{session}/error")
        yield builder.record(Kind.RUNTIME, error, stop=Stop.OTHER if LIMIT in error else Stop.CRASH, failed=True)


def _flat(history: list[Raw]) -> Iterator[Raw]:
    for item in history:
        pair = decode_or_none(item, list[Raw])
        yield from [item] if pair is None else pair


# ---- events


def _entries(session: str, place: int, raw: str, progress: SessionProgress) -> Iterator[Entry]:
    event = decode_or_none(raw, Event)
    if event is None:
        yield RecordBuilder(session=session, key=f"{session}@{place}", line=place).unknown(raw)
        return
    key = f"{session}@{place}" if event.id is None else f"{session}/{text_of(event.id)}"
    builder = RecordBuilder(session=session, key=key, line=place, at=parse_time(event.timestamp))
    yield from (event_entries if isinstance(event.kind, str) else act_entries)(builder, raw, progress)


def _usages(stats: Any) -> dict[str, Usage | None]:
    """The tokens of every provider's answer, by the answer's id."""
    metrics = stats.get("usage_to_metrics") if isinstance(stats, dict) else None
    usages: dict[str, Usage | None] = {}
    for metric in metrics.values() if isinstance(metrics, dict) else []:
        counts = metric.get("token_usages") if isinstance(metric, dict) else None
        for count in counts if isinstance(counts, list) else []:
            if isinstance(count, dict):
                usages[as_text(count.get("response_id"))] = litellm_usage(count)
    return usages


def _cost(stats: Any) -> float:
    """What all models of a session cost, in dollars."""
    metrics = as_object(as_object(stats).get("usage_to_metrics")).values()
    costs = [as_object(metric).get("accumulated_cost") for metric in metrics]
    return sum(cost for cost in costs if isinstance(cost, int | float))


def _within(value: Any, *names: str) -> str | None:
    """The text or number at this path of nested objects."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return as_text(value) if isinstance(value, str | int) else None


SOURCE = Source(
    name="openhands",
    title="OpenHands",
    formats=(
        Document(
            homes=homes,
            endings=(STATE,),
            recognises=is_state,
            load=json_document(State),
            read=read_folder,
            sidecars=all_files,
            owner=owner(STATE),
        ),
        Document(
            homes=homes,
            endings=(FIRST,),
            is_log=lambda path: path.name == FIRST and path.parent.name == "events",
            recognises=is_act_file,
            load=json_document(Raw),
            read=read_older_folder,
            sidecars=all_files,
            owner=owner(FIRST),
        ),
        Document(endings=(".json",), recognises=is_export, load=json_document(list[Raw]), read=read_export),
        Document(endings=(".jsonl",), recognises=is_evaluation, load=json_lines(Row), read=read_evaluation),
        Document(endings=(".jsonl",), recognises=is_printed, load=read_text, read=read_printed),
    ),
    real_sessions=289,
)

"""OpenCode keeps its sessions in ~/.local/share/opencode, on every system: in a database, before 1.2 in many small files.

Evidence: 40 real exports of 1.18 and one of them in six successive states; published samples of the files; the published
schema of the database.
The same objects, with the same ids, have three forms: rows of `opencode.db`; files below `storage/`
(`session/<project>/<session>.json`, `message/<session>/<message>.json`, `part/<message>/<part>.json`); and the output of
`opencode export`. Parts change in place: a tool's result is added to its call.
An assistant message is one API answer, in old versions several: its steps mark where each begins and ends. Texts that
OpenCode itself writes in the user's role are marked `synthetic`. A sub-agent is a session with a parent. The parent's `task`
call names the sub-agent's session.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Raw, Struct, field

from recollect.model import Entry, Ignored, SessionMetadata, TitleRank
from recollect.sources.formats.container import Unreadable
from recollect.sources.formats.head import Head
from recollect.sources.formats.homes import data_home
from recollect.sources.formats.json import decode_or_none, json_document, read_content, read_sidecar
from recollect.sources.formats.source import Database, Document, Source
from recollect.sources.formats.sqlite import query, select, select_one
from recollect.sources.formats.values import as_text
from recollect.sources.opencode.messages import StoredMessage, read_message

UNTITLED = re.compile(r"(New|Child) session - \d{4}-")
IS_NAME = re.compile(r"[\w.-]{1,100}")
LIVE_MESSAGES = 5  # of a session in files: only its last few messages may still change
SESSIONS = """
    SELECT id, title, time_updated,
           (SELECT count(*) FROM message WHERE session_id = session.id),
           (SELECT count(*) FROM part WHERE session_id = session.id),
           -- Messages and parts change in place only in sessions that were active within the last day.
           CASE WHEN time_updated >= (SELECT max(time_updated) FROM session) - 86400000
                THEN (SELECT max(time_updated) FROM message WHERE session_id = session.id) END,
           CASE WHEN time_updated >= (SELECT max(time_updated) FROM session) - 86400000
                THEN (SELECT max(time_updated) FROM part WHERE session_id = session.id) END
      FROM session"""


class Info(Struct):
    """A session; or one of its messages or parts, which have other fields too."""

    id: str | None = None
    parent: str | None = field(default=None, name="parentID")
    title: str | None = None
    directory: str | None = None
    session: str | None = field(default=None, name="sessionID")


class Exchange(Struct):
    info: Raw = Raw()
    parts: list[Raw] = []


class Export(Struct):
    info: Info
    messages: list[Raw] = []


# ---- the three forms of a session


def read_export(path: Path, export: Export) -> Iterator[Entry]:
    yield from _session(export.info, export.info.id or path.stem, map(_exchange, export.messages))


def _exchange(raw: Raw) -> StoredMessage:
    exchange = decode_or_none(raw, Exchange)
    if exchange is None:
        return StoredMessage(_text(raw), [])
    return StoredMessage(_text(exchange.info), [(None, _text(part)) for part in exchange.parts])


def read_files(path: Path, info: Info) -> Iterator[Entry]:
    if info.session is not None:
        yield Ignored("part of a session that is not there")
        return
    session = info.id or path.stem
    yield from _session(info, session, _messages(path.parents[2], _file_name(info, path)))


def _messages(storage: Path, session: str) -> Iterator[StoredMessage]:
    for path, message in _each_file(storage / "message" / session):
        name = _file_name(decode_or_none(message, Info), path)
        parts: list[tuple[str | None, str]] = [(part.stem, text) for part, text in _each_file(storage / "part" / name)]
        yield StoredMessage(message, parts, path.stem)


def _file_name(info: Info | None, path: Path) -> str:
    """The name of the folder with a file's messages or parts: the id in the file, else the file's name."""
    return info.id if info and info.id and IS_NAME.fullmatch(info.id) else path.stem


def _each_file(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.glob("*.json")):
        try:
            yield path, read_content(path).decode("utf-8", "replace")
        except (OSError, Unreadable):
            continue  # deleted meanwhile, or too large


def live_files(session: Path) -> list[Path]:
    """The files of a session that may still change or be new."""
    storage = session.parents[2]
    messages = sorted((storage / "message" / session.stem).glob("*.json"))[-LIVE_MESSAGES:]
    return [*messages, *(part for message in messages for part in (storage / "part" / message.stem).glob("*.json"))]


def session_of_file(path: Path) -> Path | None:
    """The file of the session that a message or a part belongs to."""
    info = read_sidecar(path, Info) if path.suffix == ".json" and path.parent.parent.name in {"message", "part"} else None
    if info is None or not IS_NAME.fullmatch(info.session or ""):
        return None
    return next((path.parents[2] / "session").glob(f"*/{info.session}.json"), None)


def read_database(path: Path, db: sqlite3.Connection, session: str) -> Iterator[Entry]:
    parts: dict[str, list[tuple[str | None, str]]] = {}
    for row in select(db, "part", ("id", "message_id", "data"), "WHERE session_id = ? ORDER BY id", (session,)):
        parts.setdefault(str(row["message_id"]), []).append((str(row["id"]), as_text(row["data"])))
    messages = select(db, "message", ("id", "data"), "WHERE session_id = ? ORDER BY time_created, id", (session,))
    stored = (StoredMessage(as_text(row["data"]), parts.get(str(row["id"]), []), str(row["id"])) for row in messages)
    row = select_one(db, "session", ("parent_id", "title", "directory"), session)
    parent, title, directory = (as_text(value) or None for value in row.values())
    yield from _session(Info(parent=parent, title=title, directory=directory), session, stored)


def _text(raw: Raw) -> str:
    return bytes(raw).decode("utf-8", "replace")


def _session(info: Info, session: str, messages: Iterable[StoredMessage]) -> Iterator[Entry]:
    title = None if UNTITLED.match(info.title or "") else info.title
    yield SessionMetadata(
        session=session, title=title, title_rank=TitleRank.GENERATED, parent=info.parent, cwd=info.directory or None
    )
    for line, stored in enumerate(messages, 1):
        yield from read_message(stored, session, line)


# ---- homes


def storage(env: Mapping[str, str]) -> list[Path]:
    """The folder with the session files only: there are many more files with messages and parts."""
    return [data_home(env) / "opencode/storage/session"]


def databases(env: Mapping[str, str]) -> list[Path]:
    database = Path(env.get("OPENCODE_DB") or "")
    return [data_home(env) / "opencode", *([database.parent] if database.is_absolute() else [])]


def is_export(head: Head) -> bool:
    info = head.first().get("info")
    return isinstance(info, dict) and "id" in info and "directory" in info and "messages" in head.first()


def is_file(head: Head) -> bool:
    first = head.first()
    is_session = "projectID" in first and "time" in first and "title" in first
    is_message = "sessionID" in first and first.get("role") in {"user", "assistant"}
    return is_session or is_message or {"sessionID", "messageID", "type"} <= first.keys()


SOURCE = Source(
    name="opencode",
    title="OpenCode",
    formats=(
        Document(
            homes=storage,
            endings=(".json",),
            is_log=lambda path: path.parent.parent.name == "session",
            recognises=is_file,
            load=json_document(Info),
            read=read_files,
            sidecars=live_files,
            owner=session_of_file,
        ),
        Document(endings=(".json",), recognises=is_export, load=json_document(Export), read=read_export),
        Database(
            homes=databases,
            endings=(".db",),
            is_log=lambda path: path.name.startswith("opencode"),
            recursive=False,
            recognises=lambda head: {"session", "message", "part"} <= head.tables,
            sessions=query(SESSIONS),
            read=read_database,
        ),
    ),
    real_sessions=40,
)

"""The memory of a realm: observations, in a database beside the archive.

Several processes write it: the one that distils, and every agent that records an observation. Each write is one short
transaction.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from recollect.model import Observation, derived_id
from recollect.store.annotations import Annotations
from recollect.store.journaled import RULES
from recollect.store.observation_filters import ObservationFilters, normalise_path, observation_condition
from recollect.store.reviews import Reviews
from recollect.store.sqlite.database import MAX_PARAMETERS
from recollect.store.sqlite.event_cells import as_json

AGENT = "agent"
DISTILLED = "distilled"  # the meta row with the state of the last complete distillation
FAULT = "embedding_fault"  # the meta row with the reason why vectors are missing
ID_BYTES = 8
EVENT_BYTES = 16
WEIGHTS = (6.0, 3.0, 2.0, 0.5)  # of a word in the title, the facts, the narrative, and the other text of its turn


class ObservedPlace(Struct, frozen=True, kw_only=True):
    """The origin of observations: a turn, and the lines of the log that it was read from."""

    session: bytes
    turn: int
    project: str | None
    path: str
    first_line: int
    last_line: int
    estimated: bool = False  # its times are the date of the log file


class ObservationWords(Struct, frozen=True):
    """The words of an observation, stemmed as in the text index and separated by spaces."""

    title: str
    facts: str
    narrative: str
    around: str


class ObservationRow(Struct, kw_only=True):
    key: int
    id: bytes
    session: bytes
    turn: int
    made_by: str
    type: str
    at: int
    project: str | None
    path: str
    first_line: int
    last_line: int
    estimated: bool
    title: str
    subtitle: str
    narrative: str
    facts: list[str]
    concepts: list[str]
    files_read: list[str]
    files_modified: list[str]
    evidence: list[bytes]


FIELDS = ObservationRow.__struct_fields__
COLUMNS = "observation." + ", observation.".join(FIELDS)
LIST_FIELDS = ("facts", "concepts", "files_read", "files_modified")


def observation_id(place: ObservedPlace, observation: Observation, made_by: str) -> bytes:
    """The id of an observation. It stays the same if only the words of the observation change."""
    parts = (place.session.hex(), str(place.turn), made_by, observation.type, observation.evidence[0].hex())
    title = () if made_by == RULES else (observation.title,)
    return derived_id("observation", *parts, *title)[:ID_BYTES]


class Memory(Annotations, Reviews):
    """The memory opened by one thread."""

    def index_observations(self, keys: list[int]) -> None:
        for row in self.by_keys(keys).values():
            self._tag(row.key, row)

    # ---- observations by the rules

    def observed_turns(self, session: bytes) -> dict[int, int]:
        """The turns of a session that the rules have read, with the marks of that moment."""
        return dict(self._rows("SELECT turn, mark FROM observed_turn WHERE session = ?", (session,)))

    def remembered_sessions(self) -> set[bytes]:
        """The ids of all sessions that the memory has data about."""
        summarised = "SELECT session FROM member WHERE summary <> ''"
        known = self._rows(f"SELECT session FROM observed_session UNION SELECT session FROM observation UNION {summarised}")
        return {session for (session,) in known}

    def observed_sessions(self) -> dict[bytes, int]:
        """The sessions that the rules have read, with the marks of that moment."""
        return dict(self._rows("SELECT session, mark FROM observed_session"))

    def put_observed_session(self, session: bytes, mark: int) -> None:
        self.db.execute("INSERT OR REPLACE INTO observed_session VALUES (?, ?)", (session, mark))

    def put_turn_observations(
        self, place: ObservedPlace, mark: int, observations: Sequence[tuple[Observation, ObservationWords]]
    ) -> None:
        """Replace the rules' observations of a turn. Unchanged observations keep their keys."""
        new: dict[bytes, tuple[Observation, ObservationWords]] = {}
        for observation, words in observations:
            new.setdefault(observation_id(place, observation, RULES), (observation, words))
        stored = {row.id: row for row in self.observations_of_turn(place) if row.made_by == RULES}
        for identity in new.keys() & self.finally_reviewed(place.session):
            del new[identity]
        for identity, row in stored.items():
            if identity not in new or not _is_same(row, new[identity][0], place):
                self._remove([row.key])
            else:
                del new[identity]
        for identity, (observation, words) in new.items():
            self._insert(identity, place, RULES, observation, words)
        self.db.execute("INSERT OR REPLACE INTO observed_turn VALUES (?, ?, ?)", (place.session, place.turn, mark))

    def record(self, place: ObservedPlace, made_by: str, observation: Observation, words: ObservationWords) -> bytes:
        """Store an observation of an agent or a model. Returns its id. One with the same id is replaced."""
        identity = observation_id(place, observation, made_by)
        self._remove([key for (key,) in self._rows("SELECT key FROM observation WHERE id = ?", (identity,))])
        self._insert(identity, place, made_by, observation, words)
        self.journal("observation", identity)
        return identity

    def remove_observation(self, row: ObservationRow) -> None:
        """Remove an observation. Its review says why."""
        self._remove([row.key])
        self.rewrite_journal()

    def restore_observation(self, row: ObservationRow, words: ObservationWords) -> None:
        """Store an observation with its id, in place of the one with the same id."""
        self._remove([key for (key,) in self._rows("SELECT key FROM observation WHERE id = ?", (row.id,))])
        values = {name: getattr(row, name) for name in Observation.__struct_fields__}
        lists = {name: tuple(values[name]) for name in (*LIST_FIELDS, "evidence")}
        place = ObservedPlace(**{name: getattr(row, name) for name in ObservedPlace.__struct_fields__})
        self._insert(row.id, place, row.made_by, Observation(**{**values, **lists}), words)
        self.journal("observation", row.id)

    def observations_of_turn(self, place: ObservedPlace) -> list[ObservationRow]:
        """All observations of a turn, by any author."""
        rows = self._rows(f"SELECT {COLUMNS} FROM observation WHERE session = ? AND turn = ?", (place.session, place.turn))
        return [_row(row) for row in rows]

    def _insert(
        self, identity: bytes, place: ObservedPlace, made_by: str, observation: Observation, words: ObservationWords
    ) -> None:
        values = {
            "id": identity,
            **msgspec.structs.asdict(place),
            "made_by": made_by,
            **msgspec.structs.asdict(observation),
            **{name: as_json(getattr(observation, name)) for name in LIST_FIELDS},
            "evidence": b"".join(observation.evidence),
        }
        names = [name for name in FIELDS if name != "key"]
        (key,) = self.db.execute(
            f"INSERT INTO observation ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)}) RETURNING key",
            values,
        ).fetchone()
        self.db.execute(
            "INSERT INTO observation_text (rowid, title, facts, narrative, around) VALUES (?, ?, ?, ?, ?)",
            (key, *msgspec.structs.astuple(words)),
        )
        self._tag(key, observation)

    def _tag(self, key: int, observation: Observation | ObservationRow) -> None:
        self.db.executemany("INSERT OR IGNORE INTO tag VALUES (?, ?, ?, ?)", [(*tag, key) for tag in _tags(observation)])

    def _remove(self, keys: Iterable[int]) -> None:
        for key in keys:
            self.db.execute("DELETE FROM observation WHERE key = ?", (key,))
            self.db.execute("DELETE FROM observation_text WHERE rowid = ?", (key,))
            self.db.execute("DELETE FROM tag WHERE observation = ?", (key,))

    def forget_turns(self, session: bytes, turns: Iterable[int]) -> None:
        """Remove the observations of turns that no longer exist, because an observation needs its evidence."""
        for turn in turns:
            self._forget("session = ? AND turn = ?", (session, turn))
            self.db.execute("DELETE FROM observed_turn WHERE session = ? AND turn = ?", (session, turn))

    def forget_session(self, session: bytes, *, for_good: bool) -> None:
        """Remove the rules' observations of a session that no longer exists. With `for_good`, remove all data about it."""
        self._forget("session = ?" if for_good else f"session = ? AND made_by = '{RULES}'", (session,))
        for table in ("observed_turn", "observed_session"):
            self.db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        if for_good:
            self.db.execute("DELETE FROM extracted WHERE session = ?", (session,))
            self._forget_summary(session)
            self.forget_annotations(session)
            self.forget_reviews(session)
            self.rewrite_journal()

    def _forget(self, where: str, values: Sequence[Any]) -> None:
        rows = self._rows(f"SELECT key, made_by FROM observation WHERE {where}", values)
        self._remove(key for key, _ in rows)
        if any(made_by != RULES for _, made_by in rows):
            self.rewrite_journal()

    def _forget_summary(self, session: bytes) -> None:
        """Remove the summary of a session. The session stays in its journey, and is shown again if it comes back."""
        self.db.execute("DELETE FROM summary_text WHERE rowid IN (SELECT key FROM member WHERE session = ?)", (session,))
        self.db.execute(
            """
            UPDATE member
               SET started_at = NULL, mark = NULL, summary = '', own = 0, diagnosed = NULL, diagnosis = NULL
             WHERE session = ?""",
            (session,),
        )

    def mark_all_stale(self) -> None:
        """Let the rules read every turn again, because they changed. Their observations stay until then."""
        with self.transaction():
            self.db.execute("UPDATE observed_turn SET mark = -1")
            self.db.execute("DELETE FROM observed_session")

    # ---- observations by a model

    def extracted_turns(self, model: str) -> dict[tuple[bytes, int], int]:
        """The turns that a model has read, with the marks of that moment."""
        rows = self._rows("SELECT session, turn, mark FROM extracted WHERE model = ?", (model,))
        return {(session, turn): mark for session, turn, mark in rows}

    def forget_model_observations(self, place: ObservedPlace, made_by: str) -> None:
        """Remove a model's observations of a turn before it reads the turn again. A client may add to the model's name."""
        rows = [
            row
            for row in self.observations_of_turn(place)
            if row.made_by == made_by or row.made_by.startswith(f"{made_by} (")
        ]
        self._remove(row.key for row in rows)
        if rows:
            self.rewrite_journal()

    def put_extracted_turn(self, place: ObservedPlace, mark: int, model: str, tokens: int) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO extracted VALUES (?, ?, ?, ?, ?)", (place.session, place.turn, mark, model, tokens)
        )
        self.journal("extracted", place.session, place.turn, model)

    # ---- queries

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM observation")[0][0])

    def last_key(self) -> int:
        rows = self._rows("SELECT seq FROM sqlite_sequence WHERE name = 'observation'")
        return rows[0][0] if rows else 0

    def by_ids(self, ids: Sequence[bytes]) -> dict[bytes, ObservationRow]:
        return {row.id: row for row in self._in("id", ids)}

    def by_keys(self, keys: Sequence[int]) -> dict[int, ObservationRow]:
        return {row.key: row for row in self._in("key", keys)}

    def _in(self, column: str, values: Sequence[Any], types: Sequence[str] = ()) -> list[ObservationRow]:
        rows: list[Any] = []
        type_condition = f"AND type IN ({','.join('?' * len(types))})" if types else ""
        for start in range(0, len(values), MAX_PARAMETERS):
            part = values[start : start + MAX_PARAMETERS]
            where = f"{column} IN ({','.join('?' * len(part))}) {type_condition}"
            rows += self._rows(f"SELECT {COLUMNS} FROM observation WHERE {where}", [*part, *types])
        return [_row(row) for row in rows]

    def observations_above(self, key: int, limit: int) -> list[ObservationRow]:
        """Observations above a key, by key."""
        rows = self._rows(f"SELECT {COLUMNS} FROM observation WHERE key > ? ORDER BY key LIMIT ?", (key, limit))
        return [_row(row) for row in rows]

    def all_keys(self) -> list[int]:
        return [key for (key,) in self._rows("SELECT key FROM observation")]

    def keys(self, filters: ObservationFilters) -> list[int]:
        """The keys of all observations that match the filters."""
        where, values = observation_condition(filters)
        return [key for (key,) in self._rows(f"SELECT key FROM observation WHERE {where} ORDER BY key", values)]

    def newest(self, filters: ObservationFilters, limit: int) -> list[ObservationRow]:
        where, values = observation_condition(filters)
        rows = self._rows(
            f"SELECT {COLUMNS} FROM observation WHERE {where} ORDER BY at DESC, key DESC LIMIT ?", [*values, limit]
        )
        return [_row(row) for row in rows]

    def titles(self, session: bytes, limit: int) -> list[str]:
        """The titles of a session's observations, in the order of its turns."""
        rows = self._rows("SELECT title FROM observation WHERE session = ? ORDER BY turn, key LIMIT ?", (session, limit))
        return [title for (title,) in rows]

    def changed_files(self, session: bytes, limit: int) -> list[tuple[str, list[str]]]:
        """(title, changed files) of a session's observations, in the order of its turns."""
        rows = self._rows(
            "SELECT title, files_modified FROM observation WHERE session = ? ORDER BY turn, key LIMIT ?", (session, limit)
        )
        return [(title, msgspec.json.decode(files)) for title, files in rows]

    def observations_of_types(self, sessions: Sequence[bytes], types: Sequence[str]) -> list[ObservationRow]:
        """The observations of these types in these sessions. An empty list of types means all."""
        return self._in("session", sessions, types)

    def match_words(self, match: str, filters: ObservationFilters, limit: int) -> list[tuple[int, float]]:
        """(key, score) of observations that match an FTS5 query, best first."""
        where, values = observation_condition(filters)
        rows = self._rows(
            f"""
            SELECT observation.key, -bm25(observation_text, {", ".join(map(str, WEIGHTS))}) AS score
              FROM observation_text JOIN observation ON observation.key = observation_text.rowid
             WHERE observation_text MATCH ? AND {where}
             ORDER BY score DESC, observation.at DESC, observation.key
             LIMIT ?""",
            [match, *values, limit],
        )
        return [(key, score) for key, score in rows]


def _is_same(row: ObservationRow, observation: Observation, place: ObservedPlace) -> bool:
    new = (*msgspec.structs.astuple(place), *msgspec.structs.astuple(observation))
    old = [getattr(row, name) for name in (*ObservedPlace.__struct_fields__, *Observation.__struct_fields__)]
    return list(new) == [tuple(value) if isinstance(value, list) else value for value in old]


def _tags(observation: Observation | ObservationRow) -> list[tuple[str, str, str]]:
    files = (*observation.files_modified, *observation.files_read)
    tags = [("concept", concept.casefold(), concept) for concept in observation.concepts]
    return tags + [("file", *normalise_path(path)) for path in files]


def _row(row: Any) -> ObservationRow:
    values = dict(zip(FIELDS, row, strict=True))
    for name in LIST_FIELDS:
        values[name] = msgspec.json.decode(values[name])
    raw = values["evidence"]
    values["estimated"] = bool(values["estimated"])
    values["evidence"] = [raw[start : start + EVENT_BYTES] for start in range(0, len(raw), EVENT_BYTES)]
    return ObservationRow(**values)

"""Finds what filters mean in an archive: which agents, projects, files and sessions fit them.

A value fits a name if it is the same but for case, or a pattern with `*`. A value that fits no name is an error that tells
near names. In the text of a query it is one only if there are near names: otherwise it was an ordinary word with a colon.
"""

import difflib
import fnmatch
import socket
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from recollect.dates import is_impossible, parse_window, problem_of, since_of, until_of
from recollect.errors import BadFilter, NotFound
from recollect.filters.grammar import CLOSED, FAILED, TRUTH, FilterQuery, FilterTerm
from recollect.model import KIND_CODE, Kind
from recollect.project import project_of
from recollect.session_state import SessionState
from recollect.store import Reader
from recollect.store.sqlite.session_filter import EVERY, Names, SessionFilter

NEAR = 5  # names that an error suggests
SIMILARITY = 0.6
NOUNS = {"in": "session"}  # what the values of a key are, if it is not what the key says
MODEL_BOUNDARY = "/:-_. "
PATTERN = "*?["
DATES: dict[str, Callable[..., int]] = {"since": since_of, "until": until_of}


class Vocabulary:
    """The names that an archive has, each list read when a filter first needs it."""

    def __init__(
        self,
        reader: Reader,
        *,
        labels: Callable[[], Mapping[str, Iterable[int]]],
        states: Callable[[Iterable[SessionState]], Names],
        find_session: Callable[[str], int],
        now: int,
    ) -> None:
        """`labels`: the keys of the sessions with each label. `find_session`: the key of the session with an id."""
        self.reader, self.find_session, self.now, self._labels, self._states = reader, find_session, now, labels, states

    @cached_property
    def agents(self) -> list[str]:
        """Those with sessions first: they are what a wrong name meant most likely."""
        from recollect.sources import all_sources  # 50 ms of CPU, only needed for a filter by agent

        return list(dict.fromkeys([*self.reader.names_of("source"), *(source.name for source in all_sources())]))

    @cached_property
    def projects(self) -> list[str]:
        return self.reader.names_of("project")

    @cached_property
    def branches(self) -> list[str]:
        return self.reader.names_of("branch")

    @cached_property
    def models(self) -> list[str]:
        return sorted({*self.reader.names_of("model"), *self.reader.words_used_as("model")})

    @cached_property
    def tools(self) -> dict[str, int]:
        return self.reader.words_used_as("tool")

    @cached_property
    def labels(self) -> Mapping[str, Iterable[int]]:
        return self._labels()

    def states(self, names: Iterable[SessionState]) -> Names:
        """The sessions in these states."""
        return self._states(names)


class ResolvedFilters(Struct, frozen=True):
    """A filter of sessions, the words of the query that are no filters, and the parts that only events have."""

    sessions: SessionFilter
    text: str = ""
    kinds: tuple[int, ...] | None = None  # codes of the types of events, if they are limited
    tools: tuple[str, ...] | None = None  # names of tools, if they are limited
    notes: tuple[str, ...] = ()  # what was ambiguous, or is searched as text although it looks like a filter


def resolve(query: FilterQuery, vocabulary: Vocabulary) -> ResolvedFilters:
    """What the filters of a query mean together. Those of one key are alternatives; those of different keys must all fit."""
    resolution = _Resolution(vocabulary)
    for term in query.terms:
        resolution.add(term)
    filters = [term for term in query.terms if term not in resolution.ordinary]
    return ResolvedFilters(
        resolution.session_filter(),
        query.text_without(filters),
        resolution.event_kinds(),
        resolution.event_tools(),
        tuple(resolution.notes),
    )


class _Resolution:
    """The values of each key so far: those to keep and those to leave out."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.kept: dict[str, list[Any]] = {}
        self.left_out: dict[str, list[Any]] = {}
        self.has_failed: bool | None = None
        self.bounds: dict[str, int] = {}
        self.ordinary: list[FilterTerm] = []
        self.notes: list[str] = []

    def add(self, term: FilterTerm) -> None:
        if term.key == FAILED:
            self.has_failed = _truth(term) is not term.is_negated
        elif term.key in DATES:
            self._add_date(term)
        else:
            values = self._values(term)
            if values is None and term.is_negated:
                self.notes.append(f"{term.written} leaves out nothing: there is no such {NOUNS.get(term.key, term.key)}.")
            elif values is None:
                self.ordinary.append(term)
                self.notes.append(f"{term.written} is searched as text: there is no such {NOUNS.get(term.key, term.key)}.")
            else:
                (self.left_out if term.is_negated else self.kept).setdefault(term.key, []).extend(values)

    def _add_date(self, term: FilterTerm) -> None:
        now = self.vocabulary.now
        window = None if term.is_negated else parse_window(term.value, now)
        if window is None:
            if term.written and not term.is_negated and not is_impossible(term.value, now):
                self.ordinary.append(term)
                return
            reason = problem_of(term.value, now) or "A date cannot be left out; use since and until."
            raise BadFilter(f"{term.key}: {reason}", field=term.key, value=term.value, did_you_mean=[])
        if window.note:
            self.notes.append(window.note)
        bound = DATES[term.key](term.value, now)
        earlier = self.bounds.get(term.key)
        self.bounds[term.key] = bound if earlier is None else (max if term.key == "since" else min)(earlier, bound)

    def _values(self, term: FilterTerm) -> list[Any] | None:
        """What a term means; None if it is text."""
        known = self.vocabulary
        match term.key:
            case "agent":
                return _fitting(term, known.agents)
            case "project":
                return _fitting(_named_project(term), known.projects)
            case "branch":
                return _fitting(term, known.branches)
            case "model":
                return _fitting(term, known.models, fits=_fits_model)
            case "tool":
                return _fitting(term, known.tools)
            case "label":
                return _fitting(term, known.labels)
            case "machine":
                return _fitting(term, [socket.gethostname()])
            case "file":
                return self._paths(term)
            case "in":
                return self._session(term)
            case closed:
                return [_closed(term, CLOSED[closed])]

    def _paths(self, term: FilterTerm) -> list[int] | None:
        reader = self.vocabulary.reader
        if keys := reader.matching_paths(_as_glob(term.value)):
            return keys
        near = near_names(term.value.rpartition("/")[2], reader.file_names())
        if term.written and not near:
            return None
        raise _unknown(term, near)

    def _session(self, term: FilterTerm) -> list[int] | None:
        try:
            return [self.vocabulary.find_session(term.value)]
        except NotFound:
            if term.written and not term.value.startswith("session:"):
                return None
            raise

    # ---- the result

    def session_filter(self) -> SessionFilter:
        since, until = self.bounds.get("since"), self.bounds.get("until")
        if since is not None and until is not None and until <= since:
            raise BadFilter("until must be later than since.", field="until", value="", did_you_mean=[])
        keys = [self._labelled(), self._in_state(), self._here(), self._names("in")]
        return SessionFilter(
            sources=self._names("agent"),
            projects=self._names("project"),
            branches=self._names("branch"),
            models=self._names("model"),
            modes=self._names("mode"),
            tools=_mapped(self._names("tool"), lambda tool: self.vocabulary.tools[tool]),
            kinds=_mapped(self._names("type"), lambda kind: KIND_CODE[Kind(kind)]),
            paths=self._names("file"),
            keys=tuple(names for names in keys if names is not EVERY),
            has_failed=self.has_failed,
            since=since,
            until=until,
        )

    def event_kinds(self) -> tuple[int, ...] | None:
        """The codes of the types that events must have."""
        names = self._names("type")
        if names is EVERY:
            return None
        kept = CLOSED["type"] if names.any_of is None else names.any_of
        return tuple(KIND_CODE[Kind(kind)] for kind in kept if kind not in names.none_of)

    def event_tools(self) -> tuple[str, ...] | None:
        """The tools that events must have."""
        return self._names("tool").any_of

    def _names(self, key: str) -> Names:
        kept, left_out = self.kept.get(key), self.left_out.get(key)
        if kept is None and left_out is None:
            return EVERY
        return Names(None if kept is None else tuple(dict.fromkeys(kept)), tuple(dict.fromkeys(left_out or ())))

    def _labelled(self) -> Names:
        return _flattened(self._names("label"), self.vocabulary.labels.__getitem__) if self._has("label") else EVERY

    def _in_state(self) -> Names:
        if not self._has("state"):
            return EVERY
        names = self._names("state")
        kept = set(SessionState) if names.any_of is None else set(names.any_of)
        return self.vocabulary.states(kept - set(names.none_of))

    def _here(self) -> Names:
        """All sessions are of this machine: leaving it out leaves none."""
        names = self._names("machine")
        return Names(any_of=()) if names.none_of else EVERY

    def _has(self, key: str) -> bool:
        return key in self.kept or key in self.left_out


def kind_codes(values: Iterable[str]) -> tuple[int, ...] | None:
    """The codes of the types that values name, those with a leading `-` left out; None if all types fit."""
    kinds = closed_values("type", values, CLOSED["type"])
    return None if kinds is None else tuple(KIND_CODE[Kind(kind)] for kind in kinds)


def closed_values(key: str, values: Iterable[str], allowed: tuple[str, ...]) -> tuple[str, ...] | None:
    """The allowed values that are named, those with a leading `-` left out; None if all fit."""
    terms = [FilterTerm(key, value.removeprefix("-"), value.startswith("-")) for value in values]
    named = [(_closed(term, allowed), term.is_negated) for term in terms]
    if not named:
        return None
    kept = [value for value, is_negated in named if not is_negated] or allowed
    left_out = {value for value, is_negated in named if is_negated}
    return tuple(value for value in dict.fromkeys(kept) if value not in left_out)


def _mapped(names: Names, translate: Callable[[Any], Any]) -> Names:
    if names is EVERY:
        return EVERY
    kept = None if names.any_of is None else tuple(map(translate, names.any_of))
    return Names(kept, tuple(map(translate, names.none_of)))


def _flattened(names: Names, translate: Callable[[Any], Iterable[Any]]) -> Names:
    lists = _mapped(names, lambda value: tuple(translate(value)))
    kept = None if lists.any_of is None else tuple(key for keys in lists.any_of for key in keys)
    return Names(kept, tuple(key for keys in lists.none_of for key in keys))


# ---- names


def _named_project(term: FilterTerm) -> FilterTerm:
    """The filter by the name of a project, also if the value is its folder."""
    if "/" not in term.value and "\\" not in term.value:
        return term
    return replace(term, value=project_of(str(Path(term.value).expanduser())))


def _fitting(term: FilterTerm, names: Iterable[str], fits: Callable[[str, str], bool] | None = None) -> list[str] | None:
    """The names that a value fits; None if it is text. Raises `BadFilter` if it fits none but is near some."""
    known = list(names)
    found = [name for name in known if (fits or _fits)(name.lower(), term.value.lower())]
    if found:
        return found
    near = near_names(term.value, known)
    if term.written and not near:
        return None
    raise _unknown(term, near)


def _fits(name: str, value: str) -> bool:
    return name == value or (_is_pattern(value) and fnmatch.fnmatchcase(name, value))


def _fits_model(name: str, value: str) -> bool:
    """A pattern may begin at any part of a model's name: `opus*` fits claude-opus-4-5."""
    if not _is_pattern(value):
        return name == value
    starts = [0, *(index + 1 for index, letter in enumerate(name) if letter in MODEL_BOUNDARY)]
    return any(fnmatch.fnmatchcase(name[start:], value) for start in starts)


def _is_pattern(value: str) -> bool:
    return any(letter in value for letter in PATTERN)


def near_names(value: str, names: Iterable[str]) -> list[str]:
    """The names that a value may have meant: those that contain it first, then similar ones."""
    wanted, by_name = value.lower().strip("*"), {name.lower(): name for name in names}
    if not wanted:
        return []
    containing = sorted((name for name in by_name if wanted in name or (len(name) > 2 and name in wanted)), key=len)
    similar = difflib.get_close_matches(wanted, list(by_name), NEAR, SIMILARITY)
    return [by_name[name] for name in dict.fromkeys([*containing, *similar])][:NEAR]


def no_such(key: str, value: str, near: list[str]) -> str:
    """The sentence for a value that fits nothing."""
    if not near:
        return f"There is no {key} {value!r}."
    *others, last = near
    return f"There is no {key} {value!r}; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def _unknown(term: FilterTerm, near: list[str]) -> BadFilter:
    """The error for a value that fits nothing, and in a query how to search for its text."""
    sentence = no_such(term.key, term.value, near)
    if term.written and '"' not in term.written:
        sentence += f' To find this text, quote it: "{term.written}".'
    return BadFilter(sentence, field=term.key, value=term.value, did_you_mean=near)


def _closed(term: FilterTerm, allowed: Iterable[str]) -> Any:
    by_name = {name.lower(): name for name in allowed}
    value = by_name.get(term.value.lower())
    if value is not None:
        return value
    near = near_names(term.value, by_name) or list(by_name)
    raise _unknown(term, near)


def _truth(term: FilterTerm) -> bool:
    value = TRUTH.get(term.value.lower())
    if value is None:
        raise BadFilter(
            f"failed must be true or false, not {term.value!r}.", field=FAILED, value=term.value, did_you_mean=[]
        )
    return value


def _as_glob(value: str) -> str:
    """A path as a pattern of SQLite, which has no way to escape a bracket but to put it into brackets."""
    path = value.replace("\\", "/").removeprefix("./")
    return path if _is_pattern(path) else path.replace("[", "[[]")

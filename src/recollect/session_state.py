"""The state of a session, by evidence: its last turn, the age of its newest line, and the agent's process."""

from enum import StrEnum

from msgspec import Struct

from recollect.programs import ProcessState

FRESH_MS = 10_000  # a log that was written so recently has a writer, even if no process is found
QUIET_MS = 15 * 60_000  # an agent without a new line for so long does not work, and the person is not at it
RECENT_MS = 24 * 3_600_000  # a session without a new line for so long has ended, whatever runs


class SessionState(StrEnum):
    WORKING = "working"  # a turn runs
    WAITING = "waiting"  # the agent has answered and waits for the person
    IDLE = "idle"  # the agent runs, but nothing has happened for a while, or its process is stopped
    ENDED = "ended"  # the last turn is complete, and no agent runs
    DIED = "died"  # the last turn is not complete, and no agent runs


class Evidence(Struct, frozen=True):
    """What is known about a session at one moment. `age_ms` is the time since its newest line or event."""

    is_complete: bool  # the last turn has ended
    age_ms: int
    process: ProcessState = ProcessState.UNKNOWN


def state_of(evidence: Evidence) -> SessionState:
    """The state that the evidence proves. Nothing counts as running if its process is gone."""
    if evidence.age_ms > RECENT_MS or evidence.process is ProcessState.GONE:
        return _without_process(evidence)
    if evidence.process is ProcessState.STOPPED:
        return SessionState.IDLE
    if evidence.process is ProcessState.ALIVE:
        if not evidence.is_complete:
            return SessionState.WORKING
        return SessionState.WAITING if evidence.age_ms <= QUIET_MS else SessionState.IDLE
    return _by_age(evidence)


def _without_process(evidence: Evidence) -> SessionState:
    if evidence.age_ms <= FRESH_MS:
        return SessionState.WAITING if evidence.is_complete else SessionState.WORKING
    return SessionState.ENDED if evidence.is_complete else SessionState.DIED


def _by_age(evidence: Evidence) -> SessionState:
    """The state if the agent's processes cannot be seen: from another machine, or inside an editor."""
    if evidence.age_ms > QUIET_MS:
        return SessionState.ENDED if evidence.is_complete else SessionState.DIED
    return SessionState.WAITING if evidence.is_complete else SessionState.WORKING


RUNNING = (SessionState.WORKING, SessionState.WAITING, SessionState.IDLE)

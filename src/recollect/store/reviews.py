"""What people decided about observations: confirmed, edited, retired or deleted, by whom and when."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from recollect.store.journaled import JournaledDatabase
from recollect.store.sqlite.database import placeholders


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    EDITED = "edited"
    RETIRED = "retired"  # it is no longer found, but kept, and can be confirmed again
    DELETED = "deleted"


FINAL = (Verdict.EDITED, Verdict.RETIRED, Verdict.DELETED)  # the rules do not write these observations again


class Review(Struct, frozen=True):
    """The last decision about an observation. `content`: the observation as JSON, before it was edited or retired."""

    observation: bytes
    session: bytes
    verdict: Verdict
    reviewer: str
    at: int
    content: str | None


class Reviews(JournaledDatabase):
    """The part of the memory that has reviews."""

    def put_review(self, review: Review) -> None:
        self.db.execute(
            "INSERT OR REPLACE INTO review VALUES (?, ?, ?, ?, ?, ?)",
            (review.observation, review.session, review.verdict, review.reviewer, review.at, review.content),
        )
        self.journal("review", review.observation)

    def reviews_of(self, observations: Sequence[bytes]) -> dict[bytes, Review]:
        """The reviews of these observations."""
        rows = self._rows(f"SELECT * FROM review WHERE observation IN ({placeholders(observations)})", tuple(observations))
        return {review.observation: review for review in _reviews(rows)}

    def retired(self) -> list[Review]:
        """The reviews of all retired observations, newest first."""
        rows = self._rows("SELECT * FROM review WHERE verdict = ? ORDER BY at DESC, observation", (Verdict.RETIRED,))
        return list(_reviews(rows))

    def finally_reviewed(self, session: bytes) -> set[bytes]:
        """The observations of a session that the rules leave alone."""
        rows = self._rows(
            f"SELECT observation FROM review WHERE session = ? AND verdict IN ({placeholders(FINAL)})", (session, *FINAL)
        )
        return {observation for (observation,) in rows}

    def forget_reviews(self, session: bytes) -> None:
        """Remove all reviews of a session's observations."""
        self.db.execute("DELETE FROM review WHERE session = ?", (session,))


def _reviews(rows: Iterable[tuple[bytes, bytes, str, str, int, str | None]]) -> Iterable[Review]:
    return (Review(row[0], row[1], Verdict(row[2]), *row[3:]) for row in rows)

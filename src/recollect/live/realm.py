"""A realm that sessions can run in."""

import logging

from recollect.errors import StoreFault
from recollect.live.sessions import LiveSessions
from recollect.realms.manifest import Backend
from recollect.realms.realm import Realm, built_once

log = logging.getLogger(__name__)


class LiveRealm(Realm):
    """A realm, its live sessions, and the lease of this process."""

    @built_once
    def live(self) -> LiveSessions:
        """The sessions that run here."""
        redact = self.settings.redact
        return LiveSessions(self.folder, self.backend, self.instance, redact=redact, on_commit=self.publish_soon)

    def live_changes(self) -> int:
        """The change counter of live sessions. In a JSONL realm the files are read first: they may be newer."""
        return self.live.changes() if self.backend is Backend.JSONL else super().live_changes()

    def take_lease(self, surface: str) -> None:
        """Take a lease, so that no process deletes the realm as unused. Without a lease the realm can still be read."""
        self.live.surface = surface
        try:
            self.live.lease()
        except StoreFault as fault:
            log.warning("No session can run in realm %s for now: %s", self.name, fault)

    def close(self) -> None:
        """End the turns that this process runs in the realm, and publish its commits."""
        if "live" in self.__dict__:
            self.live.close()
            self.publisher.close()

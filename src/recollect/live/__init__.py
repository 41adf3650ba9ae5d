"""Step 7, RUN: what runs in a realm: sessions, their turns, the events they send, and the runners behind them."""

from recollect.live.realm import LiveRealm

__all__ = ["LiveRealm"]

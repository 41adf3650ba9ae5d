"""The end of what somebody stops: in good order, and once. A program that a turn has started must not outlive us."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def heed_signals() -> None:
    """From here on the first signal to end is a KeyboardInterrupt, also when a terminal is closed; `nohup` stays obeyed."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


@contextmanager
def ending_well() -> Iterator[None]:
    """A signal ends the block, and all that has to be done after it is done, whatever signals come then."""
    heed_signals()
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        heed_no_more()


def heed_no_more() -> None:
    """From here on we end anyway."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _end(*_: object) -> NoReturn:
    """A second signal must not break off the commit of a turn."""
    heed_no_more()
    raise KeyboardInterrupt

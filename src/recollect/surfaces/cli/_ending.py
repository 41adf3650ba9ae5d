"""The end of a server that somebody stops: in good order, and once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def ending_well() -> Iterator[None]:
    """A signal ends the block, and all that has to be done after it is done."""
    for number in SIGNALS:
        signal.signal(number, _end)
    try:
        yield
    except KeyboardInterrupt:
        return


def _end(*_: object) -> NoReturn:
    """A second signal must not break off the commit of a turn."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt

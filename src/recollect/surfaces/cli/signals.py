"""Ends a command on its first signal, with clean-up: a program that a turn has started must not outlive us."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def interrupt_on_signals() -> None:
    """Turn the first signal into a KeyboardInterrupt, also when the terminal closes. `nohup` still works."""
    for number in SIGNALS:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


@contextmanager
def until_signal() -> Iterator[None]:
    """Run the block until it ends or a signal comes. Further signals do not interrupt the clean-up after it."""
    interrupt_on_signals()
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        ignore_signals()


def ignore_signals() -> None:
    """Ignore all further signals: the process is ending."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(*_: object) -> NoReturn:
    """Raise once: a second signal must not interrupt the commit of a turn."""
    ignore_signals()
    raise KeyboardInterrupt

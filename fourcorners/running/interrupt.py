"""Ctrl-C, SIGTERM and SIGHUP as requests: what runs is ended and kept, instead of being thrown
away."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Self

# A signal may come twice: to a process, and to its group (timeout, some shells).
_SAME_S = 0.3
# What a service manager, "kill" and a terminal that is closed send.
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# The one that last asked this process to end; None before.
_last: signal.Signals | None = None


class StoppedError(KeyboardInterrupt):
    """What SIGTERM and SIGHUP raise in a command, as Ctrl-C does."""


def last_signal() -> signal.Signals | None:
    """The signal that asked this process to end, of those that this module handles."""
    return _last


def stopped_by() -> str:
    """What stopped a run, as a clause: "stopped by Ctrl-C", "stopped by SIGTERM"."""
    known = _last is not None and _last != signal.SIGINT
    return f"stopped by {_last.name if known and _last is not None else 'Ctrl-C'}"


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """While entered, SIGTERM and SIGHUP raise :class:`StoppedError` where nobody else wants them,
    so that a command cleans up and says what happened."""
    global _last
    _last = None
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Who started the command under nohup wants it to outlive the terminal.
    taken = [one for one in _ENDING if signal.getsignal(one) == signal.SIG_DFL]
    for one in taken:
        signal.signal(one, _raise)
    try:
        yield
    finally:
        for one in taken:
            signal.signal(one, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> None:
    global _last
    _last = signal.Signals(number)
    raise StoppedError


class InterruptRequest:
    """While entered, the first signal only sets ``requested``; a later one raises.

    SIGTERM and SIGHUP are left alone where the program around has a handler of its own or ignores
    them. Where they would have ended it they do so when this is left, with everything saved.
    Outside the main thread, where Python allows no signal handlers, nothing changes.
    """

    def __init__(self) -> None:
        """Not requested yet."""
        self.requested = False
        self._handles = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._handles:
            ending = [s for s in _ENDING if signal.getsignal(s) in (signal.SIG_DFL, _raise)]
            self._before = {one: signal.signal(one, self._take) for one in (signal.SIGINT, *ending)}
            self._taken: signal.Signals | None = None
        return self

    def __exit__(self, *_: object) -> None:
        if not self._handles:
            return
        for one, before in self._before.items():
            signal.signal(one, before)
        if self._taken in _ENDING and self._before[self._taken] == signal.SIG_DFL:
            signal.raise_signal(self._taken)

    def _take(self, number: int, frame: FrameType | None) -> None:
        global _last
        if not self.requested:
            self.requested = True
            _last = self._taken = signal.Signals(number)
            self._since = time.monotonic()
        elif time.monotonic() - self._since > _SAME_S:
            raise KeyboardInterrupt

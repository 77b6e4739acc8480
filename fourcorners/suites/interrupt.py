"""Ctrl-C as a request: what runs is ended and kept, instead of being thrown away."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Self

# A signal may come twice: to a process, and to its group (timeout, some shells).
_SAME_S = 0.3


class InterruptRequest:
    """While entered, the first Ctrl-C only sets ``requested``; a later one raises.

    Outside the main thread, where Python allows no signal handlers, nothing changes.
    """

    def __init__(self) -> None:
        """Not requested yet."""
        self.requested = False
        self._handles = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._handles:
            self._before = signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, self._before)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested = True
            self._since = time.monotonic()
        elif time.monotonic() - self._since > _SAME_S:
            raise KeyboardInterrupt

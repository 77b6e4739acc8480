"""The judge of a test that is running."""

from array import array

import numpy as np

from fourcorners.analysis.steady_state.judge import PARTS_MIN, judge
from fourcorners.analysis.steady_state.series import Series
from fourcorners.analysis.steady_state.spread import UNIFORM, Spread
from fourcorners.analysis.steady_state.verdict import Verdict

_LOOK_GROWTH = 1.03
"""Rounds from one look to the next: all looks together cost as much as the last 33 would, and an
answer comes 3 % late at most."""


class OnlineJudge:
    """The judge of a running test: it is given every round and answers at once.

    Between looks, whose distance grows with the series, it repeats its last answer, so that all
    of them together cost little and chance has few occasions.
    """

    def __init__(
        self,
        capacity_bytes: float,
        *,
        spare_bytes_max: float | None = None,
        unwritten_bytes: float = 0.0,
        spread: Spread = UNIFORM,
    ) -> None:
        """As :func:`judge`."""
        self._capacity_bytes = capacity_bytes
        self._spare_bytes_max = spare_bytes_max
        self._unwritten_bytes = unwritten_bytes
        self._spread = spread
        self._value = array("d")
        self._duration_s = array("d")
        self._written_bytes = array("d")
        self._next_look = PARTS_MIN
        self._verdict: Verdict | None = None

    def add(self, value: float, duration_s: float, written_bytes: float) -> Verdict | None:
        """Takes one more round; ``None`` while there are too few to judge."""
        self._value.append(value)
        self._duration_s.append(duration_s)
        self._written_bytes.append(written_bytes)
        if len(self._value) >= self._next_look:
            self._next_look = max(len(self._value) + 1, round(len(self._value) * _LOOK_GROWTH))
            self._verdict = judge(
                self.series,
                self._capacity_bytes,
                spare_bytes_max=self._spare_bytes_max,
                unwritten_bytes=self._unwritten_bytes,
                spread=self._spread,
            )
        return self._verdict

    @property
    def series(self) -> Series:
        """All rounds so far."""
        return Series(
            np.array(self._value), np.array(self._duration_s), np.array(self._written_bytes)
        )

    @property
    def verdict(self) -> Verdict | None:
        """The latest answer."""
        return self._verdict

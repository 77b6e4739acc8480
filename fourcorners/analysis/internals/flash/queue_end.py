"""Where a drive's queue ends: the depth from which reads wait for a place in it.

A command that finds the queue full waits: reads of a place on an idle die slow down when reads of
another place fill the queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEPTHS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)
"""The numbers of outstanding reads of the other place that the probe tries first."""

_WAITS = 0.97
"""Below this rate, over that of the queue depth before, reads wait for a place in the queue. The
first read that has to wait does so for half the time of another read; the shorter a die's read is
compared with a command, the shorter is this wait."""

_WAITS_LONG = 0.85
"""The same limit at the largest queue depth, where the wait has become long."""

_BETWEEN = 0.35
"""The computed end of the queue may differ from a whole number of commands by this much."""

_HELD_UP = 0.03
"""The last depth may lower the rate by so much more than the one before, by chance."""

_ROUNDS = 3
"""The rate of the other place is corrected for the one read so many times."""

_REFINED = 8
"""The probe tries so many depths at a time between two that it has measured."""


@dataclass(frozen=True)
class QueueEnd:
    """The rates of the reads of one place, in reads per second, by the number of outstanding reads
    of another one."""

    rates: Mapping[int, float]

    @property
    def flat(self) -> tuple[int | None, int | None]:
        """The most outstanding reads of the other place that do not slow down the one read, and
        the fewest that do; ``None`` where there are none."""
        if not self.rates:
            return None, None
        depths, rates = list(self.rates), list(self.rates.values())
        for index in range(1, len(depths)):
            # Each depth is compared with the one before, because the end of a point, when no reads
            # are left to issue, lowers the rate step by step.
            if max(rates[index:]) < _WAITS * rates[index - 1]:
                return depths[index - 1], depths[index]
            if rates[index] > rates[index - 1] / _WAITS and index > 1:
                return None, None
        return depths[-1], None

    @property
    def slows(self) -> bool:
        """Whether reads wait long while many of the other place are outstanding, from whichever
        depth on."""
        rates = list(self.rates.values())
        return bool(rates) and rates[-1] < _WAITS_LONG * max(rates)

    def wanted(self) -> list[int]:
        """The depths to measure next; the list is empty when the queue depth is known."""
        if not self.rates:
            return list(DEPTHS)
        flat, waits = self.flat
        if flat is None or waits is None or waits - flat <= 1:
            return []
        step = max(1, (waits - flat) // _REFINED)
        return list(range(flat + step, waits, step))

    @property
    def depth(self) -> int | None:
        """The number of commands that the drive accepts at a time; ``None`` where no number of them
        made reads wait."""
        ends = self.end
        if ends is None or abs(ends - round(ends)) > _BETWEEN:
            return None
        return round(ends)

    @property
    def end(self) -> float | None:
        """The depth at which the queue ends, from the time that a read waits; ``None`` where none
        does.

        The die of the other place serves r reads per second, one every 1/r. As long as the queue
        has room, the one read repeats every P seconds. From a depth k on, each further read of the
        other place adds a wait of 1/r. A read has left the queue for P - 1/r before the next one
        needs its place, which shortens the wait by this time. Therefore k is (P - 1/r) r above the
        last depth that leaves the one read a place.
        """
        flat, waits = self.flat
        if flat is None or waits is None or waits - flat > 1:
            return None
        deepest, slowest = self._slowest
        if slowest >= _WAITS_LONG * self.rates[flat] or deepest <= waits:
            return None
        # At the largest depth the one read is still served at times.
        other = slowest * (1 - 1 / (deepest - waits + 1))
        for _ in range(_ROUNDS):
            if self.rates[waits] <= other:
                return None
            alone_s, waiting_s = (1 / (self.rates[depth] - other) for depth in (flat, waits))
            start = waits - (waiting_s - alone_s) * other
            other = slowest / (1 + 1 / (alone_s * other + deepest - start))
        return start + 2 - alone_s * other

    @property
    def _slowest(self) -> tuple[int, float]:
        """The largest depth, with its rate. As the one read is served less and less often, each
        depth lowers the rate by less than the one before; a depth that lowers it by more was held
        up, as by a read that hangs at the end of the point."""
        points = list(self.rates.items())
        while len(points) > 3:
            (_, before), (_, rate), (_, last) = points[-3:]
            if rate - last <= before - rate + _HELD_UP * rate:
                break
            points.pop()
        return points[-1]

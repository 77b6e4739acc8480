"""Levels that are left while a drive is measured: it throttles, or a cache fills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fourcorners.machine.conditions import Conditions
from fourcorners.patterns import CLOSED_LOOP
from fourcorners.suites.test import Measurement

if TYPE_CHECKING:
    from fourcorners.analysis.following import Follower


class Departures:
    """Follows a measurement by looks at its counters, and says at once when a level was left.

    What it follows are whole seconds on the target's clock; between two looks the counters are
    taken to have grown evenly. The finding ``steadiness_TEST`` is of the recording itself.
    """

    def __init__(self, follower: Follower, write_share: float, told_from: float) -> None:
        """``write_share`` of the bytes are written; changes by a share of ``told_from`` on are
        told, as in the finding."""
        self._follower = follower
        self._told_from = told_from
        self._write_share = write_share
        self._look = (0.0, 0.0, 0.0)
        self._second = (0.0, 0.0)
        self._seconds = 0

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        *,
        capacity_bytes: int,
        purged: bool | None,
        written_bytes: int | None,
    ) -> Departures | None:
        """``None`` where there is nothing to follow: a short measurement, a round, a given rate.

        ``written_bytes`` is what had been written before, since the purge where there was one.
        """
        # Loaded here, as what it brings along takes the command half a second to start.
        from fourcorners.analysis.following import Follower, known_of
        from fourcorners.analysis.steadiness import CHANGE_MIN, LONG_S

        streams = measurement.workload.streams
        closed = all(stream.arrival == CLOSED_LOOP for stream in streams)
        if measurement.duration_s < LONG_S or not closed or "round" in measurement.axes:
            return None
        conditions = Conditions(purged=purged, written_before_bytes=written_bytes)
        known = known_of(measurement.workload, conditions, capacity_bytes)
        share = sum(1 - stream.read_share for stream in streams) / len(streams)
        return cls(Follower(*known), share, CHANGE_MIN)

    def look(self, elapsed_s: float, ios: int, count: int) -> list[str]:
        """Sentences about the levels that were left since the last look.

        Takes seconds on the target's clock, I/Os and bytes since measuring began.
        """
        before_s, before_ios, before_bytes = self._look
        found = []
        while self._seconds + 1 <= elapsed_s:
            self._seconds += 1
            part = (self._seconds - before_s) / (elapsed_s - before_s)
            now = (
                before_ios + part * (ios - before_ios),
                before_bytes + part * (count - before_bytes),
            )
            ends = self._follower.add(
                now[0] - self._second[0], self._write_share * (now[1] - self._second[1])
            )
            found += [end.text for end in ends if abs(end.level_share - 1) >= self._told_from]
            self._second = now
        self._look = (elapsed_s, float(ios), float(count))
        return found

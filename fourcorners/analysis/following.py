"""Follows a recording by the second, and says when levels of its rate were left.

From an even start a :class:`DepartureWatch` says when the first level ends. From there on the judge
of steady state is asked as if the test were running; when it has settled, another watch says when
the steady state is left.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fourcorners.machine.conditions import Conditions
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say
from fourcorners.workload import Workload

if TYPE_CHECKING:
    from fourcorners.analysis.steady_state import DepartureWatch, OnlineJudge, Spread

AFTER_S = 30
"""Seconds whose mean shows by how much a level was left: a change may last for some of them."""

EVEN_SHARE = 0.75
"""Slowest over fastest second of an even start."""


@dataclass(frozen=True)
class Course:
    """One recording by the second, reads and writes together, and what was known of the drive."""

    recording: str
    label: str
    iops: Floats
    written_bytes: Floats
    """In each second."""
    span_bytes: float
    """That is read or written."""
    spare_bytes_max: float
    unwritten_bytes: float
    spread: Spread


@dataclass(frozen=True)
class End:
    """A level that was found to have ended. Seconds count from the start of measuring."""

    steady_from: int | None
    """Since when it was the steady state; ``None`` of the level of the start."""
    iops: float
    second: int
    """The first of the change."""
    noticed_second: int
    level_share: float
    """Over the level: the mean from the change until it was noticed."""
    written_bytes: float
    """Until the change."""

    @property
    def steady(self) -> bool:
        """Whether it was the steady state that ended."""
        return self.steady_from is not None

    @property
    def text(self) -> str:
        """What happened, in words."""
        return say(
            f"steadiness.{'left_steady' if self.steady else 'left_start'}",
            second=self.second,
            iops=self.iops,
            **moved(self.level_share),
        ).text


@dataclass(frozen=True)
class Left(End):
    """A level that ended, with what followed it."""

    share: float
    """Over the level: the mean of the :data:`AFTER_S` seconds after it was noticed."""
    after_iops: float
    """Mean from the change to the end."""


@dataclass(frozen=True)
class FollowedCourse:
    """What became of a recording."""

    left: tuple[Left, ...]
    steady_from_s: int | None
    """Since when it is in the steady state in which it ended, by the judge."""
    steady_iops: float | None
    level_iops: float | None
    """Of the level that it had at its end; ``None`` where it had none, or none that was seen."""
    judged: Said | None
    """What the judge says of the end, where it was asked."""

    @property
    def kept(self) -> bool:
        """Whether it had one level, and kept it to the end."""
        return not self.left and self.level_iops is not None


class Follower:
    """Follows a recording while it grows: it gets every second, and reports levels that were left.

    As long as the level of the start is kept, a second costs next to nothing.
    """

    def __init__(
        self, span_bytes: float, spare_bytes_max: float, unwritten_bytes: float, spread: Spread
    ) -> None:
        """As :class:`Course` has them."""
        self._span_bytes = span_bytes
        self._spread = spread
        self._known = (spare_bytes_max, unwritten_bytes)
        self._iops = array("d")
        self._written = array("d")
        self._at = 0
        self._judge: OnlineJudge | None = None
        self._judged_from = 0
        self._watch: DepartureWatch | None = None
        self._watched_from = 0
        self._steady_from: int | None = None
        self._level_iops = 0.0
        self.ends: list[End] = []

    def add(self, iops: float, written_bytes: float) -> list[End]:
        """Takes one more second; the levels that are found in it to have ended."""
        self._iops.append(iops)
        self._written.append(written_bytes)
        before = set(self.ends)
        while self._at < len(self._iops):
            if self._watch is not None:
                self._look(self._watch)
            elif self._judge is not None:
                self._ask(self._judge)
            elif not self._begin():
                break
        return [end for end in self.ends if end not in before]

    @property
    def steady(self) -> tuple[int, float] | None:
        """Since when it is in a steady state, and the steady IOPS; ``None`` where it is not."""
        if self._watch is None or self._steady_from is None:
            return None
        return self._steady_from, self._level_iops

    @property
    def level_iops(self) -> float | None:
        """Of the level that is being watched; ``None`` where none was found since the last one was
        left, or since an uneven start."""
        return None if self._watch is None else self._level_iops

    @property
    def judged(self) -> Said | None:
        """What the judge says, where it was asked."""
        verdict = None if self._judge is None else self._judge.verdict
        return None if verdict is None else verdict.said

    def _begin(self) -> bool:
        """Whether there are enough seconds to see whether the start has a level."""
        # Its change points need a library that takes a while to load.
        from fourcorners.analysis.steady_state import DepartureWatch
        from fourcorners.analysis.steady_state.departure import BATCHES

        if len(self._iops) < BATCHES:
            return False
        start = np.array(self._iops[:BATCHES])
        if float(start.min()) > EVEN_SHARE * float(start.max()):
            self._watch, self._at = DepartureWatch(start), BATCHES
            self._watched_from, self._level_iops = BATCHES, float(start.mean())
        else:
            self._judge_from(0)
        return True

    def _judge_from(self, second: int) -> None:
        from fourcorners.analysis.steady_state import OnlineJudge

        spare, unwritten = self._known
        self._judge = OnlineJudge(
            self._span_bytes,
            spare_bytes_max=spare,
            unwritten_bytes=unwritten,
            spread=self._spread,
        )
        self._watch, self._at, self._judged_from = None, second, second

    def _look(self, watch: DepartureWatch) -> None:
        departure = watch.add(self._iops[self._at])
        self._at += 1
        if departure is None:
            return
        first = self._watched_from
        change = first + departure.since_round
        self.ends.append(
            End(
                steady_from=self._steady_from,
                iops=self._level_iops,
                second=change,
                noticed_second=first + departure.noticed_round,
                level_share=departure.level_share,
                written_bytes=math.fsum(self._written[:change]),
            )
        )
        if self._steady_from is None:
            self._judge_from(0)
            return
        # What was free at the start has been written by now.
        self._known = (0.0, 0.0)
        self._judge_from(change)

    def _ask(self, judge: OnlineJudge) -> None:
        from fourcorners.analysis.steady_state import DepartureWatch
        from fourcorners.analysis.steady_state.departure import BATCHES

        second = self._at
        self._at += 1
        verdict = judge.add(self._iops[second], 1.0, self._written[second])
        if verdict is None or not verdict.settled:
            return
        first = self._judged_from + verdict.first_round
        steady = np.array(self._iops[first : second + 1])
        if len(steady) < BATCHES:
            return
        if self.ends and not self.ends[-1].steady and second < self.ends[-1].noticed_second:
            # The level of the start was the steady state.
            self.ends.pop()
        self._watch = DepartureWatch(steady, level=verdict.value, period_rounds=verdict.period_s)
        self._watched_from, self._steady_from = second + 1, first
        self._level_iops = verdict.value


def follow(course: Course) -> FollowedCourse:
    """Follows a recording from its first to its last second."""
    follower = Follower(
        course.span_bytes, course.spare_bytes_max, course.unwritten_bytes, course.spread
    )
    for iops, written in zip(course.iops, course.written_bytes, strict=True):
        follower.add(float(iops), float(written))
    left = tuple(_left(course, end) for end in follower.ends)
    steady_from, steady_iops = follower.steady or (None, None)
    return FollowedCourse(left, steady_from, steady_iops, follower.level_iops, follower.judged)


def _left(course: Course, end: End) -> Left:
    after = course.iops[end.noticed_second + 1 :][:AFTER_S]
    return Left(
        **vars(end),
        share=float(after.mean()) / end.iops if len(after) else end.level_share,
        after_iops=float(course.iops[end.second :].mean()),
    )


def known_of(
    workload: Workload | None, conditions: Conditions | None, capacity: int
) -> tuple[float, float, float, Spread]:
    """What a workload goes over, the spare area that the drive may have for it, and how much of
    it held no data when it began; all in bytes. What is beyond the span may be spare area. Last,
    how its writes are spread over the span."""
    from fourcorners.analysis.steady_state import SPARE_SHARE_MAX, Spread

    streams = [] if workload is None else workload.streams
    ends = [stream.offset_bytes + (stream.span_bytes or capacity) for stream in streams]
    span = float(min(max(ends, default=capacity), capacity))
    empty = 0.0
    written = None if conditions is None else conditions.written_before_bytes
    if conditions is not None and conditions.purged and written is not None:
        empty = max(0.0, span - float(written))
    spread = Spread.of_streams(streams, span)
    return span, SPARE_SHARE_MAX * capacity + capacity - span, empty, spread


def moved(share: float) -> dict[str, Any]:
    """A level over the one before, for a sentence."""
    return {"moved": "fell" if share < 1 else "rose", "change": abs(share - 1)}

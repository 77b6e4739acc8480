"""Findings ``steadiness_TEST``: whether the rate of long recordings kept its level, and when and by
how much it left it: a cache or the free blocks that are used up, a drive that throttles.

A recording is followed by the second. From an even start a :class:`DepartureWatch` says when the
first level ends. From there on the judge of steady state is asked as if the test were running; when
it has settled, another watch says when the steady state is left.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import RunData, capacity_bytes
from fourcorners.finding import Finding, worded
from fourcorners.machine.conditions import Conditions
from fourcorners.recording import Recording
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say
from fourcorners.workload import Workload

if TYPE_CHECKING:
    from fourcorners.analysis.steady_state import DepartureWatch, OnlineJudge, Spread

LONG_S = 60
"""Full seconds from which a recording is followed."""

AFTER_S = 30
"""Seconds whose mean shows by how much a level was left: a change may last for some of them."""

CHANGE_MIN = 0.05
"""Relative change of a level from which leaving it is reported: of few I/Os a second one more
or less looks like a change, and is none in the mean of the seconds that follow."""

EVEN_SHARE = 0.75
"""Slowest over fastest second of an even start."""

_TOLD_MAX = 3
"""Levels of a recording that are described one by one."""


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
            **_moved(self.level_share),
        ).text


@dataclass(frozen=True)
class Left:
    """A level that ended. Seconds count from the start of measuring."""

    steady_from: int | None
    """Since when it was the steady state; ``None`` of the level of the start."""
    iops: float
    second: int
    """The first of the change."""
    noticed_second: int
    share: float
    """Over the level: the mean of the :data:`AFTER_S` seconds after it was noticed."""
    after_iops: float
    """Mean from the change to the end."""
    written_bytes: float
    """Until the change."""


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
        steady_from=end.steady_from,
        iops=end.iops,
        second=end.second,
        noticed_second=end.noticed_second,
        share=float(after.mean()) / end.iops if len(after) else end.level_share,
        after_iops=float(course.iops[end.second :].mean()),
        written_bytes=end.written_bytes,
    )


def find(run: RunData) -> list[Finding]:
    """A finding for each test with long recordings; rounds have findings of their own."""
    return [_finding(run, test, list(courses(run, test))) for test in _tests(run)]


def _tests(run: RunData) -> list[str]:
    return [
        test.name for test in run.manifest.tests if next(courses(run, test.name), None) is not None
    ]


def courses(run: RunData, test: str) -> Iterator[Course]:
    """The long recordings of a test in a closed loop, at a given rate the rate says nothing; none
    where the drive's capacity is not known."""
    capacity = capacity_bytes(run)
    if capacity is None:
        return
    for recording in run.recordings:
        moved = [one.elapsed_s for one in recording.transfers.values() if one.ios]
        if recording.test != test or not moved:
            continue
        seconds = math.floor(max(moved))
        if seconds >= LONG_S and "round" not in recording.point and recording.offered is None:
            yield _course(recording, seconds, capacity)


def _course(recording: Recording, seconds: int, capacity: int) -> Course:
    iops, written = np.zeros(seconds), np.zeros(seconds)
    for name, one in recording.transfers.items():
        iops += np.asarray(one.second_ios, dtype=np.float64)[:seconds]
        if name == "write":
            written += np.asarray(one.second_bytes, dtype=np.float64)[:seconds]
    span, spare, unwritten, spread = known_of(recording.workload, recording.conditions, capacity)
    return Course(
        recording=recording.id,
        label=recording.label,
        iops=iops,
        written_bytes=written,
        span_bytes=span,
        spare_bytes_max=spare,
        unwritten_bytes=unwritten,
        spread=spread,
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


def _finding(run: RunData, test: str, courses: list[Course]) -> Finding:
    followed = [(course, follow(course)) for course in courses]
    followed = [(course, _material(seen)) for course, seen in followed]
    left = [(course, seen) for course, seen in followed if seen.left]
    title = next((one.title for one in run.manifest.tests if one.name == test), "") or test
    alone = len(followed) == 1
    sentences = [_left_sentence(course, seen, alone=alone) for course, seen in left]
    level = [seen for _, seen in followed if seen.kept]
    if level:
        sentences.append(_kept(level, alone=alone))
    levelless = [pair for pair in followed if not pair[1].left and not pair[1].kept]
    sentences += [
        _without_level(course, seen, alone=alone) for course, seen in levelless[:_TOLD_MAX]
    ]
    if (more := len(levelless) - _TOLD_MAX) > 0:
        sentences.append(Sentence("no_level_more", say("steadiness.no_level_more", more=more)))
    return worded(
        f"steadiness_{test}",
        f"Keeping its level: {title}",
        "violated" if left else "holds" if len(level) == len(followed) else "not identifiable",
        joined(sentences),
        value=float(len(left)),
        unit="recordings",
        evidence=[course.recording for course, _ in followed],
        detail=sentences_detail(sentences)
        | {
            "recordings": [
                {
                    "recording": course.recording,
                    "kept": seen.kept,
                    "seconds": len(course.iops),
                    "steady_from_s": seen.steady_from_s,
                    "steady_iops": seen.steady_iops,
                    "judge": "" if seen.judged is None else seen.judged.text,
                    "left": [
                        {
                            "steady_from_s": end.steady_from,
                            "iops": end.iops,
                            "second": end.second,
                            "noticed_second": end.noticed_second,
                            "change": end.share - 1,
                            "after_iops": end.after_iops,
                            "written_bytes": end.written_bytes,
                        }
                        for end in seen.left
                    ],
                }
                for course, seen in followed
            ]
        },
    )


def _material(seen: FollowedCourse) -> FollowedCourse:
    """Without the levels that were left for hardly another, which is then the level."""
    left = tuple(end for end in seen.left if abs(end.share - 1) >= CHANGE_MIN)
    if seen.left and not left and seen.level_iops is None:
        return replace(seen, left=left, level_iops=seen.left[-1].after_iops)
    return replace(seen, left=left)


def _kept(kept: list[FollowedCourse], *, alone: bool) -> Sentence:
    """Of recordings that had a level at their end; some came to it later than at their start."""
    since = max(seen.steady_from_s or 0 for seen in kept)
    if alone:
        code = "kept_from" if since else "kept"
    else:
        code = "several_kept_later" if since else "several_kept"
    whose = "its" if len(kept) == 1 else "their"
    words = {"since": since, "recordings": len(kept), "whose": whose}
    return Sentence("kept", say(f"steadiness.{code}", **words))


def _without_level(course: Course, seen: FollowedCourse, *, alone: bool) -> Sentence:
    """Of a recording whose rate changed from its beginning on, and had no level to keep."""
    said = say(
        "steadiness.no_level",
        who="It" if alone else course.label,
        seconds=AFTER_S,
        first=course.iops[:AFTER_S].mean(),
        last=course.iops[-AFTER_S:].mean(),
        judged=[] if seen.judged is None else [say("steadiness.judged", words=seen.judged)],
    )
    return Sentence("no_level", said)


def _left_sentence(course: Course, seen: FollowedCourse, *, alone: bool) -> Sentence:
    more, ends = len(seen.left) - _TOLD_MAX, []
    if seen.steady_from_s is not None:
        steady = {"iops": seen.steady_iops or 0.0, "second": seen.steady_from_s}
        ends.append(say("steadiness.ends_steady", **steady))
    elif seen.judged is not None:
        ends.append(say("steadiness.ends", judged=seen.judged))
    said = say(
        "steadiness.left",
        who="It" if alone else course.label,
        changes=[_change(end) for end in seen.left[:_TOLD_MAX]],
        more=[say("steadiness.more", more=more)] if more > 0 else [],
        ends=ends,
    )
    return Sentence("left", said)


def _change(end: Left) -> Said:
    return say(
        f"steadiness.{'began' if end.steady_from is None else 'was_steady'}",
        iops=end.iops,
        steady_from=end.steady_from,
        second=end.second,
        wrote=[say("steadiness.wrote", written=end.written_bytes)] if end.written_bytes else [],
        after_iops=end.after_iops,
        **_moved(end.share),
    )


def _moved(share: float) -> dict[str, Any]:
    """A level over the one before, for a sentence."""
    return {"moved": "fell" if share < 1 else "rose", "change": abs(share - 1)}

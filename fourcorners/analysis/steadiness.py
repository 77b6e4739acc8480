"""Findings ``steadiness_TEST``: whether the rate of long recordings kept its level, and when and by
how much it left it: a cache or the free blocks that are used up, a drive that throttles.

A recording is followed by the second. From an even start a :class:`DepartureWatch` says when the
first level ends. From there on the judge of steady state is asked as if the test were running; when
it has settled, another watch says when the steady state is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData, capacity_bytes

if TYPE_CHECKING:
    from fourcorners.analysis.steady_state import DepartureWatch

Floats = npt.NDArray[np.float64]

LONG_S = 60
"""Full seconds from which a recording is followed."""

AFTER_S = 30
"""Seconds whose mean tells by how much a level was left: a change may take some to be over."""

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

    @property
    def steady(self) -> bool:
        """Whether it was the steady state that ended."""
        return self.steady_from is not None


@dataclass(frozen=True)
class Followed:
    """What became of a recording."""

    left: tuple[Left, ...]
    steady_from_s: int | None
    """Since when it is in the steady state in which it ended, by the judge."""
    steady_iops: float | None
    words: str
    """What the judge says of the end, where it was asked."""


def follow(course: Course) -> Followed:
    """Follows a recording from its first to its last second."""
    # Its change points need a library that takes a while to load.
    from fourcorners.analysis.steady_state import DepartureWatch, OnlineJudge
    from fourcorners.analysis.steady_state.departure import BATCHES

    left: list[Left] = []
    start = course.iops[:BATCHES]
    if float(start.min()) > EVEN_SHARE * float(start.max()):
        watch = DepartureWatch(start)
        end = _watch(course, watch, BATCHES, float(start.mean()), steady_from=None)
        if end is None:
            return Followed((), None, None, "")
        left.append(end)
    verdict, begin = None, 0
    spare, unwritten = course.spare_bytes_max, course.unwritten_bytes
    while begin < len(course.iops):
        judge = OnlineJudge(course.span_bytes, spare_bytes_max=spare, unwritten_bytes=unwritten)
        end = None
        for second in range(begin, len(course.iops)):
            verdict = judge.add(
                float(course.iops[second]), 1.0, float(course.written_bytes[second])
            )
            if verdict is None or not verdict.settled:
                continue
            first = begin + verdict.first_round
            steady = course.iops[first : second + 1]
            if len(steady) < BATCHES:
                continue
            if left and not left[-1].steady and second < left[-1].noticed_second:
                # The level of the start was the steady state.
                left.pop()
            watch = DepartureWatch(steady, level=verdict.value, period_rounds=verdict.period_s)
            end = _watch(course, watch, second + 1, verdict.value, steady_from=first)
            if end is None:
                return Followed(tuple(left), first, verdict.value, verdict.text)
            left.append(end)
            break
        if end is None:
            break
        # What was free at the start has been written by now.
        begin, spare, unwritten = end.second, 0.0, 0.0
    return Followed(tuple(left), None, None, "" if verdict is None else verdict.text)


def _watch(
    course: Course,
    watch: DepartureWatch,
    first: int,
    level_iops: float,
    *,
    steady_from: int | None,
) -> Left | None:
    for second in range(first, len(course.iops)):
        departure = watch.add(float(course.iops[second]))
        if departure is not None:
            change, noticed = first + departure.since_round, first + departure.noticed_round
            after = course.iops[noticed + 1 :][:AFTER_S]
            return Left(
                steady_from=steady_from,
                iops=level_iops,
                second=change,
                noticed_second=noticed,
                share=float(after.mean()) / level_iops if len(after) else departure.level_share,
                after_iops=float(course.iops[change:].mean()),
                written_bytes=float(course.written_bytes[:change].sum()),
            )
    return None


def find(run: RunData) -> list[Finding]:
    """A finding for each test with long recordings; rounds have findings of their own."""
    return [_finding(run, test, list(courses(run, test))) for test in _tests(run)]


def _tests(run: RunData) -> list[str]:
    return [
        str(test["name"])
        for test in run.manifest.get("tests", [])
        if next(courses(run, str(test["name"])), None) is not None
    ]


def courses(run: RunData, test: str) -> Iterator[Course]:
    """The long recordings of a test in a closed loop, at a given rate the rate says nothing; none
    where the drive's capacity is not known."""
    capacity = capacity_bytes(run)
    if capacity is None:
        return
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in run.recordings:
        if row["test"] == test and row["operation"] != "flush" and row["ios"]:
            rows.setdefault(str(row["recording"]), []).append(row)
    for entry in run.manifest.get("tests", []):
        for recording in entry.get("recordings", []) if entry.get("name") == test else []:
            mine = rows.get(str(recording["id"]), [])
            seconds = math.floor(max((row["elapsed_s"] for row in mine), default=0.0))
            rounds = "round" in (recording.get("point") or {})
            open_loop = any(row.get("offered_iops") is not None for row in mine)
            if seconds >= LONG_S and not rounds and not open_loop:
                yield _course(run, recording, mine, seconds, capacity)


def _course(
    run: RunData,
    recording: Mapping[str, Any],
    rows: list[Mapping[str, Any]],
    seconds: int,
    capacity: int,
) -> Course:
    iops, written = np.zeros(seconds), np.zeros(seconds)
    for row in rows:
        series = run.series(str(recording["id"]), row["operation"])
        iops += np.asarray(series["ios"], dtype=np.float64)[:seconds]
        if row["operation"] == "write":
            written += np.asarray(series["bytes"], dtype=np.float64)[:seconds]
    span, spare, unwritten = known_of(recording, capacity)
    return Course(
        recording=str(recording["id"]),
        label=str(recording.get("label") or recording["id"]),
        iops=iops,
        written_bytes=written,
        span_bytes=span,
        spare_bytes_max=spare,
        unwritten_bytes=unwritten,
    )


def known_of(recording: Mapping[str, Any], capacity: int) -> tuple[float, float, float]:
    """What a recording goes over, the spare area that the drive may have for it, and how much of
    it held no data when it began; all in bytes. What is beyond the span may be spare area."""
    from fourcorners.analysis.steady_state import SPARE_SHARE_MAX

    streams = (recording.get("workload") or {}).get("streams") or [{}]
    ends = [
        (stream.get("offset_bytes") or 0) + (stream.get("span_bytes") or capacity)
        for stream in streams
        if isinstance(stream, Mapping)
    ]
    span = float(min(max(ends, default=capacity), capacity))
    conditions = recording.get("conditions") or {}
    written_before = conditions.get("written_before_bytes")
    empty = 0.0
    if conditions.get("purged") and written_before is not None:
        empty = max(0.0, span - float(written_before))
    return span, SPARE_SHARE_MAX * capacity + capacity - span, empty


def _finding(run: RunData, test: str, courses: list[Course]) -> Finding:
    followed = [(course, follow(course)) for course in courses]
    left = [(course, seen) for course, seen in followed if seen.left]
    title = next(
        (str(t.get("title") or test) for t in run.manifest["tests"] if t["name"] == test), test
    )
    kept = len(followed) - len(left)
    sentences = [_sentence(course, seen, alone=len(followed) == 1) for course, seen in left]
    if kept:
        sentences.append(
            ("The rate" if len(followed) == 1 else wording.count(kept, "recording"))
            + f" kept {'its' if kept == 1 else 'their'} level to the end, within 10 % by more than "
            "chance."
        )
    return Finding(
        name=f"steadiness_{test}",
        title=f"Keeping its level: {title}",
        verdict="violated" if left else "holds",
        text=" ".join(sentences),
        value=float(len(left)),
        unit="recordings",
        evidence=[course.recording for course, _ in followed],
        detail={
            "recordings": [
                {
                    "recording": course.recording,
                    "seconds": len(course.iops),
                    "steady_from_s": seen.steady_from_s,
                    "steady_iops": seen.steady_iops,
                    "judge": seen.words,
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


def _sentence(course: Course, seen: Followed, *, alone: bool) -> str:
    who = "It" if alone else course.label
    text = f"{who} {', then '.join(_change(end) for end in seen.left)}."
    if seen.steady_from_s is not None:
        text += (
            f" It ends in a steady state of {wording.number(seen.steady_iops or 0.0)} IOPS, from "
            f"second {seen.steady_from_s:,} on."
        )
    elif seen.words:
        text += f" At its end it is {seen.words}."
    return text


def _change(end: Left) -> str:
    level = (
        f"began at {wording.number(end.iops)} IOPS and left that level"
        if end.steady_from is None
        else f"was steady at {wording.number(end.iops)} IOPS from second {end.steady_from:,} on "
        "and left its steady state"
    )
    wrote = f" and {wording.amount(end.written_bytes)} of writes" if end.written_bytes else ""
    return (
        f"{level} after {wording.count(end.second, 'second')}{wrote}: it "
        f"{'fell' if end.share < 1 else 'rose'} by {wording.percent(abs(end.share - 1))}, and the "
        f"mean from there on is {wording.number(end.after_iops)}"
    )

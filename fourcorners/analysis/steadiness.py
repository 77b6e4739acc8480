"""Findings ``steadiness_TEST``: whether the rate of long recordings kept its level, and when and by
how much it left it: a cache or the free blocks that are used up, a drive that throttles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fourcorners.analysis.following import (
    AFTER_S,
    Course,
    FollowedCourse,
    Left,
    follow,
    known_of,
    moved,
)
from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import RunData, capacity_bytes
from fourcorners.finding import Finding, worded
from fourcorners.recording import Recording
from fourcorners.sentences import Said, say

LONG_S = 60
"""Full seconds from which a recording is followed."""

CHANGE_MIN = 0.05
"""Relative change of a level from which leaving it is reported: of few I/Os a second one more
or less looks like a change, and is none in the mean of the seconds that follow."""

IOS_MIN = round(1 / CHANGE_MIN)
"""I/Os in as many seconds as show by how much a level was left (:data:`AFTER_S`), in the mean, from
which a recording is followed: of fewer one more or less is such a change. A disk reads 512 MiB in
seven seconds, and two such reads in a zone of its own look like another level."""

_TOLD_MAX = 3
"""Levels of a recording that are described one by one."""


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
        lasted_s = [one.elapsed_s for one in recording.transfers.values() if one.ios]
        if recording.test != test or not lasted_s:
            continue
        seconds = math.floor(max(lasted_s))
        if seconds >= LONG_S and "round" not in recording.point and recording.offered is None:
            course = _course(recording, seconds, capacity)
            if course.iops.mean() * AFTER_S >= IOS_MIN:
                yield course


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
        **moved(end.share),
    )

"""Reads that are slow as a probe begins, because the drive still does what writes left behind.

A drive that loads its map on demand keeps what writes changed of it in memory. The first reads of
other places have to write that back before they find room, until nothing is left. Every probe that
begins with such writes then begins alike: its first small reads take far longer than any later
ones, and as long as those of the other probes. Other load does not know when a probe begins.

What was measured meanwhile, and may contain that work, is left out. What comes after is the
drive's, whatever made the first reads slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from fourcorners.analysis.internals.method import drift
from fourcorners.analysis.internals.method.drift import READING, WRITING
from fourcorners.analysis.internals.thresholds import UNSURE
from fourcorners.analysis.internals.view import View, moves_an_arm
from fourcorners.analysis.source import Measured
from fourcorners.finding import ODD, Finding
from fourcorners.sentences import say, sentence

_SLOWER = 3.0
"""The first small reads take at least so many times as long as any later ones: each of them waits
for a program or more, which takes three times as long as a read (MLC: 0.6 ms after 0.1 ms)."""

_PROBES_MIN = 3
"""So many probes that only read have to begin alike. Other load that ends during a probe by chance
began before it by chance, too, and is of any strength: it may look like this once or twice."""

_SMALL_BYTES = 16 * 2**10
"""The largest reads that take as long as an arm needs only where they need one."""

Slow = dict[tuple[str, str], str]
"""The probe of each operation of a recording."""


def settles(times_s: Sequence[float]) -> int:
    """How many of the small reads between the points of a probe came before the drive had settled,
    by their times: the first ones, if each took :data:`_SLOWER` times as long as any later one; 0
    for others."""
    slow = (n for n in range(1, len(times_s)) if min(times_s[:n]) >= _SLOWER * max(times_s[n:]))
    return next(slow, 0)


def slowed(view: View) -> Slow:
    """The operations of recordings that may contain what writes left behind; none where the probes
    do not begin alike, or other load may have disturbed one of them."""
    series = {
        test: points
        for (test, later), points in drift.sentinels(view).items()
        # TRIM changes by itself what reads take.
        if not later and test in (*READING, *WRITING)
    }
    slow = {
        test: first
        for test, points in series.items()
        if (first := settles([1 / m.iops for m in points]))
    }
    quick = [series[test][slow[test] :] for test in READING if test in slow]
    if not quick or any(needs_an_arm(view, points) for points in quick):
        return {}
    quick_s = max(1 / m.iops for points in quick for m in points)
    # The reads of a probe may be too few for the drive to settle. Writes leave more of such work.
    slow |= {
        test: len(series[test])
        for test in READING
        if test in series and all(1 / m.iops >= _SLOWER * quick_s for m in series[test])
    }
    begin_s = [1 / series[test][0].iops for test in READING if test in slow]
    if sum(abs(s / median(begin_s) - 1) <= UNSURE for s in begin_s) < _PROBES_MIN:
        return {}
    steady = [series[test][slow.get(test, 0) :] for test in READING if test in series]
    if any(drift.sure_change(points) >= UNSURE for points in steady):
        return {}
    return {
        operation: test
        for test, first in slow.items()
        for operation in _before(view.points(test), series[test], first, quick_s)
    }


def needs_an_arm(view: View, quick: Sequence[Measured]) -> bool:
    """Whether other small reads, one at a time, take as long as an arm among these quick ones: a
    memory in front of it keeps only what was read before."""
    points = view.points(quick[0].test)
    ids = [m.recording for m in points]
    return any(
        m.operation == "read"
        and m.queue_depth == 1
        and (m.block_bytes or 0) <= _SMALL_BYTES
        and moves_an_arm(m.latency_percentile_s(50) or 0.0)
        for m in points[ids.index(quick[0].recording) : ids.index(quick[-1].recording)]
    )


def _before(
    points: Sequence[Measured], sentinels: Sequence[Measured], first: int, quick_s: float
) -> list[tuple[str, str]]:
    """What was measured before the drive had settled: the first reads between the points, and
    points whose I/Os may have waited for the same work."""
    longer_s = sentinels[0].latency_percentile_s(50) or 0.0
    slow = {m.recording for m in sentinels[:first]}
    ids = [m.recording for m in points]
    end = ids.index(sentinels[first].recording) if first < len(sentinels) else len(points)
    return [
        (m.recording, m.operation)
        for m in points[:end]
        if m.recording in slow or _may_have_waited(m, longer_s, quick_s)
    ]


def _may_have_waited(m: Measured, longer_s: float, quick_s: float) -> bool:
    """Whether an I/O took so long; where I/Os are complete as often as single reads of a drive that
    has settled, so much longer than the median, since many may wait for one another."""
    longest_s, usual_s = m.latency_max_s, m.latency_percentile_s(50)
    if longest_s is None or usual_s is None:
        return True
    return longest_s - (usual_s if 1 / m.iops <= quick_s else 0.0) >= longer_s


def told(drifts: Sequence[Finding], slow: Slow) -> list[Finding]:
    """The drifts of the probes that began alike, in other words."""
    probes = len(set(slow.values()))
    found = []
    for one in drifts:
        if one.detail["test"] in slow.values() and not one.detail["wrote"]:
            times_s = one.detail["sentinel_s"]
            parameters = {"test": one.detail["test"], "first": times_s[0], "later": min(times_s)}
            said = say("drift.settled", **parameters, probes=probes)
            found.append(replace(one, said=said, text=sentence(said)))
    return found


def left_out(everything: Sequence[Finding], found: Sequence[Finding]) -> list[Finding]:
    """What was found with all points, and is not without the slow ones: not identifiable. What did
    not fit with them, and does without, is their work."""
    names = {one.name for one in found}
    lost = [one for one in everything if one.name not in names and not one.name.startswith(ODD)]
    return [
        replace(one.unidentified(sentence(said)), said=said) if one.verdict == "measured" else one
        for one in lost
        for said in [say("any.unsettled", text=one.text)]
    ]

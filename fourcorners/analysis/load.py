"""Finding ``sustained_rate``: the largest rate that a drive sustains within a latency limit.

Requests are due at a given rate whatever the drive does (open loop), and latency counts from when
each was due, so that a drive that falls behind shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners import wording
from fourcorners.analysis.source import KEEPS_UP, Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import Said, say


@dataclass(frozen=True)
class Load:
    """What came of one offered rate. ``latency_s`` is the percentile that the limit is about."""

    offered_iops: float
    completed_iops: float
    latency_s: float
    unissued: int
    recordings: tuple[str, ...] = ()

    def sustained(self, limit_s: float) -> bool:
        """Every request was issued, the drive kept up with them, and the latency to its limit."""
        keeps_up = self.completed_iops >= KEEPS_UP * self.offered_iops
        return self.unissued == 0 and keeps_up and self.latency_s <= limit_s


def bracket(loads: Sequence[Load], limit_s: float) -> tuple[Load | None, Load | None]:
    """The largest sustained rate below the first that was not, and that one."""
    best: Load | None = None
    for load in sorted(loads, key=lambda one: one.offered_iops):
        if not load.sustained(limit_s):
            return best, load
        best = load
    return best, None


def find(run: RunData) -> list[Finding]:
    """One finding for each test and arrival that has a latency limit."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in measured(run):
        if "limit_s" in one.point and "arrival" in one.point:
            groups.setdefault((one.test, str(one.point["arrival"])), []).append(one)
    return [_finding(arrival, points) for (_, arrival), points in groups.items()]


def _finding(arrival: str, points: Sequence[Measured]) -> Finding:
    limit_s = float(points[0].point["limit_s"])
    percent = float(points[0].point["limit_percentile"])
    loads = sorted(_loads(points).values(), key=lambda load: load.offered_iops)
    best, failed = bracket(loads, limit_s)
    limit = say("sustained_rate.limit", percent=percent, limit_s=limit_s)
    words = {"arrivals": wording.arrivals(arrival), "limit": limit}
    if best is None:
        lowest = {"offered": loads[0].offered_iops, "latency_s": loads[0].latency_s}
        said = say("sustained_rate.none", **words, **lowest)
    else:
        said = say(
            "sustained_rate.sustains",
            **words,
            offered=best.offered_iops,
            latency_s=best.latency_s,
            beyond=_beyond(failed, limit_s),
        )
    return worded(
        f"sustained_rate_{arrival}",
        f"Sustained rate, {wording.arrivals(arrival)}",
        "not identifiable" if best is None or failed is None else "measured",
        said,
        value=None if best is None else best.offered_iops,
        unit="IOPS",
        interval=None
        if best is None or failed is None
        else (best.offered_iops, failed.offered_iops),
        evidence=[id for load in loads for id in load.recordings],
        detail={
            "limit_s": limit_s,
            "limit_percentile": percent,
            "offered_iops": [load.offered_iops for load in loads],
            "completed_iops": [load.completed_iops for load in loads],
            "latency_s": [load.latency_s for load in loads],
            "unissued": [load.unissued for load in loads],
        },
    )


def _beyond(failed: Load | None, limit_s: float) -> Said:
    """What happened at the rate that was not sustained."""
    if failed is None:
        return say("sustained_rate.no_higher")
    if failed.unissued:
        code = "sustained_rate.unissued"
    else:
        code = f"sustained_rate.{'late' if failed.latency_s > limit_s else 'incomplete'}"
    return say(
        code,
        offered=failed.offered_iops,
        unissued=failed.unissued,
        latency_s=failed.latency_s,
        completed=failed.completed_iops,
    )


def _loads(points: Sequence[Measured]) -> dict[str, Load]:
    """By recording; of reads and writes together the slower one counts."""
    loads: dict[str, Load] = {}
    for one in points:
        latency_s = one.latency_percentile_s(float(one.point["limit_percentile"])) or 0.0
        offered = one.of.offered
        known = loads.get(one.recording)
        loads[one.recording] = Load(
            offered_iops=offered.iops if offered else 0.0,
            latency_s=max(latency_s, known.latency_s if known else 0.0),
            completed_iops=one.iops + (known.completed_iops if known else 0.0),
            unissued=offered.unissued if offered else 0,
            recordings=(one.recording,),
        )
    return loads

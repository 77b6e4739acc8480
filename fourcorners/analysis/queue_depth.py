"""What a drive gains from outstanding I/Os: the sweep of Tom's Hardware's SATA article (2011).

Only the gain is reported. Channels, command queue and link each bend the curve, and one curve
does not distinguish them.

A drive may become faster or slower by itself while the depths are measured one after the other: a
map that is written back, a cache that fills. So the shallowest depth is measured once more at the
end, and the lesser of the two gains counts. That the drive was in between at the deepest one is
assumed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.intervals import chance_log_ratio
from fourcorners.analysis.quantity import IOPS
from fourcorners.analysis.remark import Ratio, ratio_of
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say, together

TEST = "queue-depth"

NEARLY_ALL = 0.9
"""Share of the highest rate that counts as having reached it."""

GAIN_NOTED = 1.1
"""Deepest over shallowest rate from which queueing helps."""

EVEN_MAX = 1.25
"""Highest over lowest rate that are taken for one level, as a cliff has it."""

Effect = Literal["gain", "none", "loss"]


@dataclass(frozen=True)
class Sweep:
    """The points of an operation by queue depth, and the shallowest ``again`` after the deepest;
    ``None`` where it was measured once."""

    points: Sequence[Measured]
    again: Measured | None

    @property
    def gain(self) -> Ratio | None:
        """The rate of the deepest over that of the shallowest, of two the lesser; its interval
        reaches over both. The recordings are those of the deepest and of that shallowest."""
        deep, shallow = self.points[-1], self.points[0]
        gains = [
            ratio
            for one in (shallow, self.again)
            if one is not None and (ratio := ratio_of(deep, one, IOPS)) is not None
        ]
        if not gains:
            return None
        lesser = min(gains, key=lambda ratio: ratio.value)
        bounds = [ratio.interval or (ratio.value, ratio.value) for ratio in gains]
        if all(ratio.interval is None for ratio in gains):
            return lesser
        reach = min(low for low, _ in bounds), max(high for _, high in bounds)
        return Ratio(lesser.value, reach, lesser.evidence)

    @property
    def changed(self) -> bool:
        """Whether the two rates of the shallowest are not of one level."""
        if self.again is None:
            return False
        rates = self.points[0].iops, self.again.iops
        return max(rates) > EVEN_MAX * min(rates)


def sweep(run: RunData, operation: str) -> Sweep | None:
    """The sweep of a run; ``None`` where the operation was not measured."""
    found = [m for m in measured(run, TEST, operation) if m.queue_depth]
    points = [m for m in found if not m.is_again]
    points.sort(key=lambda m: m.queue_depth or 0)
    if not points:
        return None
    again = [m for m in found if m.is_again and m.queue_depth == points[0].queue_depth]
    return Sweep(points, next(iter(again), None))


def find(run: RunData) -> list[Finding]:
    """Findings ``queue_depth_read`` and ``queue_depth_write``."""
    found = ((operation, sweep(run, operation)) for operation in ("read", "write"))
    return [_finding(run, operation, one) for operation, one in found if one is not None]


def _finding(run: RunData, operation: str, seen: Sweep) -> Finding:
    name, title = f"queue_depth_{operation}", f"Queue depth, {operation}s"
    points, again = seen.points, seen.again
    evidence = [m.recording for m in (*points, *([] if again is None else [again]))]
    detail = {
        "queue_depth": [m.queue_depth for m in points],
        "iops": [m.iops for m in points],
        "bytes_per_second": [m.bytes_per_second for m in points],
        "latency_mean_s": [m.latency_mean_s for m in points],
        "latency_p99_s": [m.latency_percentile_s(99) for m in points],
    }
    shallow, deep = points[0], points[-1]
    if shallow.queue_depth == deep.queue_depth:
        said = say("queue_depth.only", depth=shallow.queue_depth)
        return worded(name, title, "not identifiable", said, evidence=evidence, detail=detail)
    ratio = seen.gain
    assert ratio is not None  # both have I/Os
    gain, effect = ratio.value, _effect(ratio, chance_log_ratio(shallow.ios, deep.ios))
    changed = _outgrows(run, points) or (
        operation == "write" and effect is not None and _drive_changed(run, effect, points)
    )
    if changed:
        effect = None
    highest = max(points, key=lambda m: m.iops)
    nearly = next(m for m in points if m.iops >= NEARLY_ALL * highest.iops)
    words = {
        "operation": operation,
        "shallow": shallow.ios,
        "deep": deep.ios,
        "gain": ratio.spread,
        "nearly_all": NEARLY_ALL,
        "nearly": nearly.queue_depth,
        "change": say(
            "queue_depth.change",
            from_iops=deep.iops / ratio.value,
            from_depth=shallow.queue_depth,
            to_iops=deep.iops,
            to_depth=deep.queue_depth,
        ),
    }
    sentences = [say(f"queue_depth.{'changed' if changed else effect or 'unclear'}", **words)]
    if again is not None and seen.changed:
        sentences.append(
            say(
                "queue_depth.again",
                depth=shallow.queue_depth,
                before=shallow.iops,
                after=again.iops,
            )
        )
    elif again is None and effect == "gain":
        sentences.append(say("queue_depth.once"))
    peak = {"highest_iops": highest.iops, "highest_queue_depth": highest.queue_depth}
    if highest is not deep and highest.iops > GAIN_NOTED * deep.iops:
        sentences.append(say("queue_depth.highest", **peak))
    return worded(
        name,
        title,
        "measured",
        together(sentences),
        value=gain,
        unit="1",
        interval=ratio.interval,
        evidence=evidence,
        detail=detail
        | {
            "gain": gain,
            "effect": effect,
            "again_iops": None if again is None else again.iops,
            **peak,
            "nearly_all_queue_depth": nearly.queue_depth,
        },
    )


def _outgrows(run: RunData, points: Sequence[Measured]) -> bool:
    """Whether the rate grew by more from a depth to the next than the depth did. Of a closed loop
    it cannot: each request would have to be served faster because others wait. So the drive was
    still busy with something of its own at the shallower one, as with what it had buffered."""
    for shallow, deep in itertools.pairwise(points):
        ratio = ratio_of(deep, shallow, IOPS)
        most = (deep.queue_depth or 1) / (shallow.queue_depth or 1)
        if ratio is not None and ratio.value > EVEN_MAX * most:
            low, _ = ratio.interval or (ratio.value, ratio.value)
            if low > most:
                return True
    return False


def _drive_changed(run: RunData, effect: Effect, points: Sequence[Measured]) -> bool:
    """Whether the writes themselves may have changed the rate that the depth is held to account
    for: a cache that fills, free blocks that run out.

    A deeper queue does not slow a drive down, at no step of the sweep; that it does nothing shows
    in an even sweep; and that it helps, where the seconds of each depth are even.
    """
    if effect == "loss":
        return True
    rates = [one.iops for one in points]
    if effect == "none":
        return max(rates) > EVEN_MAX * min(rates) or _falls(run, points)
    for one in points:
        series = np.asarray(one.second_ios, np.float64)
        seconds = full_seconds(series, one.elapsed_s)
        if len(seconds) > 2 and seconds.max() > EVEN_MAX * seconds.min():
            return True
    return False


def _falls(run: RunData, points: Sequence[Measured]) -> bool:
    """Whether a depth is slower than a shallower one by more than chance, and worth noting."""
    highest = max(points, key=lambda one: one.iops)
    for deeper in points[points.index(highest) + 1 :]:
        ratio = ratio_of(deeper, highest, IOPS)
        if ratio is not None and ratio.value < 1 / GAIN_NOTED and ratio.differs:
            return True
    return False


def _effect(ratio: Ratio, chance: float) -> Effect | None:
    """What queueing surely does; ``None`` where a gain or a loss worth noting may be there or not,
    by the interval and by the number of I/Os, whose chance is the logarithm given."""
    low, high = ratio.interval or (ratio.value, ratio.value)
    noted = max(GAIN_NOTED, math.exp(chance))
    if ratio.value >= noted and low > 1:
        return "gain"
    if ratio.value <= 1 / noted and high < 1:
        return "loss"
    if low > 1 / GAIN_NOTED and high < GAIN_NOTED:
        return "none"
    return None

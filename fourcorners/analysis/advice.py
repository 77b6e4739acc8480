"""Strengths, weaknesses and what to avoid: sentences with their number, its interval, the yardstick
that it is held against and the recordings that it rests on.

The yardsticks are the drive's own numbers: its rate before the cliff, its mean second, its median
latency, its reads, its rate of large requests, its rate with other data. From which ratio on one is
worth a sentence is a named constant here; a gain or loss whose interval includes 1 has none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.consistency_findings import SLUGGISH_IOPS
from fourcorners.analysis.estimate import averaged, of_point, of_series
from fourcorners.analysis.quantity import QUANTILES, THROUGHPUT
from fourcorners.analysis.queue_depth import sweep
from fourcorners.analysis.remark import Ratio, Remark, of_estimate, ratio_of
from fourcorners.analysis.source import RunData, measured
from fourcorners.analysis.traits import (
    SMALL_BYTES,
    Operation,
    Traits,
    busiest,
    is_of_first_writes,
)
from fourcorners.sentences import Said, say

HALF_SPEED_GOOD_BYTES = 256 * 2**10
"""Requests that ordinary programs make: half speed at or below it is a strength."""

HALF_SPEED_BAD_BYTES = 2**20
"""What programs that move large files ask for at a time: a drive that needs more for half its speed
is weak. A choice."""

SMALL_SHARE_GOOD = 0.1
"""From this share of the rate of large requests on that many small ones at once reach, nobody is
advised to make them larger: a tenth is no order less. A choice."""

# What is worth a sentence to one who picks a drive. They are choices, in round ratios that show in
# use; no drive was looked at to choose them.
QUEUE_GAIN_GOOD = 1.5
EVEN_WORST_SHARE = 0.7
UNEVEN_WORST_SHARE = 0.25
CLIFF_LEFT_BAD = 0.5
SUSTAINED_GOOD = 0.9
STRADDLING_BAD = 0.8
CONTENT_BAD = 1.2
LAST_THIRD_BAD = 0.7
TAIL_LONG = 10.0
"""p99.9 over median under load: one request in a thousand that takes ten times as long is what a
person sees as a hesitation among hundreds of requests."""

TAIL_SHORT = 2.0
"""The same up to which the slowest waited for no more than one other request."""

WAIT_NOTICED_S = 0.1
"""From here on a person notices a wait (Miller, AFIPS 33, 1968): no strength, however even."""

SETTLED_GOOD_IOPS = SLUGGISH_IOPS
"""A drive that is slower than a disk is not praised for being so evenly."""

FRESH_SECONDS_MIN = 5
"""Seconds of the fresh rate below which their scatter is not known: no interval then."""

REWRITE_MIN_S = 5e-3
"""Time of a small write from which only the rewriting of much more explains it."""

LASTING_MIN = 0.5
"""Random writes per second at the end of the consistency test over those of the lone write, below
which the lone write's cost is that of a drive with free blocks, and no strength."""

_MEDIAN = next(one for one in QUANTILES if one.percentile == 50)
_TAIL = next(one for one in QUANTILES if one.percentile == 99.9)


@dataclass
class Advice:
    """Remarks, the most important first."""

    strengths: list[Remark] = field(default_factory=list)
    weaknesses: list[Remark] = field(default_factory=list)
    avoid: list[Remark] = field(default_factory=list)


def advise(run: RunData, traits: Traits, kind: str) -> Advice:
    """Strengths, weaknesses and advice. What no test measured is not mentioned."""
    advice = Advice()
    _small_writes(traits, kind, advice)
    _small_reads(traits, advice)
    _sustained(run, traits, advice)
    _pauses(traits, advice)
    _evenness(traits, advice)
    _tails(run, advice)
    _queueing(run, traits, advice)
    _content(run, traits, advice)
    _straddling(run, advice)
    _positions(run, advice)
    return advice


def _small_writes(traits: Traits, kind: str, advice: Advice) -> None:
    write, read_s = traits.write, traits.read.cost_s
    if write.cost_s is None:
        return
    if kind != "block-mapped" or read_s is None:
        if _lasts(traits):
            _half_speed(write, "write", advice)
        return
    if write.cost_s < REWRITE_MIN_S:
        return  # The sustained writes have their own sentence.
    cost = say(
        "advice.small_writes_cost",
        iops=1 / write.cost_s,
        cost=(write.cost_s, write.cost_interval_s),
        reads=write.cost_s / read_s,
    )
    avoid = say("advice.avoid_small_writes")
    if write.half_speed_bytes is not None:
        avoid = say("advice.avoid_small_writes_below", half=_half(write))
    advice.weaknesses.append(_of_cost("small_writes_cost", write, cost, "reads"))
    advice.avoid.append(_of_cost("avoid_small_writes", write, avoid, "reads"))


def _lasts(traits: Traits) -> bool:
    """Whether small writes kept about the rate that the lone one has, where that was measured, and
    about that of the fresh drive."""
    last, fresh = (traits.consistency.get(key) for key in ("steady_iops", "fresh_iops"))
    settled = traits.settled_iops
    if fresh and settled is not None and settled < CLIFF_LEFT_BAD * fresh:
        return False
    return last is None or traits.write.cost_s is None or last >= LASTING_MIN / traits.write.cost_s


def _small_reads(traits: Traits, advice: Advice) -> None:
    read = traits.read
    if read.cost_s is None or read.half_speed_bytes is None:
        return
    _half_speed(read, "read", advice)
    if _needs_large(read):
        said = say("advice.avoid_small_reads", half_bytes=read.half_speed_bytes)
        advice.avoid.append(_of_cost("avoid_small_reads", read, said, "large_reads"))


def _half_speed(seen: Operation, operation: str, advice: Advice) -> None:
    """How large a request must be for half of what large ones reach."""
    if seen.half_speed_bytes is None:
        return
    words = {
        "operation": operation,
        "cost": (seen.cost_s, seen.cost_interval_s),
        "half": _half(seen),
    }
    yardstick = "large_reads" if operation == "read" else "large_writes"
    if seen.half_speed_bytes <= HALF_SPEED_GOOD_BYTES:
        said = say("advice.cheap", **words)
        advice.strengths.append(_of_cost(f"cheap_{operation}s", seen, said, yardstick))
    elif _needs_large(seen):
        said = say("advice.dear", **words)
        advice.weaknesses.append(_of_cost(f"dear_{operation}s", seen, said, yardstick))


def _needs_large(seen: Operation) -> bool:
    """Whether only large requests are fast, however many are outstanding.

    The half-speed size is of one request at a time. A drive that serves many at once reaches the
    same rate with requests that are smaller by what queueing gains.
    """
    if seen.half_speed_bytes is None:
        return False
    fastest = seen.fastest_bytes_per_second
    if fastest and SMALL_BYTES * (seen.most_iops or 0.0) >= SMALL_SHARE_GOOD * fastest:
        return False
    return seen.half_speed_bytes / max(1.0, seen.queue_gain or 1.0) >= HALF_SPEED_BAD_BYTES


def _half(seen: Operation) -> Said:
    code = "advice.half_as_measured" if seen.model_fails else "advice.half"
    return say(code, bytes=seen.half_speed_bytes)


def _of_cost(name: str, seen: Operation, said: Said, yardstick: str) -> Remark:
    return Remark(
        name,
        said,
        f"yardstick.{yardstick}",
        seen.cost_s,
        "s",
        seen.cost_interval_s,
        seen.cost_evidence,
    )


def _sustained(run: RunData, traits: Traits, advice: Advice) -> None:
    """What is left of the fresh rate of random writes."""
    seen = traits.consistency
    if not traits.consistency_evidence:
        return
    if seen.get("cliff_s") is None:
        _no_cliff(traits, advice)
        return
    left = _left(run, traits)
    if left is None:
        return
    written = seen["bytes_until_cliff"]

    def remark(name: str) -> Remark:
        said = say(f"advice.{name}", share=left.spread, written=written)
        return left.remark(name, said, "yardstick.before_cliff", "fraction")

    if left.value < CLIFF_LEFT_BAD:
        advice.weaknesses.append(remark("sustained_writes_fall"))
        advice.avoid.append(remark("avoid_long_writes"))
    elif left.value >= SUSTAINED_GOOD:
        advice.strengths.append(remark("sustained_writes_last"))


def _no_cliff(traits: Traits, advice: Advice) -> None:
    """A rate that never fell, also not after the first second, over enough writes to have met the
    end of any spare area."""
    seen, capacities = traits.consistency, traits.consistency.get("capacities_written")
    if seen.get("fast_first_second"):
        return
    if traits.consistency_level and seen.get("steady_iops") and (capacities or 0) >= 1:
        advice.strengths.append(
            Remark(
                "no_slowing_down",
                say("advice.no_slowing_down", written=seen["bytes_written"], capacities=capacities),
                "yardstick.start",
                seen["steady_iops"],
                "IOPS",
                None,
                traits.consistency_evidence,
            )
        )


def _pauses(traits: Traits, advice: Advice) -> None:
    """What a pause was found to give back. Where that was not measured, pauses are no advice."""
    pauses = traits.pauses
    if pauses is None or traits.consistency.get("cliff_s") is None:
        return
    name = "pauses_help" if pauses.help else "pauses_do_not_help"
    length = [] if pauses.seconds is None else [say("advice.length", seconds=pauses.seconds)]
    said = say(f"advice.{name}", length=length)
    value = float(pauses.help)
    advice.avoid.append(
        Remark(name, said, "yardstick.lost", value, "presence", None, pauses.evidence)
    )


def _left(run: RunData, traits: Traits) -> Ratio | None:
    """Random writes per second after the cliff over those before it."""
    seen, evidence = traits.consistency, traits.consistency_evidence
    fresh, settled = seen["fresh_iops"], traits.settled_iops
    if not fresh or not settled:
        return None
    [write] = [one for one in measured(run, operation="write") if one.recording == evidence[0]]
    series = np.asarray(write.second_ios, np.float64)
    seconds = full_seconds(series, write.elapsed_s)
    first = seen["steady_from_s"] if traits.consistency_level else seen["cliff_s"]
    before, after = of_series(seconds[: seen["cliff_s"]]), of_series(seconds[first:])
    if before is None or after is None or seen["cliff_s"] < FRESH_SECONDS_MIN:
        return Ratio(settled / fresh, None, evidence)
    return of_estimate(after.minus(before), evidence)


def _evenness(traits: Traits, advice: Advice) -> None:
    seen = traits.consistency
    if not traits.consistency_level or not seen.get("steady_iops"):
        return
    worst = seen["worst_second_iops"] / seen["steady_iops"]
    # A worst case has no interval: another run has another one.
    ratio = Ratio(worst, None, traits.consistency_evidence)

    def remark(name: str, code: str, **words: Any) -> Remark:
        said = say(f"advice.{code}", **words)
        return ratio.remark(name, said, "yardstick.last_seconds", "fraction")

    if worst >= EVEN_WORST_SHARE and seen["steady_iops"] >= SETTLED_GOOD_IOPS:
        advice.strengths.append(remark("even_at_the_end", "even_at_the_end", share=worst))
    elif worst < UNEVEN_WORST_SHARE:
        stall = seen["longest_stall_s"]
        code = "uneven_and_stalled" if stall else "uneven_at_the_end"
        advice.weaknesses.append(remark("uneven_at_the_end", code, share=worst, stall=stall))
        advice.avoid.append(remark("avoid_waiting", "avoid_waiting"))


def _tails(run: RunData, advice: Advice) -> None:
    """The slowest request in a thousand, of small random requests in the deepest queue."""
    for operation in ("read", "write"):
        deepest = busiest(run, operation)
        if deepest is None:
            continue
        ratio = ratio_of(deepest, deepest, _TAIL, _MEDIAN)
        slow = deepest.latency_percentile_s(99.9)
        if ratio is None or slow is None or ratio.interval is None:
            continue
        waits = say(
            "advice.waits",
            depth=deepest.queue_depth,
            operation=operation,
            slow=slow,
            gain=ratio.spread,
        )
        for side, name, applies in (
            (advice.weaknesses, "long_waits", ratio.value >= TAIL_LONG),
            (
                advice.strengths,
                "no_long_waits",
                ratio.value <= TAIL_SHORT and slow < WAIT_NOTICED_S,
            ),
        ):
            if applies:
                said = say(f"advice.{name}", waits=waits)
                side.append(ratio.remark(f"{name}_{operation}", said, "yardstick.median", "1"))


def _queueing(run: RunData, traits: Traits, advice: Advice) -> None:
    for operation, seen in (("read", traits.read), ("write", traits.write)):
        if seen.queue_effect is None:
            continue
        found = sweep(run, operation)
        gain = None if found is None else found.gain
        if found is None or gain is None:
            continue
        points = found.points
        words = {
            "operation": operation,
            "depth": points[-1].queue_depth,
            "gain": gain.spread,
            # Depth by depth writes fill a cache, whose own rate may gain.
            "written": sum(one.bytes for one in points[:-1]),
        }
        if seen.queue_effect == "gain" and gain.value >= QUEUE_GAIN_GOOD:
            code = "queueing_gains_if" if found.again is None else "queueing_gains"
            said, side = say(f"advice.{code}", **words), advice.strengths
            name = f"queueing_gains_{operation}"
        elif seen.queue_effect != "gain":
            if any(is_of_first_writes(one) for one in (points[0], points[-1])):
                continue  # A cache that fills meanwhile is another one the next time.
            name = f"queueing_gains_nothing_{operation}"
            more = (
                "queueing_gains_nothing_more" if operation == "write" else "queueing_gains_nothing"
            )
            said, side = say(f"advice.{more}", **words), advice.weaknesses
        else:
            continue
        side.append(gain.remark(name, said, "yardstick.one_at_a_time", "1"))


def _content(run: RunData, traits: Traits, advice: Advice) -> None:
    if traits.compression is None:
        return
    hard, easy = traits.compression
    share = ratio_of(hard, easy, THROUGHPUT)
    if share is None or share.value > 1 / CONTENT_BAD or not share.differs:
        return
    said = say("advice.content_matters", share=share.spread)
    advice.weaknesses.append(
        share.remark("content_matters", said, "yardstick.repeated", "fraction")
    )


def _straddling(run: RunData, advice: Advice) -> None:
    """Writes at any sector against those at multiples of 4 KiB."""
    writes = measured(run, "aligned-writes", "write")
    if len(writes) != 2:
        return
    share = ratio_of(writes[1], writes[0], THROUGHPUT)
    if share is None or share.value > STRADDLING_BAD or not share.differs:
        return
    _both(share, ("straddling_is_slow", "avoid_straddling"), "yardstick.aligned", advice)


def _both(share: Ratio, names: tuple[str, str], yardstick: str, advice: Advice) -> None:
    """A weakness, and what to avoid for it."""
    for name, side in zip(names, (advice.weaknesses, advice.avoid), strict=True):
        said = say(f"advice.{name}", share=share.spread)
        side.append(share.remark(name, said, yardstick, "fraction"))


def _positions(run: RunData, advice: Advice) -> None:
    """The end of the drive against its start."""
    points = [
        one
        for one in measured(run, "transfer-rate", "read")
        if one.point.get("position_bytes") is not None
    ]
    third = len(points) // 3
    if not third:
        return
    first, last = (
        [estimate for one in part if (estimate := of_point(one, THROUGHPUT)) is not None]
        for part in (points[:third], points[-third:])
    )
    if not first or not last:
        return
    share = of_estimate(
        averaged(last).minus(averaged(first)), tuple(one.recording for one in points)
    )
    if share.value <= LAST_THIRD_BAD and share.differs:
        _both(share, ("end_is_slow", "avoid_the_end"), "yardstick.first_third", advice)

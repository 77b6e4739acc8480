"""Strengths, weaknesses and what to avoid: sentences with their number, its interval, the yardstick
that it is held against and the recordings that it rests on.

The yardsticks are the drive's own numbers: its rate before the cliff, its mean second, its median
latency, its reads, its rate of large requests, its rate with other data. From which ratio on one is
worth a sentence is a named constant here; a gain or a loss whose interval includes 1 is not told.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fourcorners import wording
from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.consistency_findings import SLUGGISH_IOPS
from fourcorners.analysis.estimate import averaged, of_point, of_series
from fourcorners.analysis.quantity import IOPS, QUANTILES, THROUGHPUT
from fourcorners.analysis.remark import Ratio, Remark, of_estimate, ratio_of, spread
from fourcorners.analysis.source import RunData, measured
from fourcorners.analysis.traits import Operation, Pauses, Traits, busiest

HALF_SPEED_GOOD_BYTES = 256 * 2**10
"""Requests that ordinary programs make: half speed at or below it is a strength."""

HALF_SPEED_BAD_BYTES = 2**20
"""What programs that move large files ask for at a time: a drive that needs more for half its speed
is weak. A choice."""

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

CLUSTER_WRITE_MIN_S = 5e-3
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
    cost = spread(wording.duration(write.cost_s), write.cost_interval_s, "s")
    if kind == "cluster-mapped" and read_s is not None:
        if write.cost_s < CLUSTER_WRITE_MIN_S:
            return  # Of what writes become, the sustained ones tell.
        own_reads = "the drive's own random reads"
        advice.weaknesses.append(
            _of_cost(
                "small_writes_cost",
                write,
                f"Small random writes: {wording.number(1 / write.cost_s)} a second, {cost} each, "
                f"as long as {wording.number(write.cost_s / read_s)} of its own reads.",
                own_reads,
            )
        )
        half = (
            f" Half the write rate takes requests of {_half(write)}."
            if write.half_speed_bytes is not None
            else ""
        )
        advice.avoid.append(
            _of_cost(
                "avoid_small_writes",
                write,
                "Avoid small random writes, as databases, mail and system files make them; "
                f"collect them into large, aligned ones.{half}",
                own_reads,
            )
        )
    elif _lasts(traits):
        _half_speed(write, "write", cost, advice)


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
    cost = spread(wording.duration(read.cost_s), read.cost_interval_s, "s")
    _half_speed(read, "read", cost, advice)
    if _needs_large(read):
        advice.avoid.append(
            _of_cost(
                "avoid_small_reads",
                read,
                "Avoid scattered small reads; read pieces well above "
                f"{wording.size(read.half_speed_bytes)}.",
                "half of the drive's own rate of large reads",
            )
        )


def _half_speed(seen: Operation, operation: str, cost: str, advice: Advice) -> None:
    """How large a request must be for half of what large ones reach."""
    if seen.half_speed_bytes is None:
        return
    yardstick = f"half of the drive's own rate of large {operation}s"
    half = _half(seen)
    if seen.half_speed_bytes <= HALF_SPEED_GOOD_BYTES:
        text = (
            f"Random {operation}s are cheap: {cost} each, and half the {operation} rate takes "
            f"requests of {half}."
        )
        advice.strengths.append(_of_cost(f"cheap_{operation}s", seen, text, yardstick))
    elif _needs_large(seen):
        text = (
            f"Random {operation}s cost {cost} each; half the {operation} rate takes requests of "
            f"{half}."
        )
        advice.weaknesses.append(_of_cost(f"dear_{operation}s", seen, text, yardstick))


def _needs_large(seen: Operation) -> bool:
    """Whether only large requests are fast, however many are outstanding.

    The half-speed size is of one request at a time. A drive that serves many at once reaches the
    same rate with requests that are smaller by what queueing gains.
    """
    if seen.half_speed_bytes is None:
        return False
    return seen.half_speed_bytes / max(1.0, seen.queue_gain or 1.0) >= HALF_SPEED_BAD_BYTES


def _half(seen: Operation) -> str:
    measured_only = " as measured, since the access model fails here" if seen.model_fails else ""
    return f"{wording.size(seen.half_speed_bytes)}{measured_only}"


def _of_cost(name: str, seen: Operation, text: str, yardstick: str) -> Remark:
    return Remark(name, text, yardstick, seen.cost_s, "s", seen.cost_interval_s, seen.cost_evidence)


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
    yardstick = "the drive's own rate before the cliff"
    amount = wording.amount(seen["bytes_until_cliff"])
    if left.value < CLIFF_LEFT_BAD:
        advice.weaknesses.append(
            left.remark(
                "sustained_writes_fall",
                f"Sustained random writes fall to {left.share} of the fresh rate after {amount}.",
                yardstick,
                "fraction",
            )
        )
        advice.avoid.append(
            left.remark(
                "avoid_long_writes",
                f"Avoid more than {amount} of random writes at a stretch.",
                yardstick,
                "fraction",
            )
        )
    elif left.value >= SUSTAINED_GOOD:
        advice.strengths.append(
            left.remark(
                "sustained_writes_last",
                f"Sustained random writes keep {left.share} of the fresh rate.",
                yardstick,
                "fraction",
            )
        )


def _no_cliff(traits: Traits, advice: Advice) -> None:
    """A rate that never fell, over enough writes to have met the end of any spare area."""
    seen, capacities = traits.consistency, traits.consistency.get("capacities_written")
    if traits.consistency_level and seen.get("steady_iops") and (capacities or 0) >= 1:
        text = (
            "Random writes do not slow down: no cliff in "
            f"{wording.amount(seen['bytes_written'])}, {wording.times(capacities)} the capacity."
        )
        advice.strengths.append(
            Remark(
                "no_slowing_down",
                text,
                "the drive's own rate at the start",
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
    if pauses.help:
        name = "pauses_help"
        text = f"After long random writes a pause{_of(pauses)} brings much of the rate back."
    else:
        name = "pauses_do_not_help"
        text = f"After long random writes a pause{_of(pauses)} does not bring the rate back."
    yardstick = "what the writes took of the drive's own rate"
    advice.avoid.append(
        Remark(name, text, yardstick, float(pauses.help), "presence", None, pauses.evidence)
    )


def _of(pauses: Pauses) -> str:
    return "" if pauses.seconds is None else f" of {wording.duration(pauses.seconds)}"


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
    yardstick = "the mean of the drive's own last seconds"
    worst = seen["worst_second_iops"] / seen["steady_iops"]
    # A worst case has no interval: another run has another one.
    ratio = Ratio(worst, None, traits.consistency_evidence)
    share = f"{wording.percent(worst)} of the mean"
    if worst >= EVEN_WORST_SHARE and seen["steady_iops"] >= SETTLED_GOOD_IOPS:
        text = f"Even under load: the worst of the last seconds delivers {share}."
        advice.strengths.append(ratio.remark("even_at_the_end", text, yardstick, "fraction"))
    elif worst < UNEVEN_WORST_SHARE:
        stall = seen["longest_stall_s"]
        stalled = f", and it stood still for {wording.count(stall, 'second')}" if stall else ""
        text = f"Uneven under load: the worst of the last seconds delivers {share}{stalled}."
        advice.weaknesses.append(ratio.remark("uneven_at_the_end", text, yardstick, "fraction"))
        text = (
            "Avoid programs that wait for each write while others keep the drive busy: they meet "
            "its worst seconds."
        )
        advice.avoid.append(ratio.remark("avoid_waiting", text, yardstick, "fraction"))


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
        yardstick = "the median of the same recording"
        text = (
            f"at queue depth {deepest.queue_depth} one random {operation} in a thousand takes "
            f"{wording.duration(slow)} or more, {ratio.times} the median."
        )
        if ratio.value >= TAIL_LONG:
            name = f"long_waits_{operation}"
            advice.weaknesses.append(ratio.remark(name, f"Long waits: {text}", yardstick, "1"))
        elif ratio.value <= TAIL_SHORT and slow < WAIT_NOTICED_S:
            name = f"no_long_waits_{operation}"
            advice.strengths.append(ratio.remark(name, f"No long waits: {text}", yardstick, "1"))


def _queueing(run: RunData, traits: Traits, advice: Advice) -> None:
    for operation, seen in (("read", traits.read), ("write", traits.write)):
        if seen.queue_effect is None:
            continue
        points = sorted(
            (one for one in measured(run, "queue-depth", operation) if one.queue_depth),
            key=lambda one: one.queue_depth or 0,
        )
        gain = ratio_of(points[-1], points[0], IOPS)
        if gain is None:
            continue
        depth, yardstick = points[-1].queue_depth, "the drive's own rate of one request at a time"
        if seen.queue_effect == "gain" and gain.value >= QUEUE_GAIN_GOOD:
            text = f"Random {operation}s become {gain.times} as fast with {depth} outstanding."
            advice.strengths.append(
                gain.remark(f"queueing_gains_{operation}", text, yardstick, "1")
            )
        elif seen.queue_effect != "gain":
            # Depth by depth writes fill a cache, whose own rate may gain.
            wrote = sum(one.bytes for one in points[:-1])
            then = f", once {wording.amount(wrote)} are written" if operation == "write" else ""
            text = (
                f"Random {operation}s gain nothing from {depth} outstanding requests{then}: "
                f"{gain.times} the rate of one."
            )
            name = f"queueing_gains_nothing_{operation}"
            advice.weaknesses.append(gain.remark(name, text, yardstick, "1"))


def _content(run: RunData, traits: Traits, advice: Advice) -> None:
    if traits.compression is None:
        return
    hard, easy = traits.compression
    share = ratio_of(hard, easy, THROUGHPUT)
    if share is None or share.value > 1 / CONTENT_BAD or not share.differs:
        return
    text = (
        "Data that does not compress, such as pictures, films and encrypted files, is written "
        f"at {share.share} of the rate of repeated data."
    )
    advice.weaknesses.append(
        share.remark("content_matters", text, "the drive's own rate with repeated data", "fraction")
    )


def _straddling(run: RunData, advice: Advice) -> None:
    """Writes at any sector beside those at multiples of 4 KiB."""
    writes = measured(run, "aligned-writes", "write")
    if len(writes) != 2:
        return
    share = ratio_of(writes[1], writes[0], THROUGHPUT)
    if share is None or share.value > STRADDLING_BAD or not share.differs:
        return
    yardstick = "the drive's own aligned writes"
    text = f"Writes that straddle 4 KiB reach {share.share} of the rate of aligned ones."
    advice.weaknesses.append(share.remark("straddling_is_slow", text, yardstick, "fraction"))
    text = "Avoid partitions and records that do not begin at multiples of 4 KiB."
    advice.avoid.append(share.remark("avoid_straddling", text, yardstick, "fraction"))


def _positions(run: RunData, advice: Advice) -> None:
    """The end of the drive beside its start."""
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
        yardstick = "the first third of the drive"
        text = f"The last third of the drive is read at {share.share} of the rate of the first."
        advice.weaknesses.append(share.remark("end_is_slow", text, yardstick, "fraction"))
        text = "Avoid the end of the drive for what has to be fast: put that at its start."
        advice.avoid.append(share.remark("avoid_the_end", text, yardstick, "fraction"))

"""The few numbers by which the summary distinguishes drives, gathered from the other findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.analysis.consistency import longest_stall_s
from fourcorners.analysis.consistency_findings import feels_like
from fourcorners.analysis.estimate import SECOND_IOS_MIN, of_point
from fourcorners.analysis.internals.collection.recovery import UNCHANGED_MAX
from fourcorners.analysis.quantity import IOPS, MEAN_LATENCY
from fourcorners.analysis.queue_depth import Effect
from fourcorners.analysis.remark import Sentence
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding
from fourcorners.patterns import INCOMPRESSIBLE

SMALL_BYTES = 4096
"""The reviews' small request."""

LARGE_BYTES = 2**20
"""Random requests from here on count as sequential: a vendor's "up to" is of large requests."""

LAST_SECONDS_MIN = 10
"""Last seconds from which their mean stands for what follows the cliff: in fewer a single burst of
collection decides."""

STANDSTILLS_MIN = 2.0
"""Lengths of a recording in standstills of the drive, below which one more or less changes its mean
by a half or more: whether it meets one is then a chance, and its mean is not met again."""

SETTLED_S = 10.0
"""Shortest recording of writes whose figures have an interval: in the first seconds caches, logs
and free blocks decide, which its seconds do not show. Of an SLC cache 3 s were too few, and of log
blocks that small writes had left behind 4 s of large ones."""

FEW_IOS = 4
"""Large requests of which fewer have no rate of their own: one of 512 MiB falls into a pause of the
drive or beside it."""

_FILLED, _OF_A_DISK = ("probe-sizes", "probe-overwrite"), ("probe-positions",)
"""Probes that read what they filled, or all of a disk; and one that reads all of a disk, but of
flash what was never written."""


@dataclass(frozen=True)
class Operation:
    """What the tests say of one operation; ``None`` where no test says it."""

    cost_s: float | None
    """Time that one small random I/O takes of the drive: that of a lone one (:func:`alone`) where
    it was measured, so that a page has one number for it; else elapsed time per I/O at the
    shallowest queue measured."""
    cost_depth: int | None
    """Queue depth at which that was measured."""
    half_speed_bytes: float | None
    """The model's; where that fails the smallest size measured that reaches, with all larger ones,
    half of the fastest's rate. ``None`` also where smaller requests outpaced the largest, which
    makes it meaningless."""
    model_fails: bool
    """Whether the access model fails at some size: what stands here is then measured."""
    fastest_bytes_per_second: float | None
    """Highest rate of large or sequential requests."""
    cost_interval_s: tuple[float, float] | None
    cost_evidence: tuple[str, ...]
    """Recordings that the cost is from."""
    quickest_s: float | None
    """The least mean latency of small random I/Os at any queue depth, by Little's law."""
    most_iops: float | None
    """The highest rate of small random I/Os at any queue depth."""
    spread_s: float | None
    """By how much the middle half of the I/Os that tell the cost differ, if each was alone."""
    spread_ios: int
    median_s: float | None
    """The median time of these I/Os, if each was alone."""
    queue_effect: Effect | None
    """What queueing surely does."""
    queue_gain: float | None
    queue_deepest: int | None


@dataclass(frozen=True)
class Pauses:
    """Whether pauses bring back what long random writes took of the rate."""

    help: bool
    seconds: float | None
    """The shortest pause that gives half of it back, or the longest that does not."""
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Traits:
    """Everything the summary's rules look at."""

    read: Operation
    write: Operation
    rewritten_block_bytes: float | None
    consistency: Mapping[str, Any] = field(default_factory=dict)
    consistency_level: bool = False
    """Whether random writes had come to a level after the cliff, if there was one: their steady
    state, or what looks like it so far."""
    consistency_evidence: tuple[str, ...] = ()
    felt: Sentence | None = None
    """How that level feels to a person; ``None`` without a level."""
    pauses: Pauses | None = None
    """``None`` where nothing measured it."""
    compression: tuple[Measured, Measured] | None = None
    """Incompressible and repeated writes, where their difference is no chance."""
    evidence: tuple[str, ...] = ()

    @property
    def cliff_shows_mapping(self) -> bool:
        """Whether random writes went on for long enough after a cliff for it to be no single
        standstill, which collection and merges have alike."""
        seen = self.consistency
        if seen.get("cliff_s") is None:
            return False
        after_s = seen["seconds"] - seen["cliff_s"]
        return bool(after_s >= STANDSTILLS_MIN * seen["longest_stall_s"])

    @property
    def lasting_write_s(self) -> float | None:
        """What a random write takes after the cliff, of many outstanding; ``None`` without one."""
        after = self.consistency.get("after_cliff_iops")
        return 1 / after if after else None

    @property
    def settled_seconds(self) -> int | None:
        """How many last seconds stand for what follows the cliff; ``None`` where all that follow
        do, since the last are few or not level."""
        seen = self.consistency
        last = seen.get("seconds", 0) - seen.get("steady_from_s", 0)
        return last if self.consistency_level and last >= LAST_SECONDS_MIN else None

    @property
    def settled_iops(self) -> float | None:
        """Random writes per second after the cliff: their mean."""
        of_all = self.settled_seconds is None
        return self.consistency.get("after_cliff_iops" if of_all else "steady_iops")


def gather(run: RunData, findings: Iterable[Finding]) -> Traits:
    """The traits of a run from its findings and, where those are missing, its recordings."""
    by_name = {finding.name: finding for finding in findings}
    write_model = _detail(by_name, "access_model_write")
    consistency = by_name.get("consistency_write")
    compression = by_name.get("compression")
    level = consistency is not None and bool(consistency.detail.get("level"))
    return Traits(
        read=_operation(run, by_name, "read"),
        write=_operation(run, by_name, "write"),
        rewritten_block_bytes=write_model.get("cluster_bytes_estimate"),
        consistency={} if consistency is None else consistency.detail,
        consistency_level=level,
        consistency_evidence=() if consistency is None else tuple(consistency.evidence),
        felt=feels_like(consistency) if consistency is not None and level else None,
        pauses=_pauses(by_name),
        compression=None if compression is None else _contents(run, compression),
        evidence=tuple(dict.fromkeys(id for f in by_name.values() for id in f.evidence)),
    )


def _pauses(by_name: Mapping[str, Finding]) -> Pauses | None:
    """By the test of recovery, which tries pauses of several lengths; else by the probe's."""
    tried, probed = by_name.get("recovery_time"), by_name.get("idle_recovery")
    if tried is not None and tried.value is not None:
        return Pauses(True, tried.value, tuple(tried.evidence))
    if tried is not None and max(tried.detail["share_of_lost"]) < UNCHANGED_MAX:
        return Pauses(False, max(tried.detail["idle_s"]), tuple(tried.evidence))
    if probed is not None and probed.value is not None:
        return Pauses(bool(probed.value), probed.detail.get("pause_s"), tuple(probed.evidence))
    return None


def _detail(by_name: Mapping[str, Finding], name: str) -> Mapping[str, Any]:
    return by_name[name].detail if name in by_name else {}


def _operation(run: RunData, by_name: Mapping[str, Finding], operation: str) -> Operation:
    model = _detail(by_name, f"access_model_{operation}")
    queue = _detail(by_name, f"queue_depth_{operation}")
    depths = queue.get("queue_depth")
    whole = of_the_whole(run, operation, _turns(by_name))
    small = alone(run, whole) or _smallest_random(run, operation)
    lasting = outlasting_standstills(run, small_random(whole))
    big = large(run, whole)
    if operation == "write" and _compresses(by_name):
        big = [one for one in big if one.point.get("content") == INCOMPRESSIBLE]
    fails = model.get("misfit_range_block_bytes") is not None
    half = _half_speed_measured(model) if fails else model.get("half_speed_bytes")
    return Operation(
        cost_s=None if small is None else _cost_s(small),
        cost_depth=None if small is None else small.queue_depth,
        cost_interval_s=None if small is None else _cost_interval_s(run, small),
        cost_evidence=() if small is None else (small.recording,),
        quickest_s=_quickest_s(lasting),
        most_iops=max((one.iops for one in lasting), default=None),
        spread_s=None if small is None else _spread_s(small),
        spread_ios=0 if small is None else small.ios,
        median_s=None if small is None else _median_s(small),
        half_speed_bytes=None if model.get("largest_is_outpaced") else half,
        model_fails=fails,
        fastest_bytes_per_second=max((one.bytes_per_second for one in big), default=None),
        queue_effect=queue.get("effect"),
        queue_gain=queue.get("gain"),
        queue_deepest=depths[-1] if depths and "gain" in queue else None,
    )


def _compresses(by_name: Mapping[str, Finding]) -> bool:
    return bool(_detail(by_name, "compression").get("seen"))


def _turns(by_name: Mapping[str, Finding]) -> bool:
    rotation = by_name.get("rotation_rpm")
    return rotation is not None and bool(rotation.value)


def of_the_whole(run: RunData, operation: str, turns: bool) -> list[Measured]:
    """Measurements of the drive as it is used. Most probes read or write one place over and over,
    or what was never written; and of a disk (which ``turns``) a part, where its arm has little to
    do."""
    return [
        one
        for one in measured(run, operation=operation)
        if not one.is_apart
        and (
            not one.test.startswith("probe-")
            or (
                one.test in (*_FILLED, *(_OF_A_DISK if turns else ()))
                and one.point.get("sentinel") is None
            )
            or (not turns and "/random/" in one.recording)
        )
    ]


def large(run: RunData, points: Iterable[Measured]) -> list[Measured]:
    """Sequential requests, and random ones so large that they count as such; no small ones, of
    which no vendor states a sequential rate. Recordings of a few requests, and those that do not
    outlast a standstill of the drive, count only where there are no others: the rate of one huge
    request is luck, and so is that of a second between two pauses."""
    found = [
        one
        for one in points
        if one.point.get("operation") == one.operation
        and not one.of.interrupted
        and (one.block_bytes or 0)
        > (SMALL_BYTES if one.point.get("pattern") == "sequential" else LARGE_BYTES - 1)
    ]
    found = [one for one in found if one.ios >= FEW_IOS] or found
    return outlasting_standstills(run, found) or found


def is_of_first_writes(one: Measured) -> bool:
    """Whether it is so short that how well its figures would be met again is not known."""
    return one.operation == "write" and (one.elapsed_s) < SETTLED_S


def alone(run: RunData, points: Iterable[Measured]) -> Measured | None:
    """One small random request at a time: the first of the run that was not cut short, and that
    chance did not decide (:func:`outlasting_standstills`)."""
    small = outlasting_standstills(run, small_random(points))
    return next((one for one in small if one.queue_depth == 1), None)


def small_random(points: Iterable[Measured]) -> list[Measured]:
    """Small random requests, so many outstanding, of recordings that were not cut short."""
    return [
        one
        for one in points
        if one.point.get("operation") == one.operation
        and one.point.get("pattern") == "random"
        and one.block_bytes == SMALL_BYTES
        and one.queue_depth
        and not one.of.interrupted
    ]


def outlasting_standstills(run: RunData, points: Sequence[Measured]) -> list[Measured]:
    """Those that are long against the longest standstill of the drive in any of them, so that it is
    no chance how many they meet (:data:`STANDSTILLS_MIN`): a drive that merges blocks for half a
    minute after some thousand writes may do so in a short recording, or just after it."""
    longest = max((_standstill_s(run, one) for one in points), default=0.0)
    return [one for one in points if (one.elapsed_s) >= STANDSTILLS_MIN * longest]


def _standstill_s(run: RunData, one: Measured) -> float:
    """The longest time in which nothing completed: of one request at a time the longest wait
    beyond the median, of more the longest row of empty seconds, if a second usually has enough of
    them to be none by chance."""
    if one.queue_depth == 1:
        return (one.latency_max_s or 0.0) - (one.latency_percentile_s(50) or 0.0)
    seconds = np.asarray(one.second_ios, np.float64)
    busy = seconds[seconds > 0]
    usual = len(busy) and float(busy.mean()) >= SECOND_IOS_MIN
    return float(longest_stall_s(seconds)) if usual else 0.0


def _half_speed_measured(model: Mapping[str, Any]) -> float | None:
    """The smallest size that reaches, with all larger ones, half of the fastest one's rate.

    ``None`` where a smaller size reaches it too: the drive was not the same at all sizes.
    """
    sizes, rates = model["block_bytes"], model["measured_bytes_per_second"]
    half = max(rates) / 2
    slow = max((s for s, rate in zip(sizes, rates, strict=True) if rate < half), default=0)
    if any(s < slow and rate >= half for s, rate in zip(sizes, rates, strict=True)):
        return None
    return min((size for size in sizes if size > slow), default=None)


def _cost_s(small: Measured) -> float:
    """Its latency, if it was alone; else elapsed time per I/O."""
    latency = MEAN_LATENCY.of(small) if small.queue_depth == 1 else None
    return 1 / small.iops if latency is None else latency


def _spread_s(small: Measured) -> float | None:
    low, high = small.latency_percentile_s(25), small.latency_percentile_s(75)
    return None if small.queue_depth != 1 or low is None or high is None else high - low


def _median_s(small: Measured) -> float | None:
    return small.latency_percentile_s(50) if small.queue_depth == 1 else None


def _quickest_s(points: Iterable[Measured]) -> float | None:
    return min(((one.queue_depth or 1) / one.iops for one in points), default=None)


def _cost_interval_s(run: RunData, point: Measured) -> tuple[float, float] | None:
    if is_of_first_writes(point):
        return None
    if point.queue_depth == 1 and MEAN_LATENCY.of(point) is not None:
        of_latency = of_point(point, MEAN_LATENCY)
        return None if of_latency is None else of_latency.interval()
    estimate = of_point(point, IOPS)
    if estimate is None:
        return None
    low, high = estimate.interval()
    return 1 / high, 1 / low


def _smallest_random(run: RunData, operation: str) -> Measured | None:
    """Small random I/Os at the shallowest queue of any test."""
    small = [
        m
        for m in measured(run, operation=operation)
        if m.point.get("pattern") == "random"
        and m.queue_depth
        and (m.block_bytes or 0) <= SMALL_BYTES
        and not m.is_apart
    ]
    small = outlasting_standstills(run, small)
    return min(small, key=lambda m: (m.queue_depth or 0, m.block_bytes or 0), default=None)


def _contents(run: RunData, compression: Finding) -> tuple[Measured, Measured] | None:
    """Incompressible and repeated writes of the pair that gains the most from its content."""
    detail = compression.detail
    pairs = [
        (ratio, hard, easy)
        for ratio, noted, hard, easy in zip(
            detail.get("repeated_over_incompressible", ()),
            detail.get("noted", ()),
            detail.get("recording_incompressible", ()),
            detail.get("recording_repeated", ()),
            strict=True,
        )
        if noted
    ]
    if not pairs:
        return None
    _, hard, easy = max(pairs)
    by_id = {m.recording: m for m in measured(run, operation="write")}
    return by_id[hard], by_id[easy]


def busiest(run: RunData, operation: str) -> Measured | None:
    """Small random requests in the deepest queue; of writes those of the consistency test, if it
    ran, since they go on when a fresh drive's end."""
    for tests in (("consistency",), ("queue-depth", "four-corners")):
        points = [
            one
            for test in tests
            for one in measured(run, test, operation)
            if one.point.get("pattern") == "random" and one.block_bytes == SMALL_BYTES
        ]
        if points:
            return max(points, key=lambda one: one.queue_depth or 0)
    return None

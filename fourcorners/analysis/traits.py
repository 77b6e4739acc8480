"""The few numbers by which the summary tells drives apart, gathered from the other findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fourcorners.analysis.access_findings import TEST
from fourcorners.analysis.estimate import of_run
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.quantity import IOPS
from fourcorners.analysis.queue_depth import Effect
from fourcorners.analysis.source import Measured, RunData, measured

SMALL_BYTES = 4096
"""The reviews' small request."""


@dataclass(frozen=True)
class Operation:
    """What the tests say of one operation; ``None`` where no test says it."""

    cost_s: float | None
    """Time that one small random I/O takes of the drive: the access penalty or, where there is none
    or the model fails, elapsed time per I/O at the shallowest queue measured."""
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
    queue_effect: Effect | None
    """What queueing surely does."""
    queue_gain: float | None
    queue_deepest: int | None


@dataclass(frozen=True)
class Traits:
    """Everything the summary's rules look at."""

    read: Operation
    write: Operation
    cluster_bytes: float | None
    consistency: Mapping[str, Any] = field(default_factory=dict)
    consistency_level: bool = False
    """Whether random writes had come to a level after the cliff, if there was one: their steady
    state, or what looks like it so far."""
    consistency_evidence: tuple[str, ...] = ()
    compression: tuple[Measured, Measured] | None = None
    """Incompressible and repeated writes, where their difference is no chance."""
    evidence: tuple[str, ...] = ()

    @property
    def settled_iops(self) -> float | None:
        """Random writes per second after the cliff: of the last seconds if they are level."""
        key = "steady_iops" if self.consistency_level else "after_cliff_iops"
        return self.consistency.get(key)


def gather(run: RunData, findings: Iterable[Finding]) -> Traits:
    """The traits of a run from its findings and, where those are missing, its recordings."""
    by_name = {finding.name: finding for finding in findings}
    write_model = _detail(by_name, "access_model_write")
    consistency = by_name.get("consistency_write")
    compression = by_name.get("compression")
    return Traits(
        read=_operation(run, by_name, "read"),
        write=_operation(run, by_name, "write"),
        cluster_bytes=write_model.get("cluster_bytes_estimate"),
        consistency={} if consistency is None else consistency.detail,
        consistency_level=consistency is not None and bool(consistency.detail.get("level")),
        consistency_evidence=() if consistency is None else tuple(consistency.evidence),
        compression=None if compression is None else _contents(run, compression),
        evidence=tuple(dict.fromkeys(id for f in by_name.values() for id in f.evidence)),
    )


def _detail(by_name: Mapping[str, Finding], name: str) -> Mapping[str, Any]:
    return by_name[name].detail if name in by_name else {}


def _operation(run: RunData, by_name: Mapping[str, Finding], operation: str) -> Operation:
    model = _detail(by_name, f"access_model_{operation}")
    queue = _detail(by_name, f"queue_depth_{operation}")
    corner = by_name.get(f"corner_sequential_{operation}")
    rates = [model.get("fastest_bytes_per_second"), corner.value if corner else None]
    depths = queue.get("queue_depth")
    finding = by_name.get(f"access_model_{operation}")
    small = _smallest_random(run, operation)
    modelled = model.get("access_penalty_s")
    fails = model.get("misfit_range_block_bytes") is not None
    half = model.get("half_speed_bytes")
    if fails:
        small = _of_transfer_sizes(run, operation) or small
        half = _half_speed_measured(model)
    if modelled and not fails:
        assert finding is not None
        cost, interval, evidence = modelled, finding.interval, tuple(finding.evidence)
    elif small:
        cost, interval, evidence = 1 / small.iops, _time_interval(run, small), (small.recording,)
    else:
        cost, interval, evidence = None, None, ()
    return Operation(
        cost_s=cost,
        cost_interval_s=interval,
        cost_evidence=evidence,
        half_speed_bytes=None if model.get("largest_is_outpaced") else half,
        model_fails=fails,
        fastest_bytes_per_second=max((rate for rate in rates if rate), default=None),
        queue_effect=queue.get("effect"),
        queue_gain=queue.get("gain"),
        queue_deepest=depths[-1] if depths and "gain" in queue else None,
    )


def _of_transfer_sizes(run: RunData, operation: str) -> Measured | None:
    """The small request of the measurement that the access model is about."""
    points = [m for m in measured(run, TEST, operation) if m.block_bytes]
    return next((m for m in points if m.block_bytes == SMALL_BYTES), None)


def _half_speed_measured(model: Mapping[str, Any]) -> float | None:
    """The smallest size that reaches, with all larger ones, half of the fastest one's rate."""
    sizes, rates = model["block_bytes"], model["measured_bytes_per_second"]
    slow = [size for size, rate in zip(sizes, rates, strict=True) if rate < max(rates) / 2]
    return min((size for size in sizes if size > max(slow, default=0)), default=None)


def _time_interval(run: RunData, point: Measured) -> tuple[float, float] | None:
    """Interval of the elapsed time per I/O, in seconds."""
    estimate = of_run(run, point, IOPS)
    if estimate is None:
        return None
    low, high = estimate.interval()
    return 1 / high, 1 / low


def _smallest_random(run: RunData, operation: str) -> Measured | None:
    """Small random I/Os at the shallowest queue of any test."""
    small = [
        m
        for m in measured(run, operation=operation)
        if m.point.get("pattern") == "random" and m.queue_depth and (m.block_bytes or 0) <= 4096
    ]
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

"""Little's law, the check that no I/O was lost and no time miscounted.

L = X * W (Little, Operations Research 9, 1961): the mean number of outstanding I/Os equals their
rate times their mean latency. The left side is integrated where I/Os are issued, the right side
comes from completions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import Measured, RunData, measured

TOLERANCE = 0.01
"""Relative deviation that is accepted, of the law and of the nominal queue depth."""

_TOLD_MAX = 3
"""Recordings that a sentence names: more are no sentence any more."""


@dataclass(frozen=True)
class _Balance:
    recording: str
    integrated: float
    from_latency: float
    nominal: int | None
    errors: int
    edge: float

    @property
    def deviation(self) -> float:
        return self.from_latency / self.integrated - 1

    @property
    def holds(self) -> bool:
        return abs(self.deviation) <= TOLERANCE + self.edge

    @property
    def fill(self) -> float | None:
        return None if self.nominal is None else self.integrated / self.nominal


def find(run: RunData) -> list[Finding]:
    """Finding ``littles_law`` over every recording that has what it needs."""
    balances = _balances(run)
    if not balances:
        return []
    broken = [b for b in balances if not b.holds]
    worst = max(balances, key=lambda b: (not b.holds, abs(b.deviation)))
    off_nominal = [b for b in balances if b.fill is not None and abs(b.fill - 1) > TOLERANCE]
    text = [_law_sentence(balances, broken, worst)]
    if off_nominal:
        text.append(_nominal_sentence(off_nominal))
    return [
        Finding(
            name="littles_law",
            title="Little's law",
            verdict="violated" if broken else "holds",
            text=" ".join(text),
            value=worst.deviation,
            unit="fraction",
            evidence=[b.recording for b in balances],
            detail={
                "tolerance": TOLERANCE,
                "worst_recording": worst.recording,
                "recording": [b.recording for b in balances],
                "iops_times_latency": [b.from_latency for b in balances],
                "mean_queue_depth": [b.integrated for b in balances],
                "nominal_queue_depth": [b.nominal for b in balances],
                "relative_deviation": [b.deviation for b in balances],
                "violated": [b.recording for b in broken],
                "nominal_not_reached": [b.recording for b in off_nominal],
            },
        )
    ]


def _balances(run: RunData) -> list[_Balance]:
    """Both sides of the law for each recording; all operations of one share its queue."""
    rows: dict[str, list[Measured]] = {}
    for row in measured(run):
        if row.of.mean_queue_depth and row.latency_mean_s is not None:
            rows.setdefault(row.recording, []).append(row)
    return [
        _Balance(
            recording=recording,
            integrated=operations[0].of.mean_queue_depth or 0.0,
            from_latency=sum(m.iops * _outstanding_s(m) for m in operations),
            nominal=operations[0].queue_depth,
            errors=operations[0].of.error_count,
            edge=_edge(operations),
        )
        for recording, operations in rows.items()
    ]


def _outstanding_s(row: Measured) -> float:
    """Mean time that an I/O was outstanding: at a given rate its service, else all its latency."""
    service_s = row.stage_mean_s("service")
    return service_s if service_s is not None else row.latency_mean_s or 0.0


def _edge(operations: Sequence[Measured]) -> float:
    """Largest relative deviation that a ramp explains; 0 without one, when measuring began with
    nothing outstanding.

    Each I/O that was outstanding when measuring began counts with its whole latency, of which the
    part before is not in the queue's integral: at most one worst latency per slot.
    """
    workload = operations[0].of.workload
    if workload is None or not workload.ramp_s:
        return 0.0
    worst_s = max(m.latency_max_s or 0.0 for m in operations)
    elapsed_s = operations[0].elapsed_s
    return worst_s / elapsed_s if elapsed_s else 0.0


def _law_sentence(balances: list[_Balance], broken: list[_Balance], worst: _Balance) -> str:
    deviation = wording.percent(abs(worst.deviation))
    if not broken:
        return (
            "Rate times mean latency equals the mean queue depth in "
            f"{wording.count(len(balances), 'recording')} of {len(balances)} (worst deviation "
            f"{deviation}, {worst.recording}): no I/O was lost or miscounted."
        )
    sentence = (
        f"Rate times mean latency misses the mean queue depth in {len(broken)} of "
        f"{wording.count(len(balances), 'recording')}: in {worst.recording} "
        f"{wording.number(worst.from_latency)} against {wording.number(worst.integrated)} "
        f"({deviation}). Rates or latencies of these recordings are not to be trusted."
    )
    failed = sum(b.errors for b in broken)
    if failed:
        sentence += (
            f" {wording.count(failed, 'I/O')} failed in them: failed I/Os queue but have no "
            "latency, which may be all of it."
        )
    return sentence


def _nominal_sentence(off_nominal: list[_Balance]) -> str:
    ranked = sorted(off_nominal, key=lambda b: -abs((b.fill or 1) - 1))
    told: list[Any] = [
        f"{b.recording} {wording.number(b.integrated)} of {b.nominal}" for b in ranked[:_TOLD_MAX]
    ]
    more = f" and {len(ranked) - _TOLD_MAX} more" if len(ranked) > _TOLD_MAX else ""
    return (
        f"In {wording.count(len(ranked), 'recording')} the mean queue depth differs from the "
        f"nominal one by more than {wording.percent(TOLERANCE, 1)}, as in short runs whose tail "
        "drains, and where the host takes its time to make the data of a large write: "
        f"{', '.join(told)}{more}."
    )

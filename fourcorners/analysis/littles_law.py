"""Little's law, the check that no I/O was lost and no time miscounted.

L = X * W (Little, Operations Research 9, 1961): the mean number of outstanding I/Os equals their
rate times their mean latency. The left side is integrated where I/Os are issued, the right side
comes from completions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.patterns import CLOSED_LOOP
from fourcorners.sentences import Said, say, together

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
    sentences = _law_sentences(balances, broken, worst)
    if off_nominal:
        sentences.append(_nominal_sentence(off_nominal))
    return [
        worded(
            "littles_law",
            "Little's law",
            "violated" if broken else "holds",
            together(sentences),
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
    untold = set()
    for row in measured(run):
        if row.of.mean_queue_depth and row.latency_mean_s is not None:
            rows.setdefault(row.recording, []).append(row)
            if _outstanding_s(row) is None:
                untold.add(row.recording)
    return [
        _Balance(
            recording=recording,
            integrated=operations[0].of.mean_queue_depth or 0.0,
            from_latency=sum(m.iops * (_outstanding_s(m) or 0.0) for m in operations),
            nominal=operations[0].queue_depth,
            errors=operations[0].of.error_count,
            edge=_edge(operations),
        )
        for recording, operations in rows.items()
        if recording not in untold
    ]


def _outstanding_s(row: Measured) -> float | None:
    """Mean time that an I/O was outstanding: at a given rate its service, else all its latency.
    ``None`` where I/Os at a rate waited beside others in a closed loop: the parts of the latency
    are those of the former, and how many they were is not kept."""
    waits = [row.stage_mean_s(stage) for stage in ("queue", "lateness")]
    if not any(waits):
        return row.latency_mean_s
    workload = row.of.workload
    if workload and any(stream.arrival == CLOSED_LOOP for stream in workload.streams):
        return None
    return row.stage_mean_s("service")


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


def _law_sentences(balances: list[_Balance], broken: list[_Balance], worst: _Balance) -> list[Said]:
    sentences = [
        say(
            "littles_law.violated" if broken else "littles_law.holds",
            recordings=len(balances),
            broken=len(broken),
            worst=worst.recording,
            from_latency=worst.from_latency,
            integrated=worst.integrated,
            deviation=abs(worst.deviation),
        )
    ]
    failed = sum(b.errors for b in broken)
    if failed:
        sentences.append(say("littles_law.failed", failed=failed))
    return sentences


def _nominal_sentence(off_nominal: list[_Balance]) -> Said:
    ranked = sorted(off_nominal, key=lambda b: -abs((b.fill or 1) - 1))
    examples = [
        say(
            "littles_law.example",
            recording=b.recording,
            integrated=b.integrated,
            nominal=b.nominal,
        )
        for b in ranked[:_TOLD_MAX]
    ]
    more = len(ranked) - _TOLD_MAX
    return say(
        "littles_law.nominal",
        recordings=len(ranked),
        tolerance=TOLERANCE,
        examples=examples,
        more=[say("littles_law.more", more=more)] if more > 0 else [],
    )

"""Artefacts that need several recordings, or the seconds of one: caches, caps, earlier writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fourcorners.analysis.artefacts.artefact import Artefact
from fourcorners.analysis.artefacts.case import Case
from fourcorners.analysis.internals.link.generation import generations_at
from fourcorners.analysis.source import Array
from fourcorners.sentences import say

FALL_MIN = 1.5
"""Rate before over rate after. Disks fall by less than that from track to track, and to half from
edge to centre by and by."""

EDGE_MIN = 1.3
"""The same from one pair of seconds to the next, which distinguishes a step from a slope."""

SPREADS_MIN = 6
"""Height of the step over the spread of the seconds after it, to distinguish it from the best of
many uneven seconds."""

SIDE_SHARE_MIN = 0.9
"""Seconds before and after that must lie on their side of the middle."""

SECONDS_MIN = 6
"""Of a series: two levels of three seconds, the fewest that have a median and a scatter."""

_PROBE = "probe-"
"""How the ids of recordings of probes begin: what they show says itself what a cache took."""

_ERASED_BY_DESIGN = (
    _PROBE,
    "snia-write-saturation/",
    "snia-host-idle-recovery/",
    "snia-cross-stimulus-recovery/",
)
"""How the ids of recordings begin of tests that are about a drive that is erased, or say by
themselves how much of it they wrote."""

CAP_TOLERANCE = 0.01
"""Points at a cap agree within the bucket's depth; points of a drive differ by its physics."""

CAP_POINTS_MIN, CAP_RANGE_MIN = 4, 4
"""Points at a cap, and largest over smallest block size and queue depth among them, for an IOPS cap
and a rate cap alike: four points over two doublings do not agree by chance within
:data:`CAP_TOLERANCE`."""


def write_caches(cases: Sequence[Case]) -> Iterator[tuple[Case, Artefact]]:
    """Sequential writes that a cache took, in part or all."""
    falls = [(case, fall) for case in cases if (fall := _fall(case)) is not None]
    for case, (bytes_until, fast, slow) in falls:
        yield (
            case,
            Artefact(
                "write_cache",
                "moderate",
                say("artefact_write_cache.seen"),
                {
                    "bytes_until_fall": bytes_until,
                    "fast_bytes_per_second": fast,
                    "slow_bytes_per_second": slow,
                },
            ),
        )
    if not falls:
        return
    size = min(bytes_until for _, (bytes_until, _, _) in falls)
    fast = min(fast for _, (_, fast, _) in falls)
    fallen = {case.id for case, _ in falls}
    for case in cases:
        written = case.bytes.get("write", 0)
        if case.id in fallen or not _sequential_writes(case) or written >= size:
            continue
        if case.id.startswith(_PROBE):
            continue
        if case.bytes_per_second < fast / FALL_MIN:
            continue
        yield (
            case,
            Artefact(
                "write_cache",
                "severe",
                say("artefact_write_cache_only.seen"),
                {"written_bytes": written, "cache_bytes": size},
            ),
        )


def _sequential_writes(case: Case) -> bool:
    # Random writes fall for other reasons, too: the consistency test's finding is about them.
    return case.only == "write" and case.pattern == "sequential"


def _fall(case: Case) -> tuple[float, float, float] | None:
    """Bytes until the fall, rate before and rate after."""
    rates: Array = case.full_seconds
    if not _sequential_writes(case) or len(rates) < SECONDS_MIN:
        return None
    at = _split(rates)
    before, after = rates[:at], rates[at:]
    fast, slow = float(np.median(before)), float(np.median(after))
    if slow <= 0 or fast < FALL_MIN * slow:
        return None
    # The second of the fall belongs to both sides.
    edge_fast, edge_slow = np.mean(rates[max(at - 2, 0) : at]), np.mean(rates[at + 1 : at + 3])
    if edge_fast < EDGE_MIN * edge_slow:
        return None
    # 1.4826 makes the median deviation the standard one, where the distribution is normal.
    spread = 1.4826 * float(np.median(np.abs(after - slow)))
    if fast - slow < SPREADS_MIN * spread:
        return None
    middle = (fast + slow) / 2
    if np.mean(before > middle) < SIDE_SHARE_MIN or np.mean(after < middle) < SIDE_SHARE_MIN:
        return None
    return float(before.sum()), fast, slow


def _split(values: Array) -> int:
    """Where to cut a series in two so that the parts differ most, at least two values after it."""
    n = len(values)
    sums = np.cumsum(values)
    at = np.arange(1, n - 1)
    left, right = sums[at - 1] / at, (sums[-1] - sums[at - 1]) / (n - at)
    return int(at[np.argmax(at * (n - at) * (left - right) ** 2)])


def rate_caps(cases: Sequence[Case]) -> Iterator[tuple[Case, Artefact]]:
    """A ceiling that reads and writes of several sizes and depths meet alike. In I/Os no drive has
    one. In bytes its link has, or its controller, and lets no more through at first; a limit of a
    volume may, as long as it has credits."""
    usable = [case for case in cases if case.only in ("read", "write") and case.block_bytes]
    for unit in ("IOPS", "bytes"):
        rates = {case.id: _plateau(case, unit) for case in usable}
        ceiling = max(rates.values(), default=0.0)
        at = [case for case in usable if rates[case.id] >= (1 - CAP_TOLERANCE) * ceiling]
        if ceiling <= 0 or not _unlike(at):
            continue
        evidence: dict[str, Any] = {"ceiling": ceiling, "unit": unit, "points": len(at)}
        links = generations_at(ceiling) if unit == "bytes" else []
        artefact = Artefact("rate_cap", "severe", say("artefact_rate_cap_iops.seen"), evidence)
        if unit == "bytes":
            passed = any(_begins_faster(case, ceiling) for case in at)
            said = say(
                "artefact_rate_cap_credits.seen" if passed else "artefact_rate_cap_bytes.seen"
            )
            artefact = Artefact("rate_cap", "severe" if passed else "moderate", said, evidence)
        if links:
            said = say("artefact_link_limit.seen", link=" or ".join(links))
            artefact = Artefact("link_limit", "slight", said, {**evidence, "links": links})
        for case in at:
            yield case, artefact
        return


def _begins_faster(case: Case, ceiling: float) -> bool:
    """Whether a second of the first half carries more than the ceiling, in bytes per second, by
    more than was outstanding when it began."""
    seconds = case.full_seconds
    first = seconds[: len(seconds) // 2]
    outstanding = case.mean_queue_depth * (case.block_bytes or 0)
    return bool(len(first) and first.max() > (1 + CAP_TOLERANCE) * ceiling + outstanding)


def _plateau(case: Case, unit: str) -> float:
    """Rate of the second half, after a bucket's burst: bytes or I/Os per second. Where a second has
    so few requests that one more or less would be seen, the rate of the whole measurement."""
    seconds, block_bytes = case.full_seconds, case.block_bytes or 1
    half = seconds[len(seconds) // 2 :]
    rate = float(np.median(half)) if len(half) else 0.0
    if block_bytes > CAP_TOLERANCE * rate:
        rate = case.bytes_per_second
    return rate if unit == "bytes" else rate / block_bytes


def _unlike(cases: Sequence[Case]) -> bool:
    """Whether a drive would have given these measurements different rates: reads and writes, each
    of different sizes, at different depths."""
    if len(cases) < CAP_POINTS_MIN:
        return False
    for operation in ("read", "write"):
        sizes = [case.block_bytes or 1 for case in cases if case.only == operation]
        if not sizes or max(sizes) < CAP_RANGE_MIN * min(sizes):
            return False
    depths = [round(case.mean_queue_depth) or 1 for case in cases]
    return max(depths) >= CAP_RANGE_MIN * min(depths)


def preconditioning(cases: Sequence[Case]) -> Iterator[tuple[Case, Artefact]]:
    """Writes to a drive that had not been written once since its purge, or since the run began,
    where a test does not mean to begin like that."""
    for case in cases:
        if case.id.startswith(_ERASED_BY_DESIGN):
            continue
        written = case.conditions.written_before_bytes
        if written is None or not case.capacity_bytes or not case.bytes.get("write"):
            continue
        share = written / case.capacity_bytes
        if share >= 1:
            continue
        purged = case.conditions.purged
        yield (
            case,
            Artefact(
                "preconditioning",
                "slight",
                say(f"artefact_preconditioning.{'since_purge' if purged else 'since_begin'}"),
                {"drive_writes": share, "purged": purged},
            ),
        )

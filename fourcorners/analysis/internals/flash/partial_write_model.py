"""Finding ``extended_model``: the access model with the tax of partly covered mapping units.

A write of s bytes takes a + s/B + r p seconds, where p is the number of units that it covers only
in part: 0 for aligned multiples of the unit, 1 for small writes, up to 2 for large ones. steve8's
blog ("How I figured out my OCZ Core 64GB SSD", 2008) describes a tax of 0 to 2 penalties. Here p is
computed from the mapping unit and the alignment of the writes, so that only a, B and r are fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from fourcorners.analysis import access_model
from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.flash.mapping_unit import PAIRS
from fourcorners.analysis.internals.thresholds import points_min
from fourcorners.analysis.internals.view import PointAxis, View, by_size, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

_TESTS = tuple(pick(test, "write", PointAxis.BLOCK) for test in ("probe-sizes", "transfer-size"))

_SIZES_MIN = points_min(parameters=3)

_PLAIN_HOLDS = 0.05
"""Up to this relative misfit of the model without a tax, nothing is left for a tax to explain."""

_GAIN_MIN = 2.0
"""The tax is reported as the cause if it makes the model's misfit this many times smaller."""


@dataclass(frozen=True)
class TaxedModel:
    """The times of writes. ``tax_s`` is the cost of a partly covered unit of ``unit_bytes``."""

    access_penalty_s: float
    sequential_rate_bytes_per_second: float
    tax_s: float
    unit_bytes: float
    alignment_bytes: float

    def seconds(self, block_bytes: Floats) -> Floats:
        """The time per write, with shape (sizes,)."""
        partial = partly_covered(block_bytes, self.unit_bytes, self.alignment_bytes)
        transfer = block_bytes / self.sequential_rate_bytes_per_second
        return np.asarray(self.access_penalty_s + transfer + self.tax_s * partial)


def partly_covered(block_bytes: Floats, unit_bytes: float, alignment_bytes: float) -> Floats:
    """The mean number of mapping units that a request covers only in part, with shape (sizes,).

    Requests begin at any multiple of ``alignment_bytes``, which divides ``unit_bytes``.
    """
    offsets = np.arange(0, unit_bytes, alignment_bytes)[:, None]
    ends = offsets + block_bytes[None, :]
    touched = np.ceil(ends / unit_bytes)
    whole = np.maximum(0, np.floor(ends / unit_bytes) - np.ceil(offsets / unit_bytes))
    return np.asarray((touched - whole).mean(axis=0), dtype=np.float64)


def writes(view: View) -> list[Measured]:
    """The writes of many sizes at any sector, from the first test that ran, sorted by size."""
    return by_size(next((found for test in _TESTS if (found := test(view))), []))


def asked(view: View) -> list[Measured]:
    """The same writes in a run that looks for the mapping unit; an empty list in any other."""
    return writes(view) if PAIRS(view) else []


def tax(view: View) -> Answer:
    """Finds the cost of a partly covered unit."""
    unit_bytes, points = view.value("mapping_unit"), writes(view)
    if unit_bytes is None:
        return unknown(say("no_unit"))
    if len({m.block_bytes for m in points}) < _SIZES_MIN:
        return unknown(say("few_sizes", sizes=_SIZES_MIN))
    alignment = _alignment(points)
    if alignment is None or unit_bytes % alignment or alignment >= unit_bytes:
        return unknown(say("aligned"))
    test = points[0].test
    reads = pick(test, "read", PointAxis.BLOCK, without=(PointAxis.SENTINEL,))(view)
    return _answer(points, by_size(reads), unit_bytes, alignment)


def _alignment(points: Sequence[Measured]) -> int | None:
    """The number of bytes that the writes are aligned to; ``None`` where they differ in it."""
    alignments = {
        stream.alignment_bytes or stream.block_bytes
        for point in points
        if point.of.workload is not None
        for stream in point.of.workload.streams
    }
    return int(alignments.pop()) if len(alignments) == 1 else None


def _blog_unit(writes: Sequence[Measured], reads: Sequence[Measured]) -> float | None:
    """The blog's estimate of the unit, from the cost of the smallest write and the rates of the
    largest requests; ``None`` where reads of several sizes were not measured."""
    if len({m.block_bytes for m in reads}) < 2:
        return None
    write, read = (
        access_model.two_point_model(
            np.array([m.block_bytes for m in points], dtype=np.float64),
            np.array([1 / m.iops for m in points]),
        )
        for points in (writes, reads)
    )
    return access_model.rewritten_block_bytes(
        write.access_penalty_s,
        write.sequential_rate_bytes_per_second,
        read.sequential_rate_bytes_per_second,
    )


def _answer(
    points: Sequence[Measured], reads: Sequence[Measured], unit_bytes: float, alignment: int
) -> Answer:
    block_bytes = np.array([m.block_bytes for m in points], dtype=np.float64)
    seconds = np.array([1 / m.iops for m in points])
    plain = access_model.fit(block_bytes, seconds).model
    model, spread = _fit(block_bytes, seconds, unit_bytes, alignment)
    off_plain = _scatter(plain.seconds(block_bytes), seconds)
    off = _scatter(model.seconds(block_bytes), seconds)
    partial = partly_covered(block_bytes, unit_bytes, alignment)
    smallest = np.array([model.access_penalty_s, 0.0, model.tax_s * partial[0]])
    smallest_s = float(smallest.sum())
    rate = model.sequential_rate_bytes_per_second
    detail: dict[str, Any] = {
        "block_bytes": block_bytes,
        "measured_s": seconds,
        "predicted_s": model.seconds(block_bytes),
        "without_tax_s": plain.seconds(block_bytes),
        "partly_covered_units": partial,
        "access_penalty_s": model.access_penalty_s,
        "sequential_rate_bytes_per_second": rate,
        "sequential_rate_interval": _stretched(rate, spread, np.array([0.0, 1.0, 0.0])),
        "smallest_s": smallest_s,
        "smallest_tax_s": float(smallest[2]),
        "smallest_interval_s": _stretched(smallest_s, spread, smallest / smallest_s),
        "unit_bytes": unit_bytes,
        "goodness": {"relative_rms": off, "relative_rms_without_tax": off_plain},
    }
    if off_plain < _PLAIN_HOLDS:
        return unknown(say("plain_holds", off_plain=off_plain), detail=detail)
    misses = {"off": off, "off_plain": off_plain}
    if off_plain < _GAIN_MIN * off:
        return unknown(say("no_gain", **misses), detail=detail)
    blog_unit = _blog_unit(points, reads)
    if blog_unit is not None:
        detail["unit_bytes_by_rates"] = blog_unit
    said = say(
        "measured" if blog_unit is None else "beside_the_blog",
        **misses,
        small=block_bytes[0],
        small_pays=partial[0],
        large=block_bytes[-1],
        large_pays=partial[-1],
    )
    interval = _stretched(model.tax_s, spread, np.array([0.0, 0.0, 1.0]))
    return known(model.tax_s, said, interval=interval, detail=detail)


def _fit(
    block_bytes: Floats, seconds: Floats, unit_bytes: float, alignment: float
) -> tuple[TaxedModel, Floats]:
    """The model with the least relative residuals, and the covariance of the logarithms of its
    penalty, time per byte and tax, with shape (3, 3). The covariance comes from the curvature at
    the minimum. It is scaled so that the root of a variance is half the width of the 90 %
    interval."""
    partial = partly_covered(block_bytes, unit_bytes, alignment)
    columns = np.stack([np.ones_like(block_bytes), block_bytes, partial], axis=1)

    def residuals(logs: Floats) -> Floats:
        return np.asarray(np.log(columns @ np.exp(logs) / seconds))

    largest = seconds[-1] / block_bytes[-1]
    start = np.log([0.1 * seconds[0], largest, 0.5 * seconds[0]])
    # Below these limits a part has no effect: a millionth of the quickest write, and a rate beyond
    # that of any drive.
    low = np.log([1e-6 * seconds.min(), 1e-3 * largest, 1e-6 * seconds.min()])
    solved = scipy.optimize.least_squares(
        residuals, start, bounds=(low, np.inf), loss="soft_l1", f_scale=0.05
    )
    freedom = len(block_bytes) - 3
    curvature = solved.jac.T @ solved.jac
    spread = np.full((3, 3), math.inf)
    if freedom > 0:
        variance = float(np.sum(residuals(solved.x) ** 2)) / freedom
        # A part at its lower limit has no effect, and no share in the uncertainty of the others.
        spread = two_sided_t(freedom) ** 2 * variance * np.linalg.pinv(curvature, rcond=1e-9)
    penalty, per_byte, tax = (float(value) for value in np.exp(solved.x))
    return TaxedModel(penalty, 1 / per_byte, tax, unit_bytes, alignment), spread


def _stretched(value: float, spread: Floats, shares: Floats) -> tuple[float, float] | None:
    """The interval of a value that consists of these shares, with shape (3,), of the model's
    parts."""
    if not np.isfinite(spread).all():
        return None
    stretch = math.exp(math.sqrt(float(shares @ spread @ shares)))
    return value / stretch, value * stretch


def _scatter(predicted: Floats, seconds: Floats) -> float:
    return float(np.sqrt(np.mean(np.log(predicted / seconds) ** 2)))

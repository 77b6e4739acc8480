"""Finding ``extended_model``: the access model with the tax of partly covered mapping units.

A write of s bytes takes a + s/B + r p seconds, p being the number of units that it covers only in
part: 0 for aligned multiples of the unit, 1 for small writes, up to 2 for large ones. steve8's blog
("How I figured out my OCZ Core 64GB SSD", 2008) tells the story with a tax of 0 to 2 penalties; p
is computed here from the mapping unit and the alignment of the writes, so that only a, B and r are
fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners import wording
from fourcorners.analysis import access_model
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.method.medium import NO_UNITS
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.analysis.source import Measured, RunData, measured

Floats = npt.NDArray[np.float64]

TESTS = ("probe-sizes", "transfer-size")
"""Those that measure writes of many sizes at any sector, the first that ran."""

TITLE = "Tax of a partly covered unit, by writes of all sizes"

_SIZES_MIN = 6
_PLAIN_HOLDS = 0.05
"""Relative misfit of the model without a tax up to which nothing is left for a tax to explain."""

_GAIN_MIN = 2.0
"""How many times closer to the measurement the tax must bring the model to be told as its cause."""


@dataclass(frozen=True)
class TaxedModel:
    """Times of writes. ``tax_s`` is what a partly covered unit of ``unit_bytes`` costs."""

    access_penalty_s: float
    sequential_rate_bytes_per_second: float
    tax_s: float
    unit_bytes: float
    alignment_bytes: float

    def seconds(self, block_bytes: Floats) -> Floats:
        """Time per write, shape (sizes,)."""
        partial = partly_covered(block_bytes, self.unit_bytes, self.alignment_bytes)
        transfer = block_bytes / self.sequential_rate_bytes_per_second
        return np.asarray(self.access_penalty_s + transfer + self.tax_s * partial)


def partly_covered(block_bytes: Floats, unit_bytes: float, alignment_bytes: float) -> Floats:
    """Mean number of mapping units that a request covers only in part, shape (sizes,).

    Requests begin at any multiple of ``alignment_bytes``, which divides ``unit_bytes``.
    """
    offsets = np.arange(0, unit_bytes, alignment_bytes)[:, None]
    ends = offsets + block_bytes[None, :]
    touched = np.ceil(ends / unit_bytes)
    whole = np.maximum(0, np.floor(ends / unit_bytes) - np.ceil(offsets / unit_bytes))
    return np.asarray((touched - whole).mean(axis=0), dtype=np.float64)


def find(run: RunData, unit_bytes: float | None) -> list[Finding]:
    """The finding, for a mapping unit that is known; none where no write sizes were measured.

    Args:
        run: the run.
        unit_bytes: ``None`` where it is not known, 0 where there is none.
    """
    points = next((some for test in TESTS if (some := measured(run, test, "write"))), [])
    points = sorted((m for m in points if m.block_bytes), key=lambda m: m.block_bytes or 0)
    if not points:
        return []
    evidence = [m.recording for m in points]

    def unidentified(reason: str) -> list[Finding]:
        return [
            Finding(
                "extended_model",
                TITLE,
                "not identifiable",
                reason,
                evidence=evidence,
            )
        ]

    if unit_bytes == 0:
        return [Finding("extended_model", TITLE, "not applicable", NO_UNITS, evidence=evidence)]
    if unit_bytes is None:
        return unidentified("Without a mapping unit there is no tax to fit.")
    if len({m.block_bytes for m in points}) < _SIZES_MIN:
        return unidentified(f"The model needs {_SIZES_MIN} sizes of writes.")
    alignment = _alignment(run, points)
    if alignment is None or unit_bytes % alignment or alignment >= unit_bytes:
        return unidentified("The writes were aligned to whole units: none was covered in part.")
    reads = [m for m in measured(run, points[0].test, "read") if m.point.get("sentinel") is None]
    reads = sorted((m for m in reads if m.block_bytes), key=lambda m: m.block_bytes or 0)
    return [_finding(points, reads, unit_bytes, alignment, evidence)]


def corrected(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with what a write costs and its rate as the tax leaves them where that explains
    what the access model alone misses: it takes the tax of large writes for transfer."""
    taxed = next(
        (f for f in findings if f.name == "extended_model" and f.verdict == "measured"), None
    )
    if taxed is None:
        return list(findings)
    told = {"write_access_penalty": _smallest, "write_sequential_rate": _transfer}
    return [
        told[f.name](f, taxed) if f.name in told else f
        for f in findings
        if f.name != "misfit_write"
    ]


def _smallest(plain: Finding, taxed: Finding) -> Finding:
    """What the smallest write costs, which is its penalty and its share of the tax."""
    cost = taxed.detail["smallest_s"]
    share = taxed.detail["smallest_tax_s"] / cost
    return replace(
        plain,
        verdict="measured",
        text=f"A write of {wording.size(taxed.detail['block_bytes'][0])} costs "
        f"{wording.duration(cost)}, {wording.percent(share)} of it for the unit that it covers "
        "only in part.",
        value=cost,
        unit="s",
        interval=taxed.detail["smallest_interval_s"],
    )


def _transfer(plain: Finding, taxed: Finding) -> Finding:
    rate = taxed.detail["sequential_rate_bytes_per_second"]
    text = f"Beside what partly covered units cost, a write transfers at {wording.rate(rate)}."
    if plain.value is not None:
        text += (
            f" The access model alone would say {wording.rate(plain.value)}: to it the tax of "
            "large writes is transfer."
        )
    return replace(
        plain,
        verdict="measured",
        text=text,
        value=rate,
        unit="B/s",
        interval=taxed.detail["sequential_rate_interval"],
    )


def _alignment(run: RunData, points: Sequence[Measured]) -> int | None:
    """What the writes' addresses were multiples of; ``None`` where they differ in it."""
    ids = {m.recording for m in points}
    alignments = {
        stream.get("alignment_bytes") or stream["block_bytes"]
        for test in run.manifest.get("tests", [])
        for recording in test.get("recordings", [])
        if recording["id"] in ids
        for stream in recording["workload"]["streams"]
    }
    return int(alignments.pop()) if len(alignments) == 1 else None


def _blog_unit(writes: Sequence[Measured], reads: Sequence[Measured]) -> float | None:
    """The blog's estimate of the unit, from what the smallest write costs and the rates of the
    largest requests; ``None`` where no reads of several sizes were measured."""
    if len({m.block_bytes for m in reads}) < 2:
        return None
    write, read = (
        access_model.two_point_model(
            np.array([m.block_bytes for m in points], dtype=np.float64),
            np.array([1 / m.iops for m in points]),
        )
        for points in (writes, reads)
    )
    return access_model.cluster_bytes(
        write.access_penalty_s,
        write.sequential_rate_bytes_per_second,
        read.sequential_rate_bytes_per_second,
    )


def _finding(
    points: Sequence[Measured],
    reads: Sequence[Measured],
    unit_bytes: float,
    alignment: int,
    evidence: Sequence[str],
) -> Finding:
    block_bytes = np.array([m.block_bytes for m in points], dtype=np.float64)
    seconds = np.array([1 / m.iops for m in points])
    plain = access_model.fit(block_bytes, seconds).model
    model, spread = _fit(block_bytes, seconds, unit_bytes, alignment)
    off_plain = _scatter(plain.seconds(block_bytes), seconds)
    off = _scatter(model.seconds(block_bytes), seconds)
    partial = partly_covered(block_bytes, unit_bytes, alignment)
    smallest = np.array([model.access_penalty_s, 0.0, model.tax_s * partial[0]])
    smallest_s = float(smallest.sum())
    detail: dict[str, Any] = {
        "block_bytes": block_bytes,
        "measured_s": seconds,
        "predicted_s": model.seconds(block_bytes),
        "without_tax_s": plain.seconds(block_bytes),
        "partly_covered_units": partial,
        "access_penalty_s": model.access_penalty_s,
        "sequential_rate_bytes_per_second": model.sequential_rate_bytes_per_second,
        "sequential_rate_interval": _stretched(
            model.sequential_rate_bytes_per_second, spread, np.array([0.0, 1.0, 0.0])
        ),
        "smallest_s": smallest_s,
        "smallest_tax_s": float(smallest[2]),
        "smallest_interval_s": _stretched(smallest_s, spread, smallest / smallest_s),
        "unit_bytes": unit_bytes,
        "goodness": {"relative_rms": off, "relative_rms_without_tax": off_plain},
    }
    if off_plain < _PLAIN_HOLDS:
        return Finding(
            "extended_model",
            TITLE,
            "not identifiable",
            f"The access model alone is off by {wording.percent(off_plain)}: what partly covered "
            "units cost is too little, or is hidden by a buffer, to shape these writes.",
            evidence=evidence,
            detail=detail,
        )
    if off_plain < _GAIN_MIN * off:
        return Finding(
            "extended_model",
            TITLE,
            "not identifiable",
            f"With a tax for each partly covered unit of {wording.size(unit_bytes)} the access "
            f"model is off by {wording.percent(off)}, without it by "
            f"{wording.percent(off_plain)}: the tax is not what shapes these writes.",
            evidence=evidence,
            detail=detail,
        )
    text = (
        f"The access model alone misses these writes by {wording.percent(off_plain)}; with a tax "
        f"of {wording.duration(model.tax_s)} for each unit of {wording.size(unit_bytes)} that a "
        f"write covers only in part it misses them by {wording.percent(off)}. A write of "
        f"{wording.size(block_bytes[0])} pays {partial[0]:.3g} of it, one of "
        f"{wording.size(block_bytes[-1])} {partial[-1]:.3g}."
    )
    blog_unit = _blog_unit(points, reads)
    if blog_unit is not None:
        detail["unit_bytes_by_rates"] = blog_unit
        text += (
            " By what a small write costs, and the rates of the largest requests, as the blog had "
            f"it, a unit would be {wording.size(blog_unit)}; units are copied more slowly."
        )
    return Finding(
        "extended_model",
        TITLE,
        "measured",
        text,
        value=model.tax_s,
        unit="s",
        interval=_stretched(model.tax_s, spread, np.array([0.0, 0.0, 1.0])),
        evidence=evidence,
        detail=detail,
    )


def _fit(
    block_bytes: Floats, seconds: Floats, unit_bytes: float, alignment: float
) -> tuple[TaxedModel, Floats]:
    """The model with the least relative residuals, and the covariance of the logarithms of its
    penalty, time per byte and tax, shape (3, 3), scaled so that the root of a variance is the half
    width of the 90 % interval; from the curvature at the minimum."""
    partial = partly_covered(block_bytes, unit_bytes, alignment)
    columns = np.stack([np.ones_like(block_bytes), block_bytes, partial], axis=1)

    def residuals(logs: Floats) -> Floats:
        return np.asarray(np.log(columns @ np.exp(logs) / seconds))

    largest = seconds[-1] / block_bytes[-1]
    start = np.log([0.1 * seconds[0], largest, 0.5 * seconds[0]])
    # Below these a part says nothing: a millionth of the quickest write, a rate beyond any drive's.
    low = np.log([1e-6 * seconds.min(), 1e-3 * largest, 1e-6 * seconds.min()])
    solved = scipy.optimize.least_squares(
        residuals, start, bounds=(low, np.inf), loss="soft_l1", f_scale=0.05
    )
    freedom = len(block_bytes) - 3
    curvature = solved.jac.T @ solved.jac
    spread = np.full((3, 3), math.inf)
    if freedom > 0:
        variance = float(np.sum(residuals(solved.x) ** 2)) / freedom
        # A part at its lower limit moves nothing, and has no share in the others' uncertainty.
        spread = two_sided_t(freedom) ** 2 * variance * np.linalg.pinv(curvature, rcond=1e-9)
    penalty, per_byte, tax = (float(value) for value in np.exp(solved.x))
    return TaxedModel(penalty, 1 / per_byte, tax, unit_bytes, alignment), spread


def _stretched(value: float, spread: Floats, shares: Floats) -> tuple[float, float] | None:
    """The interval of what has these shares, shape (3,), of the model's parts."""
    if not np.isfinite(spread).all():
        return None
    stretch = math.exp(math.sqrt(float(shares @ spread @ shares)))
    return value / stretch, value * stretch


def _scatter(predicted: Floats, seconds: Floats) -> float:
    return float(np.sqrt(np.mean(np.log(predicted / seconds) ** 2)))

"""Findings ``read_access_penalty``, ``read_sequential_rate`` and the same of writes.

The model t = a + s/B, fitted to all sizes by relative residuals
(:func:`fourcorners.analysis.access_model.fit`), with the blog's two-point estimate and the misfit
at each size beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from fourcorners import wording
from fourcorners.analysis import access_model
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.intervals import histogram_mean_error, two_sided_t
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "probe-sizes"

_SIZES_MIN = 4

_MISFIT_MAX = 0.35
"""Root mean square of the logarithms of predicted over measured times above which two numbers do
not describe the drive at all."""

_CHANCE = 0.95
"""Probability of no more scatter about the model than the errors of the single sizes make."""

_MISFIT_NOTED = 0.10
"""Relative misfit from which a size counts as one where the model fails."""


def find(run: RunData) -> list[Finding]:
    """The findings of each operation that the probe measured."""
    found = []
    for operation in ("read", "write"):
        points = sorted(
            (m for m in measured(run, TEST, operation) if f"/{operation}/" in m.recording),
            key=lambda m: m.block_bytes or 0,
        )
        if points:
            found += _findings(operation, points, _errors(run, points))
    return found


def _errors(run: RunData, points: Sequence[Measured]) -> access_model.Floats:
    """Half widths of the 90 % intervals of the mean times, relative to these, shape (sizes,); zero
    where a single request leaves none."""
    halves = [histogram_mean_error(*run.histogram(m.recording, m.operation)) or 0.0 for m in points]
    return np.asarray(np.array(halves) * np.array([m.iops for m in points]))


def _findings(
    operation: str, points: Sequence[Measured], errors: access_model.Floats
) -> list[Finding]:
    titles = {
        f"{operation}_access_penalty": f"What a {operation} costs beside its transfer",
        f"{operation}_sequential_rate": f"Rate of a {operation}'s transfer",
    }
    evidence = [m.recording for m in points]
    block_bytes = np.array([m.block_bytes for m in points], dtype=np.float64)
    seconds = np.array([1 / m.iops for m in points])
    if len(np.unique(block_bytes)) < _SIZES_MIN:
        reason = f"The model takes {_SIZES_MIN} sizes or more."
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in titles.items()
        ]
    fitted = access_model.fit(block_bytes, seconds)
    blog = access_model.two_point_model(block_bytes, seconds)
    model = fitted.model
    misfit = model.seconds(block_bytes) / seconds - 1
    detail: dict[str, Any] = {
        "block_bytes": block_bytes,
        "measured_s": seconds,
        "predicted_s": model.seconds(block_bytes),
        "relative_misfit": misfit,
        "half_speed_bytes": model.half_speed_bytes,
        "two_point": {
            "access_penalty_s": blog.access_penalty_s,
            "sequential_rate_bytes_per_second": blog.sequential_rate_bytes_per_second,
        },
        "goodness": {"residual_scale": fitted.residual_scale},
    }
    off = float(np.sqrt(np.mean(np.log1p(misfit) ** 2)))
    if off > _MISFIT_MAX:
        reason = (
            f"No cost of an access and rate of transfer describe these {operation}s: over all "
            f"sizes the access model misses them by a factor of {wording.number(math.exp(off))}."
        )
        return [
            *(
                Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
                for name, title in titles.items()
            ),
            *_misfit(operation, block_bytes, misfit, evidence, detail),
        ]
    penalty, rate = titles.items()
    halves = _half_widths(model, block_bytes, errors)
    chance_alone = _is_chance(np.log1p(misfit), errors)
    return [
        Finding(
            penalty[0],
            penalty[1],
            "measured",
            f"A {operation} costs {wording.duration(model.access_penalty_s)} beside its transfer; "
            f"requests of {wording.size(model.half_speed_bytes)} reach half the rate."
            + _misfit_sentence(block_bytes, misfit),
            value=model.access_penalty_s,
            unit="s",
            interval=_interval(
                model.access_penalty_s,
                halves[0],
                fitted.access_penalty_interval_s,
                chance_alone,
            ),
            evidence=evidence,
            detail=detail,
        ),
        Finding(
            rate[0],
            rate[1],
            "measured",
            f"A {operation} transfers at "
            f"{wording.rate(model.sequential_rate_bytes_per_second)}, whatever its access "
            f"costs. {_blog_sentence(block_bytes, blog)}",
            value=model.sequential_rate_bytes_per_second,
            unit="B/s",
            interval=_interval(
                model.sequential_rate_bytes_per_second,
                halves[1],
                fitted.sequential_rate_interval,
                chance_alone,
            ),
            evidence=evidence,
            detail=detail,
        ),
        *_misfit(operation, block_bytes, misfit, evidence, detail),
    ]


def _misfit(
    operation: str,
    block_bytes: access_model.Floats,
    misfit: access_model.Floats,
    evidence: Sequence[str],
    detail: dict[str, Any],
) -> list[Finding]:
    """What the model does not explain; none where it holds."""
    off = np.abs(misfit) > _MISFIT_NOTED
    if not off.any():
        return []
    worst = int(np.argmax(np.abs(misfit)))
    how = "less" if misfit[worst] < 0 else "more"
    return [
        Finding(
            f"misfit_{operation}",
            f"{operation.capitalize()}s that no two numbers explain",
            "measured",
            f"{operation.capitalize()}s of {wording.size(block_bytes[worst])} should take "
            f"{wording.percent(abs(float(misfit[worst])))} {how} time than they do by the access "
            f"model, which is off by more than {wording.percent(_MISFIT_NOTED, 1)} at "
            f"{wording.count(int(off.sum()), 'size')}: the drive does not do one thing after the "
            "other, or not alike at all sizes.",
            value=float(np.abs(misfit).max()),
            unit="fraction",
            evidence=evidence,
            detail=detail,
        )
    ]


def _half_widths(
    model: access_model.AccessModel,
    block_bytes: access_model.Floats,
    errors: access_model.Floats,
) -> access_model.Floats:
    """What the errors of the single sizes make of the logarithms of a and B, shape (2,).

    The large sizes alone decide about B, and of them few requests are made: their own scatter may
    be more than that of all sizes about the model.
    """
    share = model.access_penalty_s / model.seconds(block_bytes)
    effect = np.linalg.pinv(np.stack([share, 1 - share], axis=1))
    return np.asarray(np.sqrt(effect**2 @ errors**2))


def _is_chance(residuals: access_model.Floats, errors: access_model.Floats) -> bool:
    """Whether the errors of the single sizes explain the scatter about the model, by chi-square.

    Args:
        residuals: logarithms of predicted over measured times, shape (sizes,).
        errors: half widths of 90 % intervals, shape (sizes,).
    """
    if not np.all(errors > 0):
        return False
    deviations = residuals / errors * two_sided_t(math.inf)
    most = scipy.stats.chi2.ppf(_CHANCE, len(residuals) - 2)
    return float(deviations @ deviations) <= float(most)


def _interval(
    value: float,
    log_half_width: float,
    by_scatter: tuple[float, float] | None,
    chance_alone: bool,
) -> tuple[float, float] | None:
    """The interval that the errors of the single sizes make; where these do not explain the scatter
    about the model at least as wide as that makes it, ``None`` if that is unknown."""
    low, high = value * math.exp(-log_half_width), value * math.exp(log_half_width)
    if chance_alone:
        return low, high
    return by_scatter and (min(low, by_scatter[0]), max(high, by_scatter[1]))


def _blog_sentence(block_bytes: access_model.Floats, blog: access_model.AccessModel) -> str:
    """The blog's own estimate, from two sizes."""
    return (
        f"From {wording.size(block_bytes[0])} and {wording.size(block_bytes[-1])} alone, as the "
        f"access model was first made, it would be "
        f"{wording.rate(blog.sequential_rate_bytes_per_second)} beside "
        f"{wording.duration(blog.access_penalty_s)}: that rate still contains the penalties of "
        "the largest requests."
    )


def _misfit_sentence(block_bytes: access_model.Floats, misfit: access_model.Floats) -> str:
    off = block_bytes[np.abs(misfit) > _MISFIT_NOTED]
    worst = int(np.argmax(np.abs(misfit)))
    amount = wording.percent(abs(float(misfit[worst])))
    at = wording.size(block_bytes[worst])
    if not len(off):
        return f" The model holds at all sizes (worst: {amount}, at {at})."
    return (
        f" The model does not hold: it is off by {amount} at {at}, and by more than "
        f"{wording.percent(_MISFIT_NOTED, 1)} at {wording.count(len(off), 'size')}."
    )

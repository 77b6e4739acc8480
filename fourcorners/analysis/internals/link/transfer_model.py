"""Findings ``read_access_penalty``, ``read_sequential_rate`` and the same for writes.

The model t = a + s/B is fitted to all sizes by relative residuals
(:func:`fourcorners.analysis.access_model.fit`). The details also contain the blog's two-point
estimate and the misfit at each size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from fourcorners.analysis import access_model
from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.thresholds import ALIKE, points_min
from fourcorners.analysis.internals.usual import usual_s
from fourcorners.analysis.internals.view import PointAxis, View, by_size, ids, pick
from fourcorners.analysis.intervals import COVERAGE, histogram_mean_error, two_sided_t
from fourcorners.analysis.source import Measured
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

TEST = "probe-sizes"

_SIZES_MIN = points_min(parameters=2)

_MISFIT_MAX = 0.35
"""Above this root mean square of the logarithms of predicted over measured times, two numbers do
not describe the drive at all."""

_MISFIT_NOTED = 0.10
"""If the relative misfit at a size is larger than this, the model fails there."""


def sizes(view: View, operation: str) -> list[Measured]:
    """The requests of all sizes, one at a time."""
    return by_size(pick(TEST, operation, PointAxis.BLOCK, without=(PointAxis.SENTINEL,))(view))


@dataclass(frozen=True)
class _Fitted:
    """The model of all sizes, and its uncertainty from the errors of the single sizes; arrays have
    shape (sizes,)."""

    operation: str
    fit: access_model.AccessFit
    block_bytes: Floats
    misfit: Floats
    half_widths: Floats
    """The half widths of the intervals of the logarithms of a and B, with shape (2,)."""
    is_chance: bool
    """Whether the errors of the single sizes explain the scatter about the model."""
    detail: dict[str, Any]

    @property
    def factor(self) -> float:
        """The factor by which the model misses the sizes, as a root mean square."""
        return math.exp(float(np.sqrt(np.mean(np.log1p(self.misfit) ** 2))))

    @property
    def holds(self) -> bool:
        """Whether two numbers describe the drive at all."""
        return self.factor <= math.exp(_MISFIT_MAX)

    @property
    def off(self) -> int:
        """The number of sizes where the model fails."""
        return int((np.abs(self.misfit) > _MISFIT_NOTED).sum())

    def worst(self, name: str) -> Said:
        """The sentence about the size where the model fails most."""
        at = int(np.argmax(np.abs(self.misfit)))
        return say(
            name,
            operation=self.operation,
            subject=f"{self.operation.capitalize()}s",
            worst=self.block_bytes[at],
            amount=abs(float(self.misfit[at])),
            how="less" if self.misfit[at] < 0 else "more",
            noted=_MISFIT_NOTED,
            sizes=self.off,
        )

    def interval(
        self, value: float, part: int, by_scatter: tuple[float, float] | None
    ) -> tuple[float, float] | None:
        """The interval of a parameter from the errors of the single sizes. If these do not explain
        the scatter about the model, the interval is at least as wide as the scatter makes it, or
        ``None`` if that is unknown."""
        stretch = math.exp(self.half_widths[part])
        low, high = value / stretch, value * stretch
        if self.is_chance:
            return low, high
        if by_scatter is None:
            return None
        # Where the model fails at some sizes, what the smallest and the largest say is as likely.
        ends = tuple(self.detail["two_point"].values())[part] if self.off else value
        return min(low, by_scatter[0], ends), max(high, by_scatter[1], ends)


def penalty(view: View, operation: str) -> Answer | None:
    """Finds the cost of a request without its transfer. If a tax of partly covered units explains
    the misfit of writes, it is the cost of the smallest write: its penalty and its tax."""
    plain = _answer(view, operation, _penalty)
    taxed = _taxed(view, operation)
    if plain is None or taxed is None:
        return plain
    cost = taxed.detail["smallest_s"]
    said = say(
        "taxed",
        smallest=taxed.detail["block_bytes"][0],
        share=taxed.detail["smallest_tax_s"] / cost,
    )
    interval = taxed.detail["smallest_interval_s"]
    return _with_tax(plain, said=said, value=cost, interval=interval)


def rate(view: View, operation: str) -> Answer | None:
    """Finds the rate of a request's transfer. For writes it excludes the tax of partly covered
    units, which the access model alone counts as transfer."""
    plain = _answer(view, operation, _rate)
    taxed = _taxed(view, operation)
    if plain is None or taxed is None:
        return plain
    value = taxed.detail["sequential_rate_bytes_per_second"]
    said = say("taxed") if plain.value is None else say("taxed_beside", plain=plain.value)
    interval = taxed.detail["sequential_rate_interval"]
    return _with_tax(plain, said=said, value=value, interval=interval)


def misfit(view: View, operation: str) -> Answer | None:
    """The misfit that neither the model nor a tax explains; ``None`` where the model holds."""
    fitted = view.once(_fitted, operation)
    if fitted is None or not fitted.off or _taxed(view, operation) is not None:
        return None
    worst = float(np.abs(fitted.misfit).max())
    return known(worst, fitted.worst("measured"), detail=fitted.detail)


def _with_tax(plain: Answer, **instead: Any) -> Answer:
    """The answer of the model whose tax explains what the plain one misses. That it fits is what
    made it the better one."""
    taxed = replace(plain, verdict="measured", checks=(), **instead)
    return taxed.checked(Assumption.ADDS_UP, True, plain.evidence or ())


def _taxed(view: View, operation: str) -> Answer | None:
    answer = view.answer("extended_model") if operation == "write" else None
    return answer if answer is not None and answer.value is not None else None


def _answer(view: View, operation: str, of: Callable[[_Fitted], Answer]) -> Answer | None:
    if not sizes(view, operation):
        return None
    fitted = view.once(_fitted, operation)
    if fitted is None:
        return unknown(say("few_sizes", sizes=_SIZES_MIN))
    if not fitted.holds:
        said = say("no_model", operation=operation, factor=fitted.factor)
        return unknown(said, detail=fitted.detail)
    answer = of(fitted)
    if answer.interval is None:
        return answer
    # The interval allows for the sizes that the model misses.
    holds = fitted.is_chance or not fitted.off
    return answer.checked(Assumption.ADDS_UP, holds, ids(sizes(view, operation)), covered=True)


def _penalty(fitted: _Fitted) -> Answer:
    value = fitted.fit.model.access_penalty_s
    return known(
        value,
        fitted.worst("fails" if fitted.off else "holds"),
        interval=fitted.interval(value, 0, fitted.fit.access_penalty_interval_s),
        detail=fitted.detail,
    )


def _rate(fitted: _Fitted) -> Answer:
    value = fitted.fit.model.sequential_rate_bytes_per_second
    said = say(
        "measured",
        operation=fitted.operation,
        smallest=fitted.block_bytes[0],
        largest=fitted.block_bytes[-1],
        blog_rate=fitted.detail["two_point"]["sequential_rate_bytes_per_second"],
        blog_penalty=fitted.detail["two_point"]["access_penalty_s"],
    )
    interval = fitted.interval(value, 1, fitted.fit.sequential_rate_interval)
    return known(value, said, interval=interval, detail=fitted.detail)


def _fitted(view: View, operation: str) -> _Fitted | None:
    """The fitted model; ``None`` where there are too few sizes."""
    points = sizes(view, operation)
    block_bytes = np.array([m.block_bytes for m in points], dtype=np.float64)
    if len(np.unique(block_bytes)) < _SIZES_MIN:
        return None
    # Requests that hang are no part of what an access takes.
    same = _do_the_same(view, operation, points)
    seconds = np.array([usual_s(m) if same else 1 / m.iops for m in points])
    # The half widths of the 90 % intervals of the mean times, relative to these times; zero where a
    # single request has no interval.
    halves = [histogram_mean_error(*m.histogram) or 0.0 for m in points]
    errors = np.array(halves) / seconds
    fit = access_model.fit(block_bytes, seconds)
    blog = access_model.two_point_model(block_bytes, seconds)
    misfit = fit.model.seconds(block_bytes) / seconds - 1
    detail = {
        "block_bytes": block_bytes,
        "measured_s": seconds,
        "predicted_s": fit.model.seconds(block_bytes),
        "relative_misfit": misfit,
        "half_speed_bytes": fit.model.half_speed_bytes,
        "two_point": {
            "access_penalty_s": blog.access_penalty_s,
            "sequential_rate_bytes_per_second": blog.sequential_rate_bytes_per_second,
        },
        "goodness": {"residual_scale": fit.residual_scale},
    }
    # Only the large sizes decide about B, and they have few requests: their own scatter may be
    # larger than that of all sizes about the model.
    share = fit.model.access_penalty_s / fit.model.seconds(block_bytes)
    effect = np.linalg.pinv(np.stack([share, 1 - share], axis=1))
    half_widths = np.sqrt(effect**2 @ errors**2)
    is_chance = _is_chance(np.log1p(misfit), errors)
    return _Fitted(operation, fit, block_bytes, misfit, half_widths, is_chance, detail)


def _do_the_same(view: View, operation: str, points: Sequence[Measured]) -> bool:
    """Whether all requests of a size do the same, one at a time. Of writes, few may wait for what
    the others left in a buffer or in flash; only those of a disk do the same if they take no less
    than its reads, in the median of each size, as each then goes to the platters by itself."""
    if any(m.queue_depth != 1 for m in points):
        return False
    if operation == "read":
        return True
    reads = {m.block_bytes: m.latency_percentile_s(50) for m in sizes(view, "read")}
    return view.is_disk and all(
        ALIKE * (m.latency_percentile_s(50) or 0.0) >= (reads.get(m.block_bytes) or math.inf)
        for m in points
    )


def _is_chance(residuals: Floats, errors: Floats) -> bool:
    """Whether the errors of the single sizes explain the scatter about the model, by chi-square.

    Args:
        residuals: the logarithms of predicted over measured times, with shape (sizes,).
        errors: the half widths of 90 % intervals, with shape (sizes,).
    """
    if not np.all(errors > 0):
        return False
    deviations = residuals / errors * two_sided_t(math.inf)
    most = scipy.stats.chi2.ppf(0.5 + COVERAGE / 2, len(residuals) - 2)
    return float(deviations @ deviations) <= float(most)

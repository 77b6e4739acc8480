"""Findings ``access_model_read`` and ``access_model_write`` from the transfer-size test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis import access_model
from fourcorners.analysis.access_model import AccessFit, AccessModel, Floats
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.intervals import histogram_mean_error
from fourcorners.analysis.source import Measured, RunData, measured

TEST = "transfer-size"

MISFIT_NOTED = 0.10
"""Relative misfit from which a size counts as one where the model fails."""

_PENALTY_SHARE_NOTED = 0.02
"""Share of penalties in the largest request from which its throughput is not called sequential."""

_FEW_IOS = 10
"""Requests of the largest size below which their mean says little of a disk: its zones differ by a
factor of two."""

_TAX_NOTED = 1.3
"""Penalties per write from which the cluster story is told: clearly more than the model's one."""

_CLUSTER_PENALTY_RATIO = 20
"""Write over read penalty from which rewritten clusters are the likely cause: no other mechanism
makes a small write cost tens of reads."""


def find(run: RunData) -> list[Finding]:
    """The findings for each operation that the transfer-size test measured."""
    models: dict[str, AccessModel] = {}
    findings = []
    for operation in ("read", "write"):
        points = sorted(
            (m for m in measured(run, TEST, operation) if m.block_bytes),
            key=lambda m: m.block_bytes or 0,
        )
        if points:
            findings.append(_finding(run, operation, points, models))
    return findings


def _finding(
    run: RunData, operation: str, points: Sequence[Measured], models: dict[str, AccessModel]
) -> Finding:
    """The finding of one operation; puts its model into ``models``, where writes find reads'."""
    name, title = f"access_model_{operation}", f"Access model, {operation}s"
    evidence = [m.recording for m in points]
    block_bytes = np.array([m.block_bytes for m in points], dtype=np.float64)
    seconds_per_io = np.array([1 / m.iops for m in points])
    detail: dict[str, Any] = {
        "block_bytes": [m.block_bytes for m in points],
        "measured_bytes_per_second": [m.bytes_per_second for m in points],
    }

    def unidentified(reason: str) -> Finding:
        return Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)

    if len(np.unique(block_bytes)) < 2:
        return unidentified(
            f"Only {wording.size(block_bytes[0])} {operation}s were measured; the model needs "
            "small and large requests."
        )
    blog = access_model.two_point_model(block_bytes, seconds_per_io)
    if blog.access_penalty_s <= 0:
        return unidentified(
            f"The smallest {operation}s ({wording.size(block_bytes[0])}) take no longer than their "
            f"share of the rate of the largest ({wording.size(block_bytes[-1])}): there is no "
            "access penalty to see, or the largest requests are slowed by something else."
        )
    models[operation] = blog
    fitted = access_model.fit(block_bytes, seconds_per_io)
    misfit = block_bytes / seconds_per_io / blog.bytes_per_second(block_bytes) - 1
    interval = _penalty_interval(run, points[0], blog)
    detail |= {
        "method": "time-left-seeking",
        "access_penalty_s": blog.access_penalty_s,
        "sequential_rate_bytes_per_second": blog.sequential_rate_bytes_per_second,
        "half_speed_bytes": blog.half_speed_bytes,
        "predicted_bytes_per_second": blog.bytes_per_second(block_bytes),
        "fitted_bytes_per_second": fitted.model.bytes_per_second(block_bytes),
        "relative_misfit": misfit,
        "time_left_seeking": _model_detail(blog),
        "robust_fit": _model_detail(fitted.model)
        | {
            "access_penalty_interval_s": fitted.access_penalty_interval_s,
            "sequential_rate_interval_bytes_per_second": fitted.sequential_rate_interval,
            "residual_scale": fitted.residual_scale,
            "interval_method": "covariance of the M-estimator, 90 %",
        },
    }
    reach = "reach" if np.abs(misfit).max() <= MISFIT_NOTED else "would reach"
    text = [
        f"Every {operation} costs {wording.duration(blog.access_penalty_s)} plus its transfer at "
        f"{wording.binary_rate(blog.sequential_rate_bytes_per_second)}; requests of "
        f"{wording.size(blog.half_speed_bytes)} {reach} half that rate.",
        _fit_sentence(fitted, len(points)),
        _misfit_sentence(block_bytes, misfit, detail),
        *_largest_sentence(points, detail),
        *_circularity_sentence(block_bytes, seconds_per_io, blog, detail),
    ]
    if operation == "write":
        read = models.get("read")
        text += _penalties_sentence(block_bytes, seconds_per_io, blog, read, detail)
        text += _cluster_sentence(blog, read, detail)
    return Finding(
        name,
        title,
        "measured",
        " ".join(text),
        value=blog.access_penalty_s,
        unit="s",
        interval=interval,
        evidence=evidence,
        detail=detail,
    )


def _model_detail(model: AccessModel) -> dict[str, Any]:
    return {
        "access_penalty_s": model.access_penalty_s,
        "sequential_rate_bytes_per_second": model.sequential_rate_bytes_per_second,
        "half_speed_bytes": model.half_speed_bytes,
    }


def _penalty_interval(
    run: RunData, smallest: Measured, blog: AccessModel
) -> tuple[float, float] | None:
    """The two-point penalty's interval: it is a mean over the smallest requests, and shares the
    error of their mean latency."""
    error = histogram_mean_error(*smallest.histogram)
    if error is None:
        return None
    return blog.access_penalty_s - error, blog.access_penalty_s + error


def _fit_sentence(fitted: AccessFit, sizes: int) -> str:
    return (
        f"A robust fit over all {sizes} sizes gives "
        f"{wording.duration(fitted.model.access_penalty_s)} and "
        f"{wording.binary_rate(fitted.model.sequential_rate_bytes_per_second)}."
    )


def _misfit_sentence(block_bytes: Floats, misfit: Floats, detail: dict[str, Any]) -> str:
    """Where the blog's prediction fails, and by how much."""
    worst = int(np.argmax(np.abs(misfit)))
    off = block_bytes[np.abs(misfit) > MISFIT_NOTED]
    size_range = [float(off.min()), float(off.max())] if len(off) else None
    detail |= {
        "largest_misfit": misfit[worst],
        "largest_misfit_block_bytes": block_bytes[worst],
        "misfit_range_block_bytes": size_range,
    }
    direction = "less" if misfit[worst] < 0 else "more"
    amount = f"{wording.percent(abs(float(misfit[worst])))} {direction} than predicted"
    if size_range is None:
        return f"The prediction holds at every size (worst: {amount})."
    return (
        f"The prediction fails for requests {_range(off)}: those of "
        f"{wording.size(block_bytes[worst])} reach {amount}."
    )


def _range(block_bytes: Floats) -> str:
    low, high = wording.size(block_bytes.min()), wording.size(block_bytes.max())
    return f"of {low}" if low == high else f"of {low} to {high}"


def _largest_sentence(points: Sequence[Measured], detail: dict[str, Any]) -> list[str]:
    """Says when the largest requests are a poor witness of the sequential rate."""
    largest = points[-1]
    fastest = max(points, key=lambda m: m.bytes_per_second)
    outpaced = fastest.bytes_per_second > (1 + MISFIT_NOTED) * largest.bytes_per_second
    detail["largest_is_outpaced"] = outpaced
    detail["fastest_block_bytes"] = fastest.block_bytes
    detail["fastest_bytes_per_second"] = fastest.bytes_per_second
    sentences = []
    if outpaced:
        sentences.append(
            f"Requests of {wording.size(fastest.block_bytes or 0)} reached "
            f"{wording.binary_rate(fastest.bytes_per_second)}, more than the largest, which the "
            "model rules out: the state of the drive changed while it was measured, or a cache "
            "served the smaller ones."
        )
    if largest.ios < _FEW_IOS:
        sentences.append(
            f"The rate rests on {wording.count(largest.ios, 'request')} of "
            f"{wording.size(largest.block_bytes or 0)}."
        )
    return sentences


def _circularity_sentence(
    block_bytes: Floats, seconds_per_io: Floats, blog: AccessModel, detail: dict[str, Any]
) -> list[str]:
    """Says when the rate taken as sequential still contains penalties, and corrects it."""
    largest, seconds = float(block_bytes[-1]), float(seconds_per_io[-1])
    share = blog.access_penalty_s / seconds
    corrected = [
        access_model.rate_without_penalties(largest, seconds, blog.access_penalty_s, penalties)
        if share * penalties < 1
        else math.nan
        for penalties in (1, 2)
    ]
    detail["penalty_share_of_largest"] = share
    detail["rate_without_one_penalty_bytes_per_second"] = corrected[0]
    detail["rate_without_two_penalties_bytes_per_second"] = corrected[1]
    if share < _PENALTY_SHARE_NOTED:
        return []
    rates = " or ".join(wording.binary_rate(rate) for rate in corrected if math.isfinite(rate))
    return [
        f"The rate is taken from {wording.size(largest)} requests, which still spend "
        f"{wording.percent(share)} of their time on each penalty they pay: without one or two of "
        f"them it would be {rates}."
    ]


def _penalties_sentence(
    block_bytes: Floats,
    seconds_per_io: Floats,
    blog: AccessModel,
    read: AccessModel | None,
    detail: dict[str, Any],
) -> list[str]:
    """How many penalties a write of each size pays; told where the model fails for it."""
    rate = access_model.marginal_rate(block_bytes, seconds_per_io)
    rate = rate or blog.sequential_rate_bytes_per_second
    penalties = access_model.penalties_per_io(
        block_bytes, seconds_per_io, blog.access_penalty_s, rate
    )
    detail["penalties_per_io"] = penalties
    detail["penalties_rate_bytes_per_second"] = rate
    taxed = np.nan_to_num(penalties) > _TAX_NOTED
    misfit = np.abs(detail["relative_misfit"])
    # Beside requests that outpace the largest, B is not the rate that transfers run at.
    if not taxed.any() or misfit[taxed].max() <= MISFIT_NOTED or detail["largest_is_outpaced"]:
        return []
    most = wording.number(float(penalties[taxed].max()), 2)
    paid = f"Writes {_range(block_bytes[taxed])} pay up to {most} penalties each"
    if read is None or _penalty_ratio(blog, read) < _CLUSTER_PENALTY_RATIO:
        return [f"{paid}; what else they wait for does not show here."]
    return [
        f"{paid}, small ones {wording.number(float(penalties[0]), 2)}: a drive that rewrites whole "
        "clusters pays for a partly written first and a partly written last one."
    ]


def _penalty_ratio(write: AccessModel, read: AccessModel) -> float:
    return write.access_penalty_s / read.access_penalty_s


def _cluster_sentence(
    write: AccessModel, read: AccessModel | None, detail: dict[str, Any]
) -> list[str]:
    """The blog's cluster estimate, told where clusters are the likely cause of the penalty."""
    if read is None:
        return []
    cluster = access_model.cluster_bytes(
        write.access_penalty_s,
        write.sequential_rate_bytes_per_second,
        read.sequential_rate_bytes_per_second,
    )
    ratio = _penalty_ratio(write, read)
    detail["write_to_read_penalty_ratio"] = ratio
    if ratio < _CLUSTER_PENALTY_RATIO:
        return []
    detail["cluster_bytes_estimate"] = cluster
    return [
        f"A small write costs as much as {ratio:,.0f} reads. If that is one cluster "
        f"read and written back, the cluster has about {wording.size(cluster)}, an over-estimate "
        "because the copy is taken to run at the full sequential rates."
    ]

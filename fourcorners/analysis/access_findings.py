"""Findings ``access_model_read`` and ``access_model_write`` from the transfer-size test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis import access_model
from fourcorners.analysis.access_model import AccessModel
from fourcorners.analysis.intervals import histogram_mean_error
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say, together

TEST = "transfer-size"

MISFIT_NOTED = 0.10
"""Relative misfit from which a size counts as one where the model fails."""

_PENALTY_SHARE_NOTED = 0.02
"""Share of penalties in the largest request from which its throughput is not called sequential."""

_FEW_IOS = 10
"""Requests of the largest size below which their mean says little of a disk: its zones differ by a
factor of two."""

_TAX_NOTED = 1.3
"""Penalties per write from which the sentence says so: clearly more than the model's one."""

_REWRITE_PENALTY_RATIO = 20
"""Write over read penalty from which rewritten blocks are the likely cause: no other mechanism
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

    def unidentified(said: Said) -> Finding:
        return worded(name, title, "not identifiable", said, evidence=evidence, detail=detail)

    sizes = {"smallest": block_bytes[0], "largest": block_bytes[-1]}
    if len(np.unique(block_bytes)) < 2:
        return unidentified(say("access_model.one_size", only=block_bytes[0], operation=operation))
    blog = access_model.two_point_model(block_bytes, seconds_per_io)
    if blog.access_penalty_s <= 0:
        return unidentified(say("access_model.no_penalty", operation=operation, **sizes))
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
    holds = np.abs(misfit).max() <= MISFIT_NOTED
    sentences = [
        say(
            "access_model.measured",
            operation=operation,
            reach="reach" if holds else "would reach",
            **_model_detail(blog),
        ),
        say(
            "access_model.fit",
            sizes=len(points),
            penalty_s=fitted.model.access_penalty_s,
            rate=fitted.model.sequential_rate_bytes_per_second,
        ),
        _misfit_sentence(block_bytes, misfit, detail),
        *_largest_sentence(points, detail),
        *_circularity_sentence(block_bytes, seconds_per_io, blog, detail),
    ]
    if operation == "write":
        read = models.get("read")
        sentences += _penalties_sentence(block_bytes, seconds_per_io, blog, read, detail)
        sentences += _block_sentence(blog, read, detail)
    return worded(
        name,
        title,
        "measured",
        together(sentences),
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


def _misfit_sentence(block_bytes: Floats, misfit: Floats, detail: dict[str, Any]) -> Said:
    """Where the blog's prediction fails, and by how much."""
    worst = int(np.argmax(np.abs(misfit)))
    off = block_bytes[np.abs(misfit) > MISFIT_NOTED]
    size_range = [float(off.min()), float(off.max())] if len(off) else None
    detail |= {
        "largest_misfit": misfit[worst],
        "largest_misfit_block_bytes": block_bytes[worst],
        "misfit_range_block_bytes": size_range,
    }
    words = {
        "amount": abs(float(misfit[worst])),
        "how": "less" if misfit[worst] < 0 else "more",
        "worst": block_bytes[worst],
    }
    if size_range is None:
        return say("access_model.holds", **words)
    return say("access_model.fails", range=_range(off), **words)


def _range(block_bytes: Floats) -> Said:
    low, high = block_bytes.min(), block_bytes.max()
    return say("access_model.one" if low == high else "access_model.range", low=low, high=high)


def _largest_sentence(points: Sequence[Measured], detail: dict[str, Any]) -> list[Said]:
    """Says when the largest requests are a poor witness of the sequential rate."""
    largest = points[-1]
    fastest = max(points, key=lambda m: m.bytes_per_second)
    outpaced = fastest.bytes_per_second > (1 + MISFIT_NOTED) * largest.bytes_per_second
    detail["largest_is_outpaced"] = outpaced
    detail["fastest_block_bytes"] = fastest.block_bytes
    detail["fastest_bytes_per_second"] = fastest.bytes_per_second
    sentences = []
    if outpaced:
        rate = fastest.bytes_per_second
        sentences.append(say("access_model.outpaced", fastest=fastest.block_bytes, rate=rate))
    if largest.ios < _FEW_IOS:
        sentences.append(say("access_model.few", ios=largest.ios, largest=largest.block_bytes))
    return sentences


def _circularity_sentence(
    block_bytes: Floats, seconds_per_io: Floats, blog: AccessModel, detail: dict[str, Any]
) -> list[Said]:
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
    return [say("access_model.circular", largest=largest, share=share, rates=rates)]


def _penalties_sentence(
    block_bytes: Floats,
    seconds_per_io: Floats,
    blog: AccessModel,
    read: AccessModel | None,
    detail: dict[str, Any],
) -> list[Said]:
    """How many penalties a write of each size pays, where the model fails for that size."""
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
    paid = {
        "range": _range(block_bytes[taxed]),
        "most": float(penalties[taxed].max()),
        "small": float(penalties[0]),
    }
    blocks = read is not None and _penalty_ratio(blog, read) >= _REWRITE_PENALTY_RATIO
    return [say("access_model.taxed_by_blocks" if blocks else "access_model.taxed", **paid)]


def _penalty_ratio(write: AccessModel, read: AccessModel) -> float:
    return write.access_penalty_s / read.access_penalty_s


def _block_sentence(
    write: AccessModel, read: AccessModel | None, detail: dict[str, Any]
) -> list[Said]:
    """The blog's estimate of the block (its "cluster"), where rewriting whole blocks is the likely
    cause of the penalty."""
    if read is None:
        return []
    block_bytes = access_model.rewritten_block_bytes(
        write.access_penalty_s,
        write.sequential_rate_bytes_per_second,
        read.sequential_rate_bytes_per_second,
    )
    ratio = _penalty_ratio(write, read)
    detail["write_to_read_penalty_ratio"] = ratio
    if ratio < _REWRITE_PENALTY_RATIO:
        return []
    detail["cluster_bytes_estimate"] = block_bytes
    return [say("access_model.block", reads=ratio, size=block_bytes)]

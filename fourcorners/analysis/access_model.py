"""The access model: an I/O of s bytes takes a + s/B seconds.

``a`` is the access penalty, ``B`` the sequential rate. The model, the two-point estimate that its
author calls time-left-seeking, and the explanation of its misfit by rewritten blocks come from
steve8's blog, "How I figured out my OCZ Core 64GB SSD" (2008-07-25). The fit over all sizes is
ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats

# soft_l1 treats residuals below this many robust standard deviations as ordinary scatter: 95 %
# efficient on clean data for the related Huber loss, which has its bend at 1.345.
_BEND = 1.345
_NORMAL_DEVIATION_PER_MAD = 1.4826
# Relative residuals below this are rounding, not scatter.
_SCALE_MIN = 1e-7
# Beyond e to this power an interval only says "unknown".
_LOG_HALF_WIDTH_MAX = math.log(100)


@dataclass(frozen=True)
class AccessModel:
    """Access penalty ``a`` in seconds and sequential rate ``B`` in bytes per second."""

    access_penalty_s: float
    sequential_rate_bytes_per_second: float

    def bytes_per_second(self, block_bytes: Floats) -> Floats:
        """Predicted throughput T(s) = s / (a + s/B), shape (sizes,)."""
        return block_bytes / self.seconds(block_bytes)

    def seconds(self, block_bytes: Floats) -> Floats:
        """Predicted time per I/O, a + s/B, shape (sizes,)."""
        return self.access_penalty_s + block_bytes / self.sequential_rate_bytes_per_second

    @property
    def half_speed_bytes(self) -> float:
        """The size that transfers at half the sequential rate: a * B."""
        return self.access_penalty_s * self.sequential_rate_bytes_per_second


@dataclass(frozen=True)
class AccessFit:
    """A fit over all sizes. Intervals are ``None`` where the sizes do not determine them."""

    model: AccessModel
    access_penalty_interval_s: tuple[float, float] | None
    sequential_rate_interval: tuple[float, float] | None
    residual_scale: float
    """Robust standard deviation of the relative residuals."""


def time_left_seeking(
    iops: float, block_bytes: float, sequential_rate_bytes_per_second: float
) -> float:
    """The blog's access penalty in seconds, from small requests.

    Of each second, IOPS * s / B is spent transferring; what is left, divided among the I/Os, is
    the penalty: (1 - IOPS * s / B) / IOPS.

    Raises:
        ValueError: a rate that is not positive.
    """
    if iops <= 0 or sequential_rate_bytes_per_second <= 0:
        raise ValueError("rates must be positive")
    transferring = iops * block_bytes / sequential_rate_bytes_per_second
    return (1 - transferring) / iops


def two_point_model(block_bytes: Floats, seconds_per_io: Floats) -> AccessModel:
    """The blog's model: B is the throughput at the largest size, a the time left at the smallest.

    B still contains the penalties of the largest requests, which :func:`marginal_rate` does not.

    Args:
        block_bytes: shape (sizes,), ascending, two or more.
        seconds_per_io: shape (sizes,), elapsed time per I/O.
    """
    rate = float(block_bytes[-1] / seconds_per_io[-1])
    penalty = time_left_seeking(1 / float(seconds_per_io[0]), float(block_bytes[0]), rate)
    return AccessModel(penalty, rate)


def fit(block_bytes: Floats, seconds_per_io: Floats) -> AccessFit:
    """Robust fit of a + s/B to the time per I/O at all sizes.

    Residuals are logarithms of predicted over measured time, so every size weighs the same; the
    soft-L1 loss keeps a few odd sizes from bending the line. Intervals are Student's t on the
    covariance of an M-estimator (Huber, Robust Statistics, section 7.6), in the logarithms of a
    and B. They describe scatter about the model; where the misfit is systematic they are too
    narrow.

    Args:
        block_bytes: shape (sizes,), two or more different sizes.
        seconds_per_io: shape (sizes,), positive.

    Raises:
        ValueError: fewer than two different sizes, or a time that is not positive.
    """
    if len(np.unique(block_bytes)) < 2:
        raise ValueError("an access model needs two different request sizes")
    if not np.all(seconds_per_io > 0):
        raise ValueError("times per I/O must be positive")
    log_measured = np.log(seconds_per_io)

    def residuals(parameters: Floats) -> Floats:
        penalty, per_byte = np.exp(parameters)
        return np.asarray(np.log(penalty + per_byte * block_bytes) - log_measured)

    def jacobian(parameters: Floats) -> Floats:
        penalty, per_byte = np.exp(parameters)
        transfer = per_byte * block_bytes
        shares = np.array([np.full_like(transfer, penalty), transfer]) / (penalty + transfer)
        return np.asarray(shares.T, dtype=np.float64)

    largest = int(np.argmax(block_bytes))
    start = np.log([seconds_per_io.min(), seconds_per_io[largest] / block_bytes[largest]])
    # A tight bend comes close to least absolute residuals, whose spread outliers do not inflate.
    first = scipy.optimize.least_squares(residuals, start, jacobian, loss="soft_l1", f_scale=1e-3)
    scale = max(_NORMAL_DEVIATION_PER_MAD * float(np.median(np.abs(first.fun))), _SCALE_MIN)
    bend = _BEND * scale
    final = scipy.optimize.least_squares(
        residuals, first.x, jacobian, loss="soft_l1", f_scale=bend, xtol=1e-14, ftol=1e-14
    )
    half_widths = _half_widths(residuals(final.x), jacobian(final.x), bend)
    penalty, per_byte = (float(value) for value in np.exp(final.x))
    return AccessFit(
        model=AccessModel(penalty, 1 / per_byte),
        access_penalty_interval_s=_around(penalty, half_widths[0]),
        sequential_rate_interval=_around(1 / per_byte, half_widths[1]),
        residual_scale=scale,
    )


def _half_widths(residuals: Floats, jacobian: Floats, bend: float) -> tuple[float, float]:
    """Half widths of the intervals of the logarithms of a and B; infinity if undetermined."""
    freedom = len(residuals) - 2
    if freedom < 1 or np.linalg.cond(jacobian) > 1e8:
        return math.inf, math.inf
    stretched = 1 + (residuals / bend) ** 2
    influence = residuals / np.sqrt(stretched)
    slope = float(np.mean(stretched**-1.5))
    variance = float(np.sum(influence**2)) / freedom / slope**2
    spread = np.sqrt(variance * np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    factor = two_sided_t(freedom)
    return factor * float(spread[0]), factor * float(spread[1])


def _around(value: float, log_half_width: float) -> tuple[float, float] | None:
    if log_half_width > _LOG_HALF_WIDTH_MAX:
        return None
    return value * math.exp(-log_half_width), value * math.exp(log_half_width)


def marginal_rate(block_bytes: Floats, seconds_per_io: Floats) -> float | None:
    """Bytes per second of the last bytes added: the slope between the two largest sizes.

    Both sizes pay about the same number of penalties, which cancel, so this rate is free of the
    circularity of the largest size's throughput. It is ``None`` where noise has the upper hand:
    a slope that is not positive, or a rate below the largest size's throughput or over 1.5 times
    that.

    Args:
        block_bytes: shape (sizes,), ascending, two or more.
        seconds_per_io: shape (sizes,).
    """
    added_s = float(seconds_per_io[-1] - seconds_per_io[-2])
    if added_s <= 0:
        return None
    rate = float(block_bytes[-1] - block_bytes[-2]) / added_s
    throughput = float(block_bytes[-1] / seconds_per_io[-1])
    return rate if throughput <= rate <= 1.5 * throughput else None


def rate_without_penalties(
    block_bytes: float, seconds_per_io: float, access_penalty_s: float, penalties: float
) -> float:
    """Sequential rate if a request of this size paid ``penalties`` access penalties:
    s / (t - penalties * a), in bytes per second."""
    return block_bytes / (seconds_per_io - penalties * access_penalty_s)


def rewritten_block_bytes(
    write_penalty_s: float, write_rate_bytes_per_second: float, read_rate_bytes_per_second: float
) -> float:
    """The blog's estimate of the mapped block c (its "cluster"): a small write reads the whole
    block and writes it back, so penalty = c / write rate + c / read rate.

    An over-estimate: it takes the copy to run at the full sequential rates.
    """
    return write_penalty_s / (1 / write_rate_bytes_per_second + 1 / read_rate_bytes_per_second)


def penalties_per_io(
    block_bytes: Floats,
    seconds_per_io: Floats,
    access_penalty_s: float,
    rate_bytes_per_second: float,
) -> Floats:
    """How many access penalties an I/O of each size pays: (t - s/B) / a, shape (sizes,).

    By the blog, a block-mapped drive pays 1 for tiny writes, and 2 for large ones, for their
    partly written first and last blocks. NaN where a penalty is less than 2 % of the time, so that
    a small error of B would decide.
    """
    penalties = (seconds_per_io - block_bytes / rate_bytes_per_second) / access_penalty_s
    told = access_penalty_s >= 0.02 * seconds_per_io
    return np.where(told, penalties, np.nan)

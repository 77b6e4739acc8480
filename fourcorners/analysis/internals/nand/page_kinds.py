"""Kinds of pages, from how long forced writes take: arithmetic on distributions of latencies.

A cell that holds several bits belongs to as many pages, and the first of them is programmed much
faster than the last. Small writes that each wait for one program therefore take one of as many
times, and each of them equally often. A mixture of lognormal distributions of equal width is
fitted to their latencies, with few others anywhere.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy

from fourcorners.recording.arrays import Floats

KINDS_MAX = 4
"""Cells hold up to four bits."""

_WIDTH_MIN = 0.04
"""The least standard deviation of the logarithm of the times of a kind. Times that differ by less
than this have other reasons, such as a read before the program."""

_RATIO_MIN = 1.25
"""Kinds of pages differ at least by this factor: the least of the published times of lower and
upper pages is 1.5 (Grupp et al., MICRO 2009), while the times of one kind scatter by a tenth."""

_APART_MIN = 3.0
"""Kinds are told if their means are this many standard deviations apart: their distributions then
meet below a third of their height."""

_SHARE_MIN = 0.6
"""Each kind has at least this share of what equal shares would be: a block has as many pages of
each kind, but a few dies are at any page when the probe comes."""

_OTHERS = 0.03
"""The share of latencies that are no single program: interruptions, and collection."""

_GAIN_MIN = 10.0
"""The criterion (BIC) by which one more kind must be better, and twice the log-likelihood by which
unequal shares must be: very strong evidence (Kass and Raftery, JASA 90, 1995)."""

_ROUNDS = 60
"""Steps of a fit; those of kinds that are apart settle in ten."""


@dataclass(frozen=True)
class Kinds:
    """The times of the kinds, ascending, and the share of each, both with shape (kinds,)."""

    seconds: tuple[float, ...]
    errors_s: tuple[float, ...]
    """Half the widths of the 90 % intervals by chance."""
    latencies: int
    """The number of latencies that show them."""
    shares: tuple[float, ...]
    width: float
    """The standard deviation of the logarithm of the times of a kind."""

    @property
    def count(self) -> int:
        """How many kinds there are."""
        return len(self.seconds)

    @property
    def mean_s(self) -> float:
        """The mean time, of as many pages of each kind."""
        return float(np.mean(self.seconds))

    @property
    def equally_often(self) -> bool:
        """Whether the kinds have equal shares, as the pages of a block do. If not, one of them may
        be several kinds whose times are nearly the same. Equal shares are compared by likelihood
        with those of :data:`KINDS_MAX` equal kinds or fewer, some of which look like one."""
        shares = np.array(self.shares)
        merged = max(
            float(shares @ np.log(np.array(parts) / sum(parts)))
            for parts in itertools.product(range(1, KINDS_MAX + 1), repeat=self.count)
            if sum(parts) <= KINDS_MAX
        )
        return 2 * self.latencies * (merged + math.log(self.count)) <= _GAIN_MIN


def page_kinds(seconds: Floats) -> Kinds | None:
    """The kinds that the latencies show, one if they do not differ; ``None`` if there is a second
    kind as much as not.

    Args:
        seconds: latencies of writes that each wait for one program, with shape (writes,).
    """
    x = np.log(np.sort(seconds[seconds > 0]))
    if len(x) < 2 * KINDS_MAX:
        return None
    fits = [_fit(x, count) for count in range(1, KINDS_MAX + 1)]
    best = fits[0]
    for one in fits[1:]:
        if one[0] < best[0] - _GAIN_MIN:
            best = one
    _, means, width, shares, parts = best
    if len(means) > 1 and not (
        np.diff(means).min() >= max(np.log(_RATIO_MIN), _APART_MIN * width)
        and shares.min() >= _SHARE_MIN / len(means)
    ):
        return None
    # The median of those that belong to a kind: what made some of them longer does not count.
    centres, errors = [], []
    for number in range(len(means)):
        own = x[parts == number]
        if not len(own):
            return None
        centre = float(np.exp(np.median(own)))
        spread = 1.4826 * float(np.median(np.abs(own - np.median(own))))
        centres.append(centre)
        errors.append(1.645 * 1.2533 * centre * spread / np.sqrt(len(own)))
    return Kinds(tuple(centres), tuple(errors), len(x), tuple(shares), float(width))


_Fit = tuple[float, Floats, float, Floats, Floats]


def _fit(x: Floats, count: int) -> _Fit:
    """The criterion of the best mixture of so many kinds, their means, width and shares, and the
    number of the kind of each latency, -1 if it is of none."""
    low, high = float(x[0]), float(x[-1])
    other = _OTHERS / max(high - low, _WIDTH_MIN)
    best: _Fit | None = None
    for starts in _starts(x, count):
        means, width = starts, max((high - low) / (4 * count), _WIDTH_MIN)
        shares = np.full(count, 1 / count)
        for _ in range(_ROUNDS):
            dense = shares[:, None] * scipy.stats.norm.pdf(x[None], means[:, None], width)
            dense = (1 - _OTHERS) * dense
            whole = dense.sum(axis=0) + other
            weights = dense / whole
            sums = weights.sum(axis=1) + 1e-12
            means = (weights * x).sum(axis=1) / sums
            variance = (weights * (x - means[:, None]) ** 2).sum() / sums.sum()
            width = max(float(np.sqrt(variance)), _WIDTH_MIN)
            shares = sums / sums.sum()
        parameters = 2 * count
        criterion = -2 * float(np.log(whole).sum()) + parameters * float(np.log(len(x)))
        order = np.argsort(means)
        parts = np.argmax(dense[order], axis=0)
        parts = np.where(dense.sum(axis=0) > other, parts, -1)
        if best is None or criterion < best[0]:
            best = (criterion, means[order], width, shares[order], parts)
    assert best is not None
    return best


def _starts(x: Floats, count: int) -> list[Floats]:
    """Where a search begins: at equal shares of the latencies, and between their widest gaps."""
    shares = np.quantile(x, (np.arange(count) + 0.5) / count)
    inner = x[len(x) // 50 : len(x) - len(x) // 50]
    gaps = np.sort(np.argsort(np.diff(inner))[::-1][: count - 1])
    between = np.array([part.mean() for part in np.split(inner, gaps + 1)])
    return [shares, between]

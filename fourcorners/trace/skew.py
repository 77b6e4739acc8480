"""How unevenly places are accessed: Zipf's law, fitted to how often each was.

A short trace touches only some of the places there are, and by chance some twice: both make it look
more uneven than what it was drawn from. So the law is chosen whose draws, as many as the trace has,
touch as many places and give the hottest tenth of them as large a share.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_EXPONENTS = tuple(step / 20 for step in range(31))
"""0 to 1.5."""
_HOTTEST_SHARE = 0.1
"""What caches are made for; fewer are a matter of chance in a short trace."""
_PLACES_MAX = 1 << 20
"""Of a law that is computed place by place; of more, several count as one."""
_DRAWS_MIN = 200
"""Of fewer, the hottest tenth is a matter of chance."""
_UNIFORM = 0.15
"""An exponent up to 0.1 is not told from 0 by ten thousand accesses of 4,000 places."""


def fitted_zipf(counts: npt.NDArray[np.int64], places_max: int) -> tuple[float, int]:
    """The exponent, 0 for places that are alike, and the number of places.

    Args:
        counts: accesses of each place that has some, shape (places,).
        places_max: how many places there may be.
    """
    touched, draws = len(counts), int(counts.sum())
    if draws < _DRAWS_MIN:
        return 0.0, _places(0.0, touched, draws, places_max)
    wanted = _share_of_hottest(counts)
    best = (float("inf"), 0.0, places_max)
    for exponent in _EXPONENTS:
        places = _places(exponent, touched, draws, places_max)
        off = abs(_expected_share(exponent, places, draws) - wanted)
        if off < best[0]:
            best = (off, exponent, places)
    _, exponent, places = best
    if exponent < _UNIFORM:
        return 0.0, _places(0.0, touched, draws, places_max)
    return exponent, places


def _share_of_hottest(counts: npt.NDArray[np.number]) -> float:
    ordered = np.sort(counts)[::-1]
    taken = max(round(len(ordered) * _HOTTEST_SHARE), 1)
    return float(ordered[:taken].sum() / ordered.sum())


def _law(exponent: float, places: int) -> tuple[npt.NDArray[np.float64], float]:
    """Probabilities, ascending in rank, and how many places each stands for."""
    together = max(places / _PLACES_MAX, 1.0)
    ranks = np.arange(round(places / together)) * together + (together + 1) / 2
    weights = ranks**-exponent
    return weights / (weights.sum() * together), together


def _expected_touched(exponent: float, places: int, draws: int) -> float:
    chances, together = _law(exponent, places)
    return float(together * -np.expm1(-draws * chances).sum())


def _places(exponent: float, touched: int, draws: int, most: int) -> int:
    """How many places there are if so many draws touch so many of them."""
    low, high = touched, max(most, touched)
    if _expected_touched(exponent, high, draws) <= touched:
        return high
    while high - low > max(low // 200, 1):
        middle = (low + high) // 2
        if _expected_touched(exponent, middle, draws) < touched:
            low = middle
        else:
            high = middle
    return high


def _expected_share(exponent: float, places: int, draws: int) -> float:
    """The share of the hottest tenth of the places that are touched, of Poisson counts."""
    chances, _ = _law(exponent, places)
    generator = np.random.default_rng(1)
    drawn = generator.poisson(chances * draws)
    present = drawn[drawn > 0]
    return _share_of_hottest(present) if len(present) else 1.0

"""Forest plots in text: a difference with its interval as a row of characters."""

from __future__ import annotations

import math

from fourcorners.comparison.difference import Difference
from fourcorners.comparison.forest import Axis

COLUMNS = 21
"""Characters of a row; an odd number, so that there is a middle."""

_TOLD, _OPEN, _LINE, _SAME = "●", "○", "─", "│"


def labels(axis: Axis) -> str:
    """What stands above the rows: a round ratio on either side where it belongs, and "same".
    There is no room for "times"."""
    signs = list(" " * COLUMNS)
    log = math.log(axis.step)
    low, high = axis.step_words
    for at, text in ((0.0, "same"), (-log, low), (log, high.removesuffix(" times"))):
        first = max(0, min(COLUMNS - len(text), _column(axis, at) - len(text) // 2))
        signs[first : first + len(text)] = text
    return "".join(signs)


def row(axis: Axis, difference: Difference) -> str:
    """One difference: its interval as a line, its value as a dot, filled where it is told."""
    log = math.log(difference.value / difference.baseline)
    bounds = (log, log)
    if difference.ratio is not None:
        low, high = difference.ratio.interval()
        bounds = (math.log(low), math.log(high))
    return _drawn(axis, bounds, {log: _TOLD if difference.told else _OPEN})


def span(axis: Axis, differences: list[Difference]) -> str:
    """The points of a sweep: from the least to the largest change, a dot for each."""
    dots = {
        math.log(one.value / one.baseline): _TOLD if one.told else _OPEN
        for one in sorted(differences, key=lambda one: one.told)
    }
    return _drawn(axis, (min(dots), max(dots)), dots)


def _drawn(axis: Axis, bounds: tuple[float, float], dots: dict[float, str]) -> str:
    signs = [" "] * COLUMNS
    low, high = (_column(axis, log) for log in bounds)
    signs[low : high + 1] = _LINE * (high + 1 - low)
    signs[COLUMNS // 2] = _SAME
    for log, sign in dots.items():
        beyond = "▶" if log > 0 else "◀"
        signs[_column(axis, log)] = sign if abs(log) <= axis.reach else beyond
    return "".join(signs)


def _column(axis: Axis, log: float) -> int:
    return round((axis.share(log) + 1) / 2 * (COLUMNS - 1))

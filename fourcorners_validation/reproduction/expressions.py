"""Expressions of a source's file over what was measured, in the syntax of Jinja."""

from functools import cache, partial
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from jinja2.environment import TemplateExpression

from fourcorners.recording.arrays import Floats
from fourcorners_validation.reproduction import studies
from fourcorners_validation.reproduction.recorded import MIB, Recorded


def value_of(expression: str, recorded: Recorded, **texts: str) -> float:
    """The value of an expression. A ratio over a rate of zero, as of a drive that stalls, is
    infinite. It is not a number if both drives stall, which meets no rule.

    Raises :class:`NotRunError` for a recording of an experiment that was not run.
    """
    rates = (
        recorded.iops, recorded.mbps, recorded.latency_s, recorded.latency_max_ms, recorded.over,
    )  # fmt: skip
    functions: dict[str, Any] = {one.__name__: one for one in rates}
    functions |= {one.__name__: partial(one, recorded) for one in studies.FUNCTIONS}
    with np.errstate(all="ignore"):
        value: Any = _compiled(expression)(**functions, **_ARITHMETIC, **texts)
    return float(value)


def farthest(values: Any, wanted: float = 1.0) -> float:
    """Of values that should all equal ``wanted``, the one that is furthest from it."""
    return float(max(np.atleast_1d(values), key=lambda value: abs(value / wanted - 1)))


def _relative_range(values: Floats) -> float:
    """Difference of the largest and the smallest value, over the mean."""
    return float(np.ptp(values) / values.mean())


_ARITHMETIC = {
    "MIB": MIB,
    "abs": np.abs,
    "farthest": farthest,
    "median": np.median,
    "nanmax": np.nanmax,
    "relative_range": _relative_range,
}


@cache
def _compiled(expression: str) -> TemplateExpression:
    environment = Environment(undefined=StrictUndefined)
    return environment.compile_expression(expression, undefined_to_none=False)

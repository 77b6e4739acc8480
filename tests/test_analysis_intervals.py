"""Intervals and the values within them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourcorners.analysis.intervals import middle


@given(st.floats(1e-9, 1e9), st.floats(1, 10))
def test_the_middle_of_bounds_is_off_from_both_by_the_same_share(low: float, times: float) -> None:
    high = times * low
    value = middle(low, high)
    assert value / low - 1 == pytest.approx(1 - value / high, abs=1e-9)
    assert value / low - 1 == pytest.approx((high - low) / (high + low), abs=1e-9)


def test_bounds_that_are_not_both_positive_have_their_mean() -> None:
    assert middle(-1.0, 2.0) == 0.5

"""Times of NAND where an assumption of drives that were known before does not hold."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from fourcorners.analysis.internals.nand import read_cost
from fourcorners.analysis.internals.nand.erasures import ends_sharply, in_step
from fourcorners.analysis.internals.nand.page_kinds import Kinds
from fourcorners.analysis.internals.nand.programs import Programs, bounded
from fourcorners.analysis.internals.view import View
from fourcorners.recording.arrays import Floats


def test_a_round_of_dies_at_other_kinds_of_pages_takes_the_slowest() -> None:
    """A read of the rest of a unit of 8 KiB, in a forced write of 4 KiB, stays possible."""
    slow, quick, beside = 555.7e-6, 231.2e-6, 125.6e-6
    kinds = Kinds((quick + beside, slow + beside), (0.0, 0.0), (0.5, 0.5), 0.04)
    found = bounded(Programs(kinds, (23e-6, 127e-6), 583e-6, slow), (0.98 * slow, 1.02 * slow))
    assert isinstance(found, Programs)
    low, high = found.bounds(kinds.mean_s, 0.0)
    assert low <= (slow + quick) / 2 <= high


def _waits(piled: float, count: int) -> Floats:
    """Of reads that come at any time of an erasure of 3 ms, and some that wait for a program of
    1.8 ms besides."""
    chance = np.random.default_rng(5)
    waits = chance.uniform(1e-3, 3e-3, count)
    late = chance.random(count) < piled
    return np.asarray(waits + late * chance.uniform(0.0, 1.8e-3, count), dtype=np.float64)


def test_waits_that_pile_up_do_not_end_sharply_at_the_longest() -> None:
    assert ends_sharply(_waits(0.0, 200), 1e-3, 3e-3)
    assert not ends_sharply(_waits(1.0, 200), 1e-3, 4.7e-3)
    # Reads in step with the erasures, most of which met a program before.
    assert not in_step(np.full(200, 4.7e-3), 20, 1e-3, 4.7e-3)
    assert in_step(np.full(200, 4.7e-3), 90, 1e-3, 4.7e-3)
    # A dozen may come in any order.
    assert not ends_sharply(_waits(0.0, 12), 1e-3, 3e-3)


@pytest.mark.parametrize("ceiling", [None, 3.6e9])
def test_the_time_of_a_byte_on_a_link_has_no_least_where_its_ceiling_is_unknown(
    ceiling: float | None,
) -> None:
    read = SimpleNamespace(bytes=1e9, elapsed_s=1.0)
    view = SimpleNamespace(points=lambda *_: [read], value=lambda _: ceiling)
    least, most = read_cost.link_s(cast(View, view))
    assert least <= 1 / 3.6e9 <= most
    assert (least == most) is (ceiling is not None)

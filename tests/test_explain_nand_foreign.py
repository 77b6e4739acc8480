"""Times of NAND where an assumption of drives that were known before does not hold."""

from types import SimpleNamespace
from typing import cast

import pytest

from fourcorners.analysis.internals.nand import read_cost
from fourcorners.analysis.internals.nand.page_kinds import Kinds
from fourcorners.analysis.internals.nand.programs import Programs, bounded
from fourcorners.analysis.internals.view import View


def test_a_round_of_dies_at_other_kinds_of_pages_takes_the_slowest() -> None:
    """A read of the rest of a unit of 8 KiB, in a forced write of 4 KiB, stays possible."""
    slow, quick, beside = 555.7e-6, 231.2e-6, 125.6e-6
    kinds = Kinds((quick + beside, slow + beside), (0.0, 0.0), (0.5, 0.5), 0.04)
    found = bounded(Programs(kinds, (23e-6, 127e-6), 583e-6, slow), (0.98 * slow, 1.02 * slow))
    assert isinstance(found, Programs)
    low, high = found.bounds(kinds.mean_s, 0.0)
    assert low <= (slow + quick) / 2 <= high


@pytest.mark.parametrize("ceiling", [None, 3.6e9])
def test_the_time_of_a_byte_on_a_link_has_no_least_where_its_ceiling_is_unknown(
    ceiling: float | None,
) -> None:
    read = SimpleNamespace(bytes=1e9, elapsed_s=1.0)
    view = SimpleNamespace(points=lambda *_: [read], value=lambda _: ceiling)
    least, most = read_cost.link_s(cast(View, view))
    assert least <= 1 / 3.6e9 <= most
    assert (least == most) is (ceiling is not None)

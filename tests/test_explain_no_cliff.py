"""A full drive that random writes slow down, at no single place."""

from typing import Any

import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.collection import spare_area


@pytest.mark.parametrize(("growth", "why"), [(1.06, "no_onset"), (1.0, "not_slower")])
def test_a_drive_that_becomes_slower_step_by_step_is_not_called_as_fast(
    growth: float, why: str
) -> None:
    """Dies that collect one by one, and ever more: where the first began does not show."""
    run = FakeRun()
    about: dict[str, Any] = {"block_bytes": 2**17, "stage": "fill"}
    run.add("probe-overwrite/fill", "write", iops=1e8 / 2**17, elapsed_s=10.7374, **about)
    for part in range(128):
        seconds = 4 * MIB / 1e8 * growth ** max(part - 40, 0)
        about = {"block_bytes": 2**14, "stage": "overwrite", "elapsed_s": seconds}
        run.add(f"probe-overwrite/{part}", "write", iops=256 / seconds, **about)
    assert spare_area.by_cliff(view_of(run)).said.code == f"over_provisioning.{why}"

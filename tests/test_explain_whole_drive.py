"""Units are counted at the beginning of a drive; random writes to all of it show further ones."""

import pytest
from analysis_fixture import FakeRun
from explain_fixture import view_of

from fourcorners.analysis.internals.answer import known
from fourcorners.analysis.internals.flash import whole_drive
from fourcorners.sentences import say


@pytest.mark.parametrize(
    ("random_rate", "link_rate", "log_blocks", "holds"),
    [
        (1850e6, 6600e6, 0.0, False),  # two controllers, each of a half of the addresses
        (1000e6, 6600e6, 0.0, True),
        (1000e6, 1100e6, 0.0, None),  # the link would hide a second one
        (400e6, 6600e6, 0.0, None),  # something else makes random writes slow
        (1850e6, 6600e6, 1.0, None),  # other blocks take random writes
    ],
)
def test_a_drive_of_two_halves_has_more_units_than_its_beginning(
    random_rate: float, link_rate: float, log_blocks: float, holds: bool | None
) -> None:
    run = FakeRun()
    for stage, rate in (("fill", 1000e6), ("overwrite", random_rate)):
        name = f"probe-overwrite/{stage}"
        run.add(name, "write", iops=rate / 2**14, block_bytes=2**14, stage=stage)
    for block in (2**17, 2**20):
        name = f"probe-depth/link/erased/{block}"
        run.add(
            name, "read", iops=link_rate / block, block_bytes=block, queue_depth=32, of="erased"
        )
    counted = known(4.0, say("dies.measured", turn_bytes=65536.0))
    checks = whole_drive.checked(view_of(run, log_blocks=log_blocks), counted).checks
    assert [check.holds for check in checks] == ([] if holds is None else [holds])

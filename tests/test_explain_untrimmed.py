"""Erasures of drives that cannot be trimmed show where they are written in sequence once more."""

from pathlib import Path

import pytest
from explain_fixture import MIB, probed, small_ssd

from fourcorners.suites.subject import Subject
from fourcorners.suites.suite import find_suite
from fourcorners.target.simulated import SimulatedTarget

PROBE = "probe-overwrite"
ERASED_BYTES = 4 * MIB
"""One block of every plane of every die of the small drive."""


def test_a_drive_that_cannot_be_trimmed_is_written_in_sequence_to_show_erasures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatedTarget, "no_trim_reason", "it has no TRIM")
    found = probed(PROBE, small_ssd(flash={"blocks_per_plane": 285}), tmp_path)
    assert found["superblock_bytes"].value == pytest.approx(ERASED_BYTES, rel=0.02)
    assert "trim_effect" not in found


def test_a_real_drive_is_not_written_once_more_where_trim_is_not_permitted() -> None:
    device = Subject("device", 10**10, no_trim_reason="TRIM needs --purge discard")
    [real] = find_suite(PROBE).plan(device, 1).tests
    assert not any("laid" in m.id for phase in real.phases for m in phase.measurements)
    assert "TRIM needs --purge discard" in real.parameters["left out"]

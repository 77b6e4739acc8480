"""What is erased at a time is one block of each die, or several in one go: places that wait for
another erasure right after one tell."""

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection import superblock
from fourcorners.analysis.internals.collection.goes import goes
from fourcorners.analysis.internals.collection.reads_beside import Waits

ERASE_S, PACE, UNIT = 4e-3, 100e6, 16 * MIB


def _reads(blocks: int, periods: int = 60) -> Waits:
    """Reads of eight places, one at a time, while a die of each erases so many blocks in a row
    after every 16 MiB that are written."""
    chance = np.random.default_rng(7)
    period_s, now_s, taken = UNIT / PACE, 0.0, []
    while now_s < periods * period_s:
        place = int(chance.integers(0, 8))
        into_s = (now_s + 0.011 * place) % period_s
        left_s = ERASE_S - into_s % ERASE_S if into_s < blocks * ERASE_S else 0.0
        # Reads of a long wait are served, and the host waits for a while.
        took_s = left_s + chance.uniform(1e-4, 2e-4)
        taken.append((place, now_s * PACE, took_s))
        now_s += took_s + chance.exponential(3e-4)
    places, at_bytes, seconds = (np.array(column) for column in zip(*taken, strict=True))
    return Waits(places, at_bytes, seconds, PACE)


@pytest.mark.parametrize(
    ("blocks", "several", "status", "code"),
    [(1, False, True, "measured"), (2, True, None, "in_a_go"), (3, True, None, "in_a_go")],
)
def test_places_that_wait_again_at_once_tell_that_several_blocks_are_erased_in_a_go(
    monkeypatch: pytest.MonkeyPatch, blocks: int, several: bool, status: bool | None, code: str
) -> None:
    reads = _reads(blocks)
    monkeypatch.setattr(superblock, "waits", lambda _view: reads)
    run = FakeRun()
    run.add("probe-overwrite/beside", "read", iops=1e3, stage="beside")
    view = view_of(run)
    found = view.once(superblock.cycle)
    assert found is not None
    gone = goes(reads, found.level_s, found.unit_bytes)
    assert gone is not None
    assert gone.several == several
    assert gone.most <= blocks
    answer = superblock.superblock(view)
    assert answer.value == pytest.approx(UNIT, rel=0.01)
    assert answer.said.code == code
    [check] = [c for c in answer.checks if c.assumption is Assumption.ONE_ERASED_AT_A_TIME]
    assert check.holds == status


def test_a_few_erasures_do_not_tell_that_none_follows_another() -> None:
    gone = goes(_reads(1, periods=9), ERASE_S / 2, UNIT)
    assert gone is not None
    assert gone.several is None

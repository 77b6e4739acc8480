"""Reads that met an erasure, and waited for the program after it as well."""

from types import SimpleNamespace

import numpy as np
import pytest
from analysis_fixture import FakeRun
from explain_fixture import MIB, view_of

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.internals.caches.burst_curve import Curve
from fourcorners.analysis.internals.collection import lost_time
from fourcorners.analysis.internals.collection.periods_met import chance_of_gaps
from fourcorners.analysis.internals.collection.reads_beside import Waits
from fourcorners.analysis.internals.collection.superblock import Cycle
from fourcorners.analysis.internals.nand import erasures

ERASE, PROGRAM, UNIT, FILL_RATE = 2.4e-3, 0.66e-3, 2 * MIB, 95e6


def _erase(
    monkeypatch: pytest.MonkeyPatch,
    waited_s: float,
    lost_s: float,
    late_s: float = 4e-5,
    every: int = 60,
    sooner: int = 0,
) -> Answer:
    """What is said of a drive of which one read of so many waited so long, less up to ``late_s``,
    the first few of them less a program, and others for a program; writes lose so much time for
    every 2 MiB."""
    chance = np.random.default_rng(2)
    seconds = np.full(8000, 1e-4)
    seconds[::8] += chance.uniform(0, PROGRAM, 1000)
    seconds[::every] = waited_s - chance.uniform(0, late_s, len(seconds[::every])) + 1e-4
    seconds[: sooner * every : every] -= PROGRAM
    reads = Waits(np.arange(8000) % 8, np.linspace(0, 130 * UNIT, 8000), seconds, 50e6)
    level_s = 0.95 * waited_s - late_s - bool(sooner) * PROGRAM
    found = Cycle(UNIT, 1e3, waited_s, 130.0, 0.99, level_s, 99.0)
    run = FakeRun()
    for stage, bytes_per_second in (
        ("fill", FILL_RATE),
        ("laid", UNIT / (UNIT / FILL_RATE + lost_s)),
    ):
        iops = bytes_per_second / 2**17
        elapsed_s = 512 * MIB / bytes_per_second
        run.add(
            f"probe-overwrite/{stage}",
            "write",
            iops=iops,
            elapsed_s=elapsed_s,
            block_bytes=2**17,
            stage=stage,
        )

    def curve(_: object, m: object) -> Curve:
        count = np.arange(1, 4097, dtype=np.float64) * 2**17
        return Curve(count / m.bytes_per_second, count)  # type: ignore[attr-defined]

    monkeypatch.setattr(erasures, "waits", lambda _: reads)
    monkeypatch.setattr(erasures, "cycle", lambda _: found)
    monkeypatch.setattr(erasures, "read_cost", lambda _: SimpleNamespace(idle_s=1e-4))
    monkeypatch.setattr(erasures, "programs", lambda _: None)
    monkeypatch.setattr(erasures, "turn_s", lambda _: PROGRAM)
    monkeypatch.setattr(lost_time, "completion_curve", curve)
    answer = erasures.erase(view_of(run))
    assert answer is not None
    return answer


def test_where_reads_came_at_any_time_of_erasures_what_writes_lose_tells_their_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """67 reads that came up to half an erasure late leave a fifth to either side."""
    found = _erase(monkeypatch, ERASE, ERASE, late_s=ERASE / 2, every=120)
    assert found.value == pytest.approx(ERASE, rel=0.01)
    assert found.said.code == "lost"
    # Dies that erase one after the other lose more, which is none of the times that reads leave.
    found = _erase(monkeypatch, ERASE, 3 * ERASE, late_s=ERASE / 2, every=120)
    assert found.said.code == "measured"


@pytest.mark.parametrize(
    ("waited_s", "lost_s"),
    [
        # The die does the next program first.
        (ERASE + PROGRAM, ERASE),
        # It serves the read first; dies erase together, or one after the other.
        (ERASE, ERASE),
        (ERASE, 3 * ERASE),
    ],
)
def test_what_writes_lose_shows_a_program_in_the_waits(
    monkeypatch: pytest.MonkeyPatch, waited_s: float, lost_s: float
) -> None:
    found = _erase(monkeypatch, waited_s, lost_s)
    assert found.value == pytest.approx(ERASE, rel=0.05)
    assert found.interval is not None
    assert found.interval[0] <= ERASE <= found.interval[1]
    assert found.interval[1] >= waited_s


@pytest.mark.parametrize(
    ("lost_s", "told"), [(0.0, False), (0.5 * ERASE, False), (ERASE, True), (3 * ERASE, True)]
)
def test_a_wait_that_may_be_for_a_long_program_too_is_no_erasure_unless_writes_lose_as_much(
    monkeypatch: pytest.MonkeyPatch, lost_s: float, told: bool
) -> None:
    """The link may hide erasures from writes, or the die erase after the programs it was given."""
    found = _erase(monkeypatch, ERASE, lost_s)
    assert (found.value is not None) == told
    assert told or found.said.code == "unsure"


@pytest.mark.parametrize(("sooner", "either"), [(0, False), (2, False), (40, True)])
def test_waits_that_are_a_program_apart_leave_open_which_are_for_an_erasure_alone(
    monkeypatch: pytest.MonkeyPatch, sooner: int, either: bool
) -> None:
    """The longer ones may have waited for a program as well, which writes lose, too."""
    found = _erase(monkeypatch, ERASE, 3 * ERASE, sooner=sooner)
    assert found.interval is not None
    assert (found.interval[0] <= ERASE - PROGRAM) == either


def test_erasures_that_are_missed_by_chance_are_told_from_distances_in_a_pattern() -> None:
    """The pattern is as of a foreign drive (number 15 of seed 4867065), which accepted writes in
    rounds of their own."""
    chance = np.random.default_rng(5)
    by_chance = [chance_of_gaps(chance.geometric(0.65, 136)) for _ in range(300)]
    assert np.mean(np.array(by_chance) < 0.01) < 0.03
    assert chance_of_gaps(np.ones(136, np.int64)) == 1.0
    assert chance_of_gaps(np.tile([1, 2], 68)) < 1e-3

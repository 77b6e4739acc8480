"""Where a drive that is overwritten at random begins to collect, by the times of parts."""

import numpy as np
import pytest

from fourcorners.analysis.internals.collection.cliff import find_cliff

DRAWN = 40


def test_a_cliff_lies_within_its_part() -> None:
    times = [1.0] * 20 + [3.4] + [5.0] * 20
    cliff = find_cliff([(100, elapsed) for elapsed in times])
    assert cliff is not None
    # 0.4 of the part at the old pace and 0.6 at the new one.
    assert cliff.written_bytes == pytest.approx(2040)
    assert find_cliff([(100, 1.0)] * 40) is None
    # Too few parts follow.
    assert find_cliff([(100, 1.0)] * 40 + [(100, 5.0)] * 2) is None
    # Other load makes any part slow.
    chance = np.random.default_rng(1)
    assert find_cliff([(100, elapsed) for elapsed in chance.exponential(1.0, 120)]) is None


def test_a_slower_part_before_the_cliff_is_its_beginning() -> None:
    # The block into which is collected is empty at first.
    times = [1.0] * 20 + [2.1, 1.0, 1.0] + [5.0] * 20
    cliff = find_cliff([(100, elapsed) for elapsed in times])
    assert cliff is not None
    assert cliff.written_bytes == pytest.approx(2050)


@pytest.mark.parametrize("hung", [False, True])
def test_a_slower_part_may_be_of_chance_where_another_one_was(hung: bool) -> None:
    """As of a drive with outliers: a command that hangs makes any part slow, whenever it comes."""
    times = [1.0] * 5 + [1.3 if hung else 1.0] + [1.0] * 30 + [1.6, 1.0, 1.0, 1.0, 1.0] + [5.0] * 20
    cliff = find_cliff([(100, elapsed) for elapsed in times])
    assert cliff is not None
    assert cliff.written_bytes == pytest.approx(4100 if hung else 3650)
    assert cliff.doubtful_bytes == (500 if hung else 0)


@pytest.mark.parametrize("rise", [1, 2, 4])
def test_a_cliff_among_writes_that_hang_is_within_its_margin(rise: int) -> None:
    """Of the writes of a part six hang, in the mean, each as long as a tenth of a part."""
    held = 0
    for seed in range(DRAWN):
        chance = np.random.default_rng(seed)
        hung, within = 1 + 0.1 * chance.poisson(6, 120), chance.uniform()
        pace = np.repeat([1.0, 1.0 + rise], (80, 40))
        pace[80] += -within * rise
        cliff = find_cliff([(100, float(elapsed)) for elapsed in hung * pace])
        assert cliff is not None
        assert cliff.fresh_s == pytest.approx(1.6, rel=0.1)
        off = cliff.written_bytes - 100 * (80 + within)
        held += abs(off) <= cliff.margin_bytes + cliff.onset_bytes
        assert abs(off) <= 800
    assert held >= 0.85 * DRAWN


def test_what_makes_parts_differ_for_longer_than_chance_hides_the_cliff() -> None:
    hung = 1 + 0.1 * np.random.default_rng(7).poisson(6, 120)
    pace = np.repeat([1.0, 4.0], (80, 40))
    rising = np.concatenate([np.sort(hung[:80]), hung[80:]])
    in_turn = np.tile(np.repeat([1.0, 2.0], 4), 15)
    for slower in (rising, in_turn):
        assert find_cliff([(100, float(elapsed)) for elapsed in slower * pace]) is None

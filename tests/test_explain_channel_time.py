"""The time of a byte on a channel, from pairs of reads that wait for each other."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fourcorners.analysis.internals.flash import conflicting_reads
from fourcorners.analysis.internals.flash.levels import Levels
from fourcorners.analysis.internals.nand import page_read as page_reads
from fourcorners.analysis.internals.nand import read_cost
from fourcorners.analysis.internals.view import View


def _pairs_of(
    sizes: dict[int, tuple[float, float]],
    levels: Levels | None = None,
    error_s: float = 0.0,
    **pairs_s: dict[int, float],
) -> Any:
    """What a view finds once: single reads, and pairs of each kind."""

    def once(function: object, kind: str | None = None) -> object:
        found: dict[object, object] = {
            conflicting_reads.seen: SimpleNamespace(block_bytes=2048),
            conflicting_reads.alone: sizes,
            conflicting_reads.shown_levels: levels,
            conflicting_reads.pairs: SimpleNamespace(
                latency_s=pairs_s.get(kind or "", {}), error_s=error_s
            ),
            conflicting_reads.second_s: pairs_s.get("seconds", {}),
        }
        return found[function]

    return once


_LINK_S = 1 / 281e6


def _behind_a_slow_channel(
    page_s: float, of_short: float, planes: int = 1, error_s: float = 0.0
) -> tuple[View, dict[str, dict[int, float]]]:
    """A drive of 16 units on two channels, whose reads pass a page of 8 KiB in this time; of two
    short reads the second waits for this share of it. The link explains how much longer a long read
    takes than a short one, and lets the second of two reads wait as well. With its pairs."""
    sizes = {n: (128e-6 + n * _LINK_S, 0.0) for n in (512, 3584, 7680)}
    shared = {n: n % 2 == 0 for n in range(1, 17)}
    seconds = {
        n: 134e-6 + of_short * page_s * waits + (n == 16) * 34e-6 for n, waits in shared.items()
    }
    pairs = {
        "seconds": seconds,
        "short": {n: 131e-6 + (s - 134e-6) * 4 / 9 for n, s in seconds.items()},
        "together": {
            n: 150e-6 + 0.28 * page_s * waits + (n == 16) * 18e-6 for n, waits in shared.items()
        },
    }
    levels = Levels(16, planes, 2, False, {})
    view = SimpleNamespace(
        once=_pairs_of(sizes, levels, error_s, **pairs),
        points=lambda *_: [],
        value={"link_ceiling": 1 / _LINK_S, "dies": 16, "channels": 2, "page_bytes": 8192}.get,
    )
    return cast(View, view), pairs


def test_short_pairs_show_a_channel_that_is_slower_than_the_array() -> None:
    """The drive whose array was told as 79 us instead of 34: its page passes the channel for 60 us
    whatever is read of it. The wait is as long as one for a die, but no two units share one."""
    page_s = 60e-6
    view, pairs = _behind_a_slow_channel(page_s, of_short=1.0)
    (least, most), _, moved = read_cost._channel(view, 142e-6, 94e-6)
    assert moved == 8192
    assert 0.85 * page_s < least * moved <= page_s <= most * moved < 1.15 * page_s
    # Chance widens both bounds.
    wide, _ = _behind_a_slow_channel(page_s, of_short=1.0, error_s=0.5e-6)
    (lower, higher), _, _ = read_cost._channel(wide, 142e-6, 94e-6)
    assert lower < 0.98 * least < 1.02 * most < higher
    # Of pairs of one die alone, as all others were disturbed, none waits for a channel.
    for kind in pairs.values():
        for n in range(1, 16):
            del kind[n]
    assert read_cost._channel_waits(view, 94e-6) is None
    assert read_cost._page_waits(view, 94e-6, None) is None


def test_short_pairs_that_wait_for_less_than_long_ones_move_parts_of_a_page() -> None:
    view, _ = _behind_a_slow_channel(60e-6, of_short=0.25)
    together = read_cost._channel_waits(view, 94e-6)
    assert together is not None
    assert read_cost._page_waits(view, 94e-6, together) is None


def test_where_units_may_be_planes_a_long_wait_may_be_for_their_die() -> None:
    view, _ = _behind_a_slow_channel(60e-6, of_short=1.0, planes=2)
    together = read_cost._channel_waits(view, 94e-6)
    assert together is not None
    assert read_cost._page_waits(view, 94e-6, together) is None


@pytest.mark.parametrize(("idle_us", "overlaps"), [(142, False), (170, None)])
def test_a_single_read_that_is_too_short_for_both_shows_that_the_transfer_waits_for_the_array(
    idle_us: float, overlaps: bool | None
) -> None:
    """An array that took the 96 us from one read of the place to the next would leave no time for
    the 52 us of the channel."""
    cost = read_cost.ReadCost(
        idle_us * 1e-6, 96e-6, None, (6.3e-9, 7.2e-9), small_bytes=(8192, 8192), of_channel=True
    )
    assert page_reads._overlaps(cost, _LINK_S) is overlaps


@pytest.mark.parametrize(
    ("slope_s", "wait_s", "whole"),
    [(0.17e-9, 19.6e-6, 8192), (0.0, 19.6e-6, 8192), (2.4e-9, 19.6e-6, None), (0.17e-9, 0.0, None)],
)
def test_pairs_that_wait_longer_than_parts_differ_show_that_pages_move_as_a_whole(
    slope_s: float, wait_s: float, whole: int | None
) -> None:
    """SimpleSSD moves a page over the channel whatever is read of it, and a part of it only through
    its memory, whose time is not the channel's."""
    link_s = 0.3125e-9
    sizes = {n: (67e-6 + n * (slope_s + link_s), 0.0) for n in (512, 3584, 7680)}
    # Of nine tenths of the reads that are typical, four wait that take longer than the others.
    pairs_s = {n: 71e-6 + (wait_s * 4 / 9 if n % 4 == 0 else 0.0) for n in range(1, 8)}
    view = SimpleNamespace(
        once=_pairs_of(sizes, together=pairs_s),
        points=lambda *_: [],
        value={"link_ceiling": 1 / link_s, "dies": 16, "channels": 4, "page_bytes": 8192}.get,
    )
    (least, most), _, found = read_cost._channel(cast(View, view), 70e-6, 59.6e-6)
    assert found == whole
    if whole:
        assert least * whole <= wait_s <= most * whole
    else:
        assert least <= slope_s <= most

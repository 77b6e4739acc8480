"""Findings ``stripe_bytes``, ``page_bytes`` and ``dies`` from reads that conflict on a die.

The arithmetic is in :mod:`fourcorners.analysis.internals.flash.interleaving`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import whole_drive
from fourcorners.analysis.internals.flash.boundary_reads import Crossings
from fourcorners.analysis.internals.flash.conflicting_reads import (
    PAIRS,
    alone,
    may_be_channels,
    per_byte_s,
    planes_follow,
    points,
    seen,
    shown_levels,
    windows,
)
from fourcorners.analysis.internals.flash.interleaving import Seen
from fourcorners.analysis.internals.flash.levels import DIE, PLANES_MAX
from fourcorners.analysis.internals.flash.one_unit import one_unit
from fourcorners.analysis.internals.flash.strided_reads import Unread
from fourcorners.analysis.internals.link.generation import LARGE
from fourcorners.analysis.internals.thresholds import TWICE
from fourcorners.analysis.internals.view import PointAxis, View, ids
from fourcorners.finding import RESOLUTION
from fourcorners.sentences import Said, say

_CHIP_PAGE_MAX_BYTES = 16 * 2**10
"""The largest page that a plane of a chip has."""

_PAGE_MAX_BYTES = PLANES_MAX * _CHIP_PAGE_MAX_BYTES
"""One read of a die brings no more: a page of 16 KiB, the largest that chips have, of each plane.
What serves one read of a larger part at a time is no die: a drive, or a process, behind a volume
that is spread over several."""

_RATE_MOST = 1.15
"""Reads are at most so many times as fast as all dies that read one page after the other at the
rate of a single place: the error of a rate and of the places that reads meet."""


def _seen(view: View) -> Seen:
    found = view.once(seen)
    assert found is not None
    return found


def _detail(seen: Seen) -> dict[str, Any]:
    return {
        "window_bytes": list(seen.window),
        "window_iops": list(seen.window.values()),
        "distance_bytes": list(seen.pair),
        "distance_iops": list(seen.pair.values()),
        "one_die_iops": seen.one_die,
    }


def stripe(view: View) -> Answer:
    """Finds the stripe: how many consecutive bytes lie on one die before the next die begins."""
    seen, levels = _seen(view), view.once(shown_levels)
    evidence, detail = ids(windows(view)), _detail(seen)
    stripe = seen.stripe_bytes
    if stripe is None:
        if crossed := seen.crossings:
            return _crossed(view, seen, crossed, crossed.stripe_bytes, say("side_by_side"))
        if unread := _unread(seen):
            if levels is not None and levels.are_first:
                part = unread.stripe_bytes or 0
                said = say("planes_first", planes=levels.planes, part=part)
                found = _once(view, unread, levels.planes * part, said)
                return found.checked(Assumption.NO_PLANES, None)
            said = say("once_read", turn=unread.turn_bytes)
            found = _once(view, unread, unread.stripe_bytes, said)
            return _unless_planes(view, found, unread.dies)
        return unknown(_no_stripe(view, seen), detail=detail, evidence=evidence)
    beyond = next(w for w in seen.window if w > max(stripe, seen.grid_bytes))
    detail["goodness"] = {"spread_within": _spread(seen, stripe)}
    if levels is not None and levels.are_first:
        said = say("planes_first", planes=levels.planes, part=stripe)
        both = [*evidence, *ids(points(view, *PAIRS))]
        found = known(stripe * levels.planes, said, detail=detail, evidence=both)
        return found.checked(Assumption.NO_PLANES, None)
    if view.once(planes_follow):
        both = [*evidence, *ids(points(view, *PAIRS))]
        return unknown(say("planes_follow", part=stripe), detail=detail, evidence=both)
    if seen.is_of_parts:
        both = [*evidence, *ids(points(view, "pair"))]
        return unknown(say("of_parts", part=stripe, turn=seen.turn), detail=detail, evidence=both)
    said = say("measured", beyond=beyond, gain=seen.window[beyond] / seen.one_die)
    found = known(stripe, said, detail=detail, evidence=evidence)
    return _unless_planes(view, found, seen.units)


def page(view: View) -> Answer:
    """Finds the page: how many bytes one array read of a die fetches."""
    found, whole = _page(view)
    if whole:
        return found.checked(Assumption.ARRAY_LONGEST, None)
    shown = view.once(_transfer_is_short)
    if found.value is None or shown is None:
        return found
    return found.checked(Assumption.ARRAY_LONGEST, shown, ids(points(view, "across", "alone")))


def _transfer_is_short(view: View) -> bool | None:
    """Whether the transfer of a second block does not explain that a read of both takes twice as
    long: beside an array read, or after it, it adds at most its own time. Of that the time of
    further bytes of single reads is a bound, since it has the link's part in it; unless a channel
    passes whole mapping units, so that both sizes bring the same. ``None`` where that may be."""
    seen = _seen(view)
    single = view.once(alone)
    if seen.page_bytes is None or len(single) < 2:
        return None
    (small, (small_s, _)), *_, (large, (large_s, _)) = single.items()
    added_s = (large_s - small_s) / (large - small) * seen.block_bytes
    if added_s * seen.one_die >= TWICE - 1:
        return False
    unit = view.value("mapping_unit")
    return True if unit is not None and 2 * unit <= seen.page_bytes else None


def _page(view: View) -> tuple[Answer, bool]:
    """The page, and whether it is the whole stripe, so that no read took twice as long."""
    seen = _seen(view)
    evidence, detail = ids(points(view, "window", "across")), _across(seen)
    stripe, page = seen.stripe_bytes, seen.page_bytes
    if stripe is None or page is None:
        crossed, unread = seen.crossings, _unread(seen)
        if crossed is not None and crossed.page_bytes is not None:
            pages = crossed.stripe_bytes // crossed.page_bytes
            said = say("crossed" if pages > 1 else "no_second_read", pages=pages)
            return _crossed(view, seen, crossed, crossed.page_bytes, said), pages == 1
        if unread is not None and unread.page_bytes is not None:
            part = unread.page_bytes < (unread.stripe_bytes or 0)
            said = say("once_read_part" if part else "once_read_whole")
            return _once(view, unread, unread.page_bytes, said), not part
        if one := view.once(one_unit):
            said = say("of_one_die")
            return known(one.page_bytes, said, detail=detail, evidence=one.evidence), False
        why = _no_stripe(view, seen)
        if stripe is not None:
            longer = [seen.one_die / iops for b, iops in seen.across.items() if b < stripe]
            why = say("disturbed", longer=max(longer, default=1.0))
            if left_out := seen.first_boundary_left_out:
                why = say("left_out", boundary=left_out)
        return unknown(why, detail=detail, evidence=evidence), False
    detail["goodness"] = {"spread_within": _spread(seen, stripe)}
    if page > _PAGE_MAX_BYTES:
        return unknown(say("no_page", part=page), detail=detail, evidence=evidence), False
    if page <= min(seen.across):
        found = known(page, say("or_less"), detail=detail, evidence=evidence)
    elif page == stripe:
        found = known(page, say("whole"), detail=detail, evidence=evidence)
    else:
        said = say("part", longer=seen.one_die / seen.across[page], pages=stripe // page)
        found = known(page, said, detail=detail, evidence=evidence)
        found = found.checked(Assumption.ONE_PLANE, True, evidence)
    large = [m for m in LARGE(view) if m.point[PointAxis.OF] == "written"]
    units = seen.units or _units_most(view, seen)
    if units is None or not large:
        return found, page == stripe
    # Each page takes its die a read, at no higher rate than those of one place.
    most = units * page * seen.one_die
    holds = max(m.bytes_per_second for m in large) <= _RATE_MOST * most
    return found.checked(Assumption.PAGE_IN_STRIPE, holds, ids(large)), page == stripe


def _units_most(view: View, seen: Seen) -> float | None:
    """As many units as explain the fastest window, where they do not show by themselves, but others
    follow after no more than a page of a die, which may therefore be one page in parts. N reads
    keep N n / (N + n - 1) of n units busy whose times are exponential, and more of any that are
    more regular. ``None`` where half of the reads or more have a unit of their own: any number of
    units may then be idle."""
    turn, bank = seen.turn, seen.bank_bytes
    if turn is None or bank is None or bank > turn * _PAGE_MAX_BYTES:
        return None
    depth = windows(view)[0].queue_depth or 0
    busy = max(seen.window.values()) / seen.one_die
    return busy * (depth - 1) / (depth - busy) if 2 * busy < depth else None


def dies(view: View) -> Answer:
    """Finds how many dies the drive has."""
    return whole_drive.checked(view, _dies(view))


def _dies(view: View) -> Answer:
    """How many dies the stripes at the beginning of the drive are spread over."""
    seen = _seen(view)
    evidence, detail = ids(points(view, "window", "pair")), _detail(seen)
    stripe, count, turn, bank = seen.stripe_bytes, seen.units, seen.turn, seen.bank_bytes
    if stripe is None:
        if unread := _unread(seen):
            said = say("once_read", turn=unread.turn_bytes)
            return _of_units(view, _once(view, unread, unread.dies, said))
        if one := view.once(one_unit):
            said = say("one_alone", each_s=one.each_s)
            found = known(1, said, detail=detail, evidence=one.evidence)
            return found.checked(Assumption.NO_PLANES, None)
        return unknown(_no_stripe(view, seen), detail=detail, evidence=evidence)
    if turn is None:
        distance = seen.first_conflict
        several = distance is not None and distance != stripe
        said = say("part_left_out", distance=distance) if several else say("no_turns")
        return unknown(said, detail=detail, evidence=evidence)
    if count is None:
        return unknown(say("others_too", turn=turn), detail=detail, evidence=evidence)
    if not seen.is_one_die_again:
        gain = seen.pair[turn * stripe] / seen.one_die
        said = say("slow_channel", turn=turn, gain=gain)
        return unknown(said, detail=detail, evidence=evidence)
    # No die serves reads at a higher rate than those of one place.
    if not seen.takes_turns or max(seen.window.values()) > _RATE_MOST * count * seen.one_die:
        return unknown(say("more", dies=count), detail=detail, evidence=evidence)
    if view.once(may_be_channels):
        on_way_s = view.once(per_byte_s) * seen.block_bytes
        said = say("or_channels", units=count, way_s=on_way_s, each_s=1 / seen.one_die)
        return unknown(said, detail=detail, evidence=evidence)
    if (seen.page_bytes or 0) > _PAGE_MAX_BYTES:
        said = say("no_dies", units=count, part=seen.page_bytes)
        return unknown(said, detail=detail, evidence=evidence)
    again = seen.die_offset_bytes(count)
    detail["goodness"] = {"together": seen.pair[again] / seen.one_die - 1}
    said = say("measured", turn_bytes=stripe * count)
    if bank is not None:
        said = say("banks", turn=turn, bank=bank, again=count // turn * bank)
    found = known(count, said, detail=detail, evidence=evidence)
    if (keeps := seen.keeps_turns) is not None:
        found = found.checked(Assumption.NOT_HASHED, keeps, evidence)
    if keeps is False:
        return found
    levels = view.once(shown_levels)
    if (
        bank is not None
        and bank <= turn * _CHIP_PAGE_MAX_BYTES
        and (levels is None or levels.planes == 1)
    ):
        # A drive that fills the page of a plane before it goes on to the next one looks like this.
        said = say("planes_or_dies", turn=turn, bank=bank, part=bank // turn)
        return unknown(said, detail=detail, evidence=evidence)
    return _of_units(view, found)


def _of_units(view: View, units: Answer) -> Answer:
    """The number of dies, from that of units: planes that a die reads together are none."""
    measured, levels = points(view, *PAIRS), view.once(shown_levels)
    both = [*(units.evidence or ()), *ids(measured)]
    if levels is None and (units.value or 0) > 1:
        said = say("no_levels" if measured else "no_pairs", units=round(units.value or 0))
        none = unknown(said, detail=units.detail, evidence=both)
        return replace(none, checks=units.checks)
    if levels is None or levels.planes == 1:
        return units.checked(Assumption.NO_PLANES, True if measured else None, ids(measured))
    said = say("planes", units=levels.units, planes=levels.planes, wait=levels.wait[DIE])
    detail = {**units.detail, "units": levels.units}
    # That a read waits for all of another shows what takes turns, a die or a chip of several; which
    # of them it is was not tested.
    dies = replace(known(levels.dies, said, detail=detail, evidence=both), checks=units.checks)
    return dies.checked(Assumption.NO_PLANES, None)


def _unless_planes(view: View, found: Answer, units: int | None) -> Answer:
    """The answer that each place holds a stripe, with the test of whether several are planes of one
    die that read together. Only pairs of reads show that: without them the stripe is up to as many
    times as large as a die has planes."""
    measured = points(view, *PAIRS)
    if measured:
        return found.checked(Assumption.NO_PLANES, True, ids(measured))
    part = found.value or 0.0
    detail = {**found.detail, "interval": RESOLUTION}
    most = part * min(PLANES_MAX, units or PLANES_MAX)
    return replace(found, interval=(part, most), detail=detail)


def _across(seen: Seen) -> dict[str, Any]:
    return {
        "boundary_bytes": list(seen.across),
        "across_s": [1 / iops for iops in seen.across.values()],
        "one_page_s": 1 / seen.one_die,
    }


def _crossed(view: View, seen: Seen, crossed: Crossings, value: int, said: Said) -> Answer:
    """The answer for a drive that serves one read at a time."""
    longest = crossed.longest
    said = Said(said.code, {**said.parameters, "longer": longest})
    detail = _across(seen) | {"goodness": {"longest_within": longest}}
    return known(value, said, detail=detail, evidence=ids(points(view, "across")))


def _unread(seen: Seen) -> Unread | None:
    """The rates of places read once, where they show the dies of a drive that caches what it reads;
    ``None`` elsewhere."""
    unread = seen.unread
    return unread if unread is not None and unread.dies is not None else None


def _once(view: View, unread: Unread, value: int | None, said: Said) -> Answer:
    """The answer for a drive that caches what it reads."""
    assert value is not None
    assert unread.turn_bytes is not None
    detail = {
        "stride_bytes": list(unread.stride),
        "stride_iops": list(unread.stride.values()),
        "distance_bytes": list(unread.apart),
        "distance_iops": list(unread.apart.values()),
        "boundary_bytes": list(unread.edge),
        "across_iops": list(unread.edge.values()),
        "one_die_iops": unread.one_die,
        "goodness": {"slowest": unread.stride[unread.turn_bytes] / unread.one_die - 1},
    }
    return known(value, said, detail=detail, evidence=ids(points(view, "stride", "apart", "edge")))


def _spread(seen: Seen, stripe: int) -> float:
    """The relative spread of the rates of windows within the stripe: each is that of one die. The
    smallest window is one place, even if it is larger than the stripe."""
    inside = [seen.one_die, *(iops for window, iops in seen.window.items() if window <= stripe)]
    return max(inside) / min(inside) - 1


def _no_stripe(view: View, seen: Seen) -> Said:
    place = 2 * min(m.block_bytes or 0 for m in windows(view))
    if seen.grid_bytes > place:
        return say("stripe_bytes.no_place", place=place, least=seen.grid_bytes)
    beyond = seen.first_faster
    if beyond is not None and beyond // 2 not in seen.window:
        gain = seen.window[beyond] / seen.one_die
        return say("stripe_bytes.left_out", beyond=beyond, gain=gain, half=beyond // 2)
    faster = max(seen.window.values()) > seen.one_die
    return say("stripe_bytes.no_meeting" if faster else "stripe_bytes.one_by_one")

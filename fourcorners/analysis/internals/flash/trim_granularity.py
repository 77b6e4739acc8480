"""Finding ``trim_granularity``: the smallest part that a drive unmaps on TRIM.

A drive answers reads of unmapped LBAs without the medium. A trimmed part of g bytes at a multiple
of g contains whole units of the drive if g is at least the unit. Therefore the smallest part whose
reads are fast is the unit.

A drive that keeps its map on the flash may first have to read that, of any place. Reads of what was
kept then take one of several times, and a slow read of a trimmed part does not show that the part
was kept: :mod:`.trim_levels` tells them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import scipy

from fourcorners.analysis.internals.answer import Answer, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.flash import trim_levels
from fourcorners.analysis.internals.thresholds import ALIKE, APART, FALSE_ALARM
from fourcorners.analysis.internals.usual import RARE, share_below
from fourcorners.analysis.internals.view import PointAxis, View, pick
from fourcorners.analysis.source import Measured
from fourcorners.sentences import Said, say

READS = pick("probe-trim", "read", PointAxis.KIND)


def granularity(view: View) -> Answer | None:
    """Finds the smallest part that the drive unmaps; ``None`` where the probe did not come so
    far."""
    seconds: dict[str, dict[int, float]] = {"trimmed": {}, "kept": {}, "never written": {}}
    reads: dict[str, list[Measured]] = {"trimmed": [], "kept": [], "never written": []}
    for m in READS(view):
        reads[str(m.point[PointAxis.KIND])].append(m)
        # By chance the drive may have cached some places, but not half of them: the median holds.
        median_s = m.latency_percentile_s(50)
        if median_s is not None:
            seconds[str(m.point[PointAxis.KIND])][int(m.point["part_bytes"])] = median_s
    trimmed, kept = seconds["trimmed"], seconds["kept"]
    if not trimmed or not kept:
        return None
    kept_s = min(kept.values())
    unmapped_s = min([*seconds["never written"].values(), *trimmed.values()])
    detail = {
        "trimmed_s": _plotted(trimmed),
        "kept_s": _plotted(kept),
        "goodness": {"spread_of_kept": max(kept.values()) / kept_s - 1},
    }
    times = {"kept": kept_s, "unmapped": unmapped_s}
    if kept_s < APART * unmapped_s:
        return unknown(say("alike", **times), detail=detail)
    between_s = math.sqrt(kept_s * unmapped_s)
    taken = {size: s < between_s for size, s in sorted(trimmed.items())}
    if max(kept.values()) > APART * kept_s and not all(taken.values()):
        why = say("map_read_too", **times, slower=max(kept.values()))
        return _by_times(reads, why, detail)
    sure = all(s <= ALIKE * unmapped_s or s >= kept_s / ALIKE for s in trimmed.values())
    if not sure:
        each = {"quickest": min(trimmed.values()), "slowest": max(trimmed.values())}
        return _by_times(reads, say("between", **times, **each), detail)
    least = next((size for size, fast in taken.items() if fast), None)
    if least is not None and not all(taken[size] for size in taken if size >= least):
        return unknown(say("no_order"), detail=detail)
    if least is None and (some := _quick_in_part(reads["trimmed"], reads["kept"], between_s)):
        size, share = some
        return unknown(say("in_part", most=max(taken), size=size, share=share), detail=detail)
    if least is None:
        none = known(0.0, say("none", most=max(taken)), detail=detail)
        return none.checked(Assumption.UNMAPPED_IS_QUICK, None)
    said = say("or_less" if least == min(taken) else "measured", **times)
    return known(least, said, detail=detail)


def _by_times(
    reads: Mapping[str, Sequence[Measured]], why: Said, detail: Mapping[str, Any]
) -> Answer:
    """The answer where a drive may first have to read where data lie; or why there is none."""
    found = trim_levels.smallest(reads["trimmed"], reads["kept"], reads["never written"])
    if found is None:
        return unknown(why, detail=detail)
    code = "without_data_or_less" if found.is_least else "without_data"
    return known(found.part_bytes, say(code, data_s=found.data_s), detail=detail)


def _quick_in_part(
    trimmed: Sequence[Measured], kept: Sequence[Measured], limit_s: float
) -> tuple[int, float] | None:
    """The size of trimmed parts with the largest share of quick reads, and that share; ``None``
    where chance explains as many, by the share of parts that were kept."""
    usual = sum(share_below(m, limit_s) * m.ios for m in kept) / sum(m.ios for m in kept)
    shares = {int(m.point["part_bytes"]): share_below(m, limit_s) for m in trimmed}
    ios = {int(m.point["part_bytes"]): m.ios for m in trimmed}
    size = max(shares, key=lambda one: shares[one])
    chance = scipy.stats.binom.sf(round(shares[size] * ios[size]) - 1, ios[size], max(usual, RARE))
    return (size, shares[size]) if len(shares) * chance < FALSE_ALARM else None


def _plotted(seconds: Mapping[int, float]) -> list[list[float]]:
    return [[float(size), s] for size, s in sorted(seconds.items())]

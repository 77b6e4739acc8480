"""Findings that contradict each other: at least one of them is wrong, and none of them is given.

Each rule names the findings that it withdraws, and sees all findings of the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from fourcorners import sentences
from fourcorners.analysis.internals.collection.superblock import BY_WAITS
from fourcorners.analysis.internals.nand.erasures import BLOCK_PAGES
from fourcorners.finding import Finding
from fourcorners.sentences import Said, say

_TOLERANCE = 0.02
"""A rate may be this much above what the link carries: bursts begin and end within a request."""

Findings = Mapping[str, Finding]


@dataclass(frozen=True)
class ContradictionRule:
    """``fires`` gives the sentence about a contradiction, or ``None`` where there is none."""

    withdraws: tuple[str, ...]
    fires: Callable[[Findings], Said | None]


def _value(found: Findings, name: str) -> float | None:
    finding = found.get(name)
    return None if finding is None else finding.value


def _low(found: Findings, name: str) -> float | None:
    finding = found.get(name)
    return finding.interval[0] if finding and finding.interval else _value(found, name)


def _high(found: Findings, name: str) -> float | None:
    finding = found.get(name)
    return finding.interval[1] if finding and finding.interval else _value(found, name)


def _says(found: Findings, name: str, code: str) -> bool:
    said = found[name].said if name in found else None
    return said is not None and code in said.code


def _kept(found: Findings) -> Said | None:
    once = any(
        _value(found, name) and _says(found, name, ".once_read")
        for name in ("stripe_bytes", "dies")
    )
    no_cache = _value(found, "read_cache_bytes") == 0
    return say("contradiction.kept_beside_no_cache") if once and no_cache else None


_RATES = (
    "read_sequential_rate",
    "outer_rate",
    "inner_rate",
    "write_drain_rate",
    "slc_direct_rate",
)


def _above_the_link(found: Findings) -> Said | None:
    ceiling = _high(found, "link_ceiling")
    rates = [low for name in _RATES if (low := _low(found, name)) is not None]
    if not ceiling or max(rates, default=0.0) <= (1 + _TOLERANCE) * ceiling:
        return None
    return say("contradiction.above_the_link", ceiling=ceiling, rate=max(rates))


def _units(found: Findings) -> Said | None:
    units, dies = _low(found, "parallel_units"), _value(found, "dies")
    planes = max(_value(found, "planes_per_die") or 1.0, 1.0)
    if not units or not dies or units <= dies * planes:
        return None
    given = {"units": round(units), "dies": round(dies), "planes": round(planes)}
    return say("contradiction.units_beside_dies", **given)


def _channels(found: Findings) -> Said | None:
    channels, dies = _value(found, "channels"), _value(found, "dies")
    if not channels or not dies or channels <= dies:
        return None
    return say("contradiction.channels_beside_dies", channels=round(channels), dies=round(dies))


def _durable(found: Findings) -> Said | None:
    both = _value(found, "volatile_write_cache") and _value(found, "power_loss_protection")
    return say("contradiction.volatile_beside_protected") if both else None


def _through(found: Findings) -> Said | None:
    through = all(
        _value(found, name) == 0 for name in ("volatile_write_cache", "power_loss_protection")
    )
    buffered = through and _value(found, "write_buffer_bytes")
    return say("contradiction.buffer_beside_waiting") if buffered else None


def _parts(found: Findings) -> Said | None:
    superblock = _high(found, "superblock_bytes")
    parts = [_low(found, name) for name in ("page_bytes", "mapping_unit", "block_bytes")]
    smaller = superblock and any(part and superblock < part for part in parts)
    return say("contradiction.part_of_its_parts") if smaller else None


def _blocks(found: Findings) -> Said | None:
    """Where addresses tell the die of the data, each die fills blocks of its own, and nothing but
    the host's data: what all of them erase at a time is whole blocks. Elsewhere a part of the pages
    may hold parity or what the drive notes."""
    row_bytes = (_value(found, "page_bytes") or 0.0) * (_value(found, "dies") or 0.0)
    by_waits = _says(found, "superblock_bytes", ".measured")
    if not (by_waits and _value(found, "placement_by_address") and row_bytes):
        return None
    # With what a buffer may hold, some whole number of blocks would nearly always be within.
    low, high = (one / row_bytes for one in found["superblock_bytes"].detail[BY_WAITS])
    # By chance every other count would be near a whole number of blocks.
    if high - low > BLOCK_PAGES / 2 or math.ceil(low / BLOCK_PAGES) * BLOCK_PAGES <= high:
        return None
    return say("contradiction.no_whole_blocks", pages=(low + high) / 2)


def _stalls(found: Findings) -> Said | None:
    name = "collection_stall_spacing"
    apart = _says(found, name, ".contradict_erased")
    if _value(found, name) and _value(found, "superblock_bytes"):
        lows, highs = (
            [end(found, which) or 0.0 for which in (name, "superblock_bytes")]
            for end in (_low, _high)
        )
        apart = max(lows) > min(highs) and not _says(found, name, ".frees_the_rest")
    return say("contradiction.stalls_beside_superblock") if apart else None


def _once(found: Findings) -> Said | None:
    buffer = found.get("write_buffer_bytes")
    if buffer is None or not buffer.value or not _says(found, "slc_cache_bytes", ".once_only"):
        return None
    tested = {one["name"]: one["status"] for one in buffer.detail.get("assumptions", ())}
    return say("contradiction.slower_once") if tested.get("empty_at_first") != "holds" else None


def _zones(found: Findings) -> Said | None:
    still = _value(found, "rotation_rpm") == 0 and (_value(found, "zones") or 0) > 1
    return say("contradiction.zones_beside_no_arm") if still else None


def _seeks(found: Findings) -> Said | None:
    base, mean = _low(found, "seek_base"), _high(found, "seek_mean")
    wrong = base is not None and mean is not None and base > mean
    return say("contradiction.seeks_out_of_order") if wrong else None


_SPARE = ("over_provisioning", "op_by_cliff", "op_by_amplification")


def _platters(found: Findings) -> Said | None:
    turns = _value(found, "rotation_rpm")
    spare = turns and any(_value(found, name) for name in _SPARE)
    return say("contradiction.spare_beside_platters", turns=turns) if spare else None


_FLASH = ("stripe_bytes", "page_bytes", "dies", "planes_per_die", "channels", "parallel_units")
_DISK = (
    "rotation_rpm",
    "seek_stroke",
    "seek_base",
    "seek_mean",
    "track_bytes",
    "track_switch",
    "head_switch",
    "heads",
)


def _both(found: Findings) -> Said | None:
    turns, dies = _value(found, "rotation_rpm"), _value(found, "dies")
    both = turns and dies and dies > 1
    return say("contradiction.dies_beside_platters", turns=turns, dies=dies) if both else None


_OF_DIES = ("dies", "planes_per_die", "channels")
"""The number of dies, and what follows from how pairs of them wait."""

RULES: tuple[ContradictionRule, ...] = (
    ContradictionRule(("read_cache_bytes", "stripe_bytes", "page_bytes", *_OF_DIES), _kept),
    ContradictionRule(("link_ceiling", "link"), _above_the_link),
    ContradictionRule(("parallel_units", *_OF_DIES), _units),
    ContradictionRule(_OF_DIES, _channels),
    ContradictionRule(("volatile_write_cache", "power_loss_protection"), _durable),
    ContradictionRule(("write_buffer_bytes", "write_drain_rate"), _through),
    ContradictionRule(("superblock_bytes",), _parts),
    ContradictionRule(("superblock_bytes",), _blocks),
    ContradictionRule(("superblock_bytes", "collection_stall_spacing"), _stalls),
    ContradictionRule(("write_buffer_bytes", "write_drain_rate"), _once),
    ContradictionRule(("zones", "outer_rate", "inner_rate"), _zones),
    ContradictionRule(("seek_base", "seek_mean"), _seeks),
    ContradictionRule(_SPARE, _platters),
    ContradictionRule((*_FLASH, *_DISK), _both),
)


def withdrawn(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; those that contradict others become not identifiable, with the reason."""
    found = {finding.name: finding for finding in findings}
    reasons: dict[str, Said] = {}
    for rule in RULES:
        said = rule.fires(found)
        if said is not None:
            reasons = dict.fromkeys(rule.withdraws, said) | reasons
    return [_without(one, reasons.get(one.name)) for one in findings]


def _without(finding: Finding, why: Said | None) -> Finding:
    if why is None or finding.verdict != "measured":
        return finding
    said = say("contradiction.said", why=why, shown=finding.shown_value)
    return replace(finding.unidentified(sentences.sentence(said)), said=said)

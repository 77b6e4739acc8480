"""Finding ``explanation``: what kind of drive this is.

The first of these that was measured decides: rotation (a disk); log blocks; a mapping unit of at
least 256 KiB (a block-mapped drive); a smaller unit, spare area, or small writes that rewrite no
block where something shows flash (a page-mapped drive); dies, or no rotation (a solid-state drive).
Then findings add one sentence each: how the drive reads and writes, what is inside, how it is
attached, and what its user should know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fourcorners.analysis.internals.view import FLASH_READ_MIN_S
from fourcorners.finding import ODD, Finding, worded
from fourcorners.sentences import Said, say

BLOCK_MAPPED_MIN_BYTES = 256 * 2**10
"""The least unit of a block-mapped drive: other drives map pages or rows, which are smaller."""

_Measured = Mapping[str, Finding]
_Say = Callable[[Finding, _Measured], Said | None]


def _told(name: str, **parameters: Any) -> Said:
    return say(f"explanation.{name}", **parameters)


def _plainly(name: str) -> _Say:
    return lambda f, _: _told(name, **{**f.detail, "value": f.value})


def _reads(f: Finding, all: _Measured) -> Said:
    """Gives penalty and rate only where the access model holds. Elsewhere the cost of an access
    depends on its size."""
    rate = all.get("read_sequential_rate")
    if rate is None or "misfit_read" in all:
        return _told("small_read", read_s=f.detail["measured_s"][0])
    return _told("reads", penalty=f.value, rate=rate.value)


def _dies(f: Finding, all: _Measured) -> Said:
    channels = all.get("channels")
    # Where planes of a die read together, they were told from dies (die_conflicts.dies). Else a
    # plane that reads independently of the others counts as one.
    if all.get("planes_per_die") or "units" in f.detail:
        if channels is None:
            return _told("dies", dies=f.value)
        return _told("dies_on_channels", dies=f.value, channels=channels.value)
    if channels is None:
        return _told("units", units=f.value)
    return _told("units_on_channels", units=f.value, channels=channels.value)


def _zones(f: Finding, all: _Measured) -> Said | None:
    outer, inner = all.get("outer_rate"), all.get("inner_rate")
    if (f.value or 0) < 2 or outer is None or inner is None:
        return None
    return _told("zones", outer=outer.value, inner=inner.value, zones=f.value)


def _physical_sector(f: Finding, all: _Measured) -> Said | None:
    """Says it where a write may cover a sector only in part."""
    cost = all.get("partial_sector_penalty")
    return None if cost is None else _told("physical_sector", value=f.value, cost_s=cost.value)


def _queue(f: Finding, all: _Measured) -> Said:
    reordering = all.get("reordering")
    if f.value == 1:
        return _told("one_command")
    if reordering is not None and reordering.value:
        return _told("reordered", commands=f.value, gain=reordering.detail["gain"])
    return _told("commands", commands=f.value)


def _ahead(f: Finding, all: _Measured) -> Said:
    streams, far = (
        None if found is None else found.value
        for found in (all.get("read_ahead_streams"), all.get("read_ahead_bytes"))
    )
    of = "ahead" if not streams else "ahead_of_one" if streams == 1 else "ahead_of"
    name = f"{of}_by" if far else of
    return _told(name, streams=streams, far=far)


def _pause(f: Finding, all: _Measured) -> Said:
    trim = all.get("trim_effect")
    return _told("pause_too" if trim is not None and trim.value else "pause")


_SENTENCES: tuple[tuple[str, _Say], ...] = (
    ("rotation_rpm", _plainly("turns")),
    ("zones", _zones),
    ("seek_stroke", _plainly("seeks")),
    ("physical_sector_bytes", _physical_sector),
    ("read_access_penalty", _reads),
    ("extended_model", _plainly("tax")),
    ("over_provisioning", _plainly("spare")),
    ("superblock_bytes", _plainly("erases")),
    ("slc_cache_bytes", _plainly("slc_cache")),
    ("write_buffer_bytes", _plainly("buffer")),
    ("read_ahead", _ahead),
    ("compression", _plainly("compresses")),
    ("deduplication", _plainly("deduplicates")),
    ("dies", _dies),
    ("command_queue_depth", _queue),
    ("link", _plainly("link")),
    ("volatile_write_cache", _plainly("volatile")),
    ("trim_effect", _plainly("trim")),
    ("idle_recovery", _pause),
)
"""The sentence that each finding adds, in the order of the explanation."""

_FIGURES = (
    "rotation_rpm",
    "zones",
    "outer_rate",
    "inner_rate",
    "seek_stroke",
    "physical_sector_bytes",
    "mapping_unit",
    "read_access_penalty",
    "read_sequential_rate",
    "extended_model",
    "write_sequential_rate",
    "over_provisioning",
    "superblock_bytes",
    "slc_cache_bytes",
    "slc_direct_rate",
    "write_buffer_bytes",
    "write_drain_rate",
    "compression_floor",
    "dies",
    "channels",
    "page_bytes",
    "page_read_time",
    "program_time",
    "erase_time",
    "bits_per_cell",
    "pages_per_block",
    "command_queue_depth",
    "link",
)
"""What a person asks for first of a drive, with its interval, in the story's order."""


_ARMS = {"reordering.units": "arms", "reordering.choice": "arms_or_choice"}
"""What is told of a disk that serves two outstanding reads faster than one, by why."""

_OF_COLLECTION = (
    "over_provisioning",
    "superblock_bytes",
    "collection_stall_spacing",
    "trim_effect",
)
"""What only a drive that collects garbage has: one that writes in place may have a unit as well."""


def tell(findings: Sequence[Finding]) -> Finding:
    """Makes the explanation from all other findings."""
    measured = {f.name: f for f in findings if f.verdict == "measured"}
    unknown = [f for f in findings if f.verdict == "not identifiable"]
    odd = [f for f in findings if f.name.startswith(ODD)]
    kind, first = _kind(measured)
    told = {
        name: said
        for name, words in _SENTENCES
        if (found := measured.get(name)) and found.value and (said := words(found, measured))
    }
    several = [
        _told(_ARMS[f.said.code], gain=f.detail["gain_of_two"])
        for f in unknown
        if kind == "disk" and f.said is not None and f.said.code in _ARMS
    ]
    parts = [first, *several, *told.values()]
    if any(f.said is not None and f.said.code == "durability.kept" for f in unknown):
        parts.append(_told("free_flush"))
    if unknown:
        asked = len(measured) - len(odd) + len(unknown)
        parts.append(_told("not_identifiable", unknown=len(unknown), asked=asked))
    disturbed = [f for f in unknown if f.said is not None and f.said.code == "any.under_load"]
    if disturbed:
        parts.append(_told("disturbed", disturbed=len(disturbed)))
    if odd:
        parts.append(_told("odd", odd=len(odd)))
    said = _told("whole", parts=parts)
    return worded(
        "explanation",
        "What kind of drive this is",
        "not identifiable" if kind == "unknown" else "measured",
        said,
        evidence=[recording for name in told for recording in measured[name].evidence],
        detail={
            "kind": kind,
            "from": list(told),
            "figures": [name for name in _FIGURES if _holds(name, measured)],
        },
    )


def _holds(name: str, measured: _Measured) -> bool:
    """Whether there is such a thing (one zone is none), and no model behind it that fails."""
    operation, _, part = name.partition("_")
    if part in ("access_penalty", "sequential_rate") and f"misfit_{operation}" in measured:
        return False
    return name in measured and (measured[name].value or 0) > (1 if name == "zones" else 0)


_OF_FLASH = ("dies", "page_bytes", "superblock_bytes")
"""Findings that only flash has. A burst that slows down may have used up a volume's credits, and
volumes have stripes, too."""


def _kind(measured: _Measured) -> tuple[str, Said]:
    def value(name: str) -> float:
        return (measured[name].value or 0.0) if name in measured else 0.0

    unit = value("mapping_unit")
    logs = measured.get("log_blocks")
    if value("rotation_rpm"):
        return "disk", _told("disk")
    if value("log_blocks"):
        return "log-block", _told("log_block_of" if unit else "log_block", unit=unit)
    if unit >= BLOCK_MAPPED_MIN_BYTES:
        return "block-mapped", _told("block_mapped", unit=unit)
    if unit:
        collects = any(value(name) for name in _OF_COLLECTION)
        return "page-mapped", _told("page_mapped" if collects else "maps_units", unit=unit)
    if value("over_provisioning"):
        return "page-mapped", _told("collects")
    # Memory and volumes of other machines rewrite no block either.
    flash = any(value(name) for name in _OF_FLASH)
    kept = logs is not None and not logs.detail["rewrites"]
    if flash and kept and logs is not None and logs.detail["read_s"] > FLASH_READ_MIN_S:
        return "page-mapped", _told("maps_pages")
    if "dies" in measured:
        return "solid-state", _told("solid_state")
    if "rotation_rpm" in measured:
        return "solid-state", _told("nothing_moves")
    return "unknown", _told("unknown")

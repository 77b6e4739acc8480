"""The catalog of findings about the inside of a drive: one row for each, in the order of a report.

A row says what a finding is about, which probe asks the question and of which drives, which other
findings it needs, and who estimates it. How it is worded is in ``fourcorners/sentences``, in the
section of its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.caches import durability, read_cache, slc_cache, write_buffer
from fourcorners.analysis.internals.collection import (
    parts,
    reads_beside,
    recovery,
    spare_area,
    stalls,
    superblock,
)
from fourcorners.analysis.internals.disk import mechanics, physical_sector, surfaces, tracks, zones
from fourcorners.analysis.internals.flash import (
    channels,
    conflicting_reads,
    data_reduction,
    die_conflicts,
    log_blocks,
    mapping_unit,
    parallel_units,
    partial_write_model,
    trim_granularity,
)
from fourcorners.analysis.internals.link import command_queue, generation, transfer_model
from fourcorners.analysis.internals.method import places
from fourcorners.analysis.internals.nand import erasures, page_read, programs, read_cost
from fourcorners.analysis.internals.view import View
from fourcorners.analysis.source import Measured
from fourcorners.finding import PRESENCE


class ValueKind(Enum):
    """What a value is."""

    DISCRETE = "discrete"
    """One of a few numbers: right or wrong."""
    CONTINUOUS = "continuous"
    """The value may be off by some percent."""
    YES_NO = "yes/no"
    ODD = "odd"
    """What no model of the drive explains, by how much; only there where something does not."""


class Of(Enum):
    """What kind of drive raises the question."""

    ANY = "any"
    FLASH = "flash"


@dataclass(frozen=True)
class Asked:
    """A finding. ``rests_on`` are the measurements that show it. It is asked of a run that has any
    measurement of ``asked_by``, by default of ``rests_on``. ``words`` is the section of its
    sentences where several findings share one."""

    name: str
    title: str
    unit: str
    kind: ValueKind
    rests_on: Callable[[View], list[Measured]]
    estimator: Callable[[View], Answer | None]
    needs: tuple[str, ...] = ()
    of: Of = Of.ANY
    asked_by: Callable[[View], list[Measured]] | None = None
    words: str = ""
    assumes: tuple[Assumption, ...] = ()
    """What the value rests on beside the recordings, and may be otherwise on some drives."""

    @property
    def section(self) -> str:
        """The section that contains the sentences."""
        return self.words or self.name


_DISCRETE, _CONTINUOUS, _YES_NO, _ODD = ValueKind
_THROUGH = ("volatile_write_cache", "power_loss_protection")
_PLATTERS = ("rotation_rpm", "track_bytes", "track_switch")
_SURFACES = (
    Assumption.FOLLOWS_TRACKS,
    Assumption.HEADS_IN_TURN,
    Assumption.SURFACE_BY_SURFACE,
)
_REWRITTEN = (Assumption.FLUSH_CARRIED_OUT, Assumption.READ_BEFORE_WRITE)
_MOVES = (*_PLATTERS, "reordering")
_CURVE_NEEDS = ("command_queue_depth", "log_blocks")
_READ_NEEDS = (
    "mapping_unit",
    "page_bytes",
    "link_ceiling",
    "dies",
    "channels",
    "slc_cache_bytes",
)
_PROGRAM_NEEDS = (
    *_READ_NEEDS,
    "stripe_bytes",
    "planes_per_die",
    "log_blocks",
    "power_loss_protection",
    "write_drain_rate",
)
_SLC_NEEDS = (*_THROUGH, "link_ceiling", "page_bytes", "mapping_unit", "superblock_bytes")
_SPARE_NEEDS = (
    "link_ceiling",
    "log_blocks",
    *_THROUGH,
    "superblock_bytes",
    "write_buffer_bytes",
    "mapping_unit",
    "trim_granularity",
    "placement_by_address",
    "dies",
    "planes_per_die",
    "page_bytes",
)


# fmt: off
def _page_kinds() -> tuple[Asked, ...]:
    return tuple(
        Asked(f"program_time_{name}", f"Program of {title}", "s", _CONTINUOUS, programs.FORCED,
            partial(programs.of_kind, which=which), _PROGRAM_NEEDS, Of.FLASH, words="program_kind",
            assumes=(Assumption.ONE_PROGRAM, Assumption.PLANES_WAIT))
        for which, (name, title) in enumerate((
            ("lower", "a lower page, the quickest kind"),
            ("upper", "an upper page, the second kind"),
            ("extra", "an extra page, the third kind"),
        ))
    )


def _transfers(operation: str) -> tuple[Asked, ...]:
    sizes = partial(transfer_model.sizes, operation=operation)
    needs = ("extended_model",) if operation == "write" else ()
    penalty, rate, misfit = (
        partial(estimator, operation=operation)
        for estimator in (transfer_model.penalty, transfer_model.rate, transfer_model.misfit)
    )
    return (
        Asked(f"{operation}_access_penalty", f"What a {operation} costs beside its transfer", "s",
            _CONTINUOUS, sizes, penalty, needs, words="access_penalty",
            assumes=(Assumption.ADDS_UP,)),
        Asked(f"{operation}_sequential_rate", f"Rate of a {operation}'s transfer", "B/s",
            _CONTINUOUS, sizes, rate, needs, words="sequential_rate",
            assumes=(Assumption.ADDS_UP,)),
        Asked(f"misfit_{operation}", f"{operation.capitalize()}s that no two numbers explain",
            "fraction", _ODD, sizes, misfit, needs, words="misfit"),
    )
# fmt: on


def _conflicting(*kinds: str) -> Callable[[View], list[Measured]]:
    return lambda view: conflicting_reads.points(view, *kinds)


# A table: one row for each finding.
# fmt: off
CATALOG: tuple[Asked, ...] = (
    Asked("mapping_unit", "Mapping unit", "B", _DISCRETE, mapping_unit.PAIRS,
        mapping_unit.unit, ("log_blocks",), Of.FLASH,
        assumes=(Assumption.UNIT_OF_MAP,)),
    Asked("placement_by_address", "Placement by address", PRESENCE, _YES_NO, mapping_unit.PAIRS,
        mapping_unit.placement, ("log_blocks",), Of.FLASH,
        assumes=(Assumption.NOT_HASHED,)),
    Asked("partial_unit_penalty", "What a partly covered unit costs", "s", _CONTINUOUS,
        mapping_unit.PAIRS, mapping_unit.penalty, ("mapping_unit", "log_blocks"), Of.FLASH,
        assumes=(Assumption.UNIT_OF_MAP,)),
    Asked("log_blocks", "Log blocks for small writes", PRESENCE, _YES_NO,
        log_blocks.SMALL_WRITES, log_blocks.log_blocks, (), Of.FLASH, log_blocks.nearby,
        assumes=(Assumption.STOPS_ARE_MERGES,)),
    Asked("extended_model", "Tax of a partly covered unit, by writes of all sizes", "s",
        _CONTINUOUS, partial_write_model.writes, partial_write_model.tax, ("mapping_unit",),
        Of.FLASH, partial_write_model.asked,
        assumes=(Assumption.UNIT_OF_MAP,)),

    *_transfers("read"),
    *_transfers("write"),

    Asked("read_ahead", "Reading ahead", PRESENCE, _YES_NO, read_cache.ALONE,
        read_cache.reads_ahead,
        assumes=(Assumption.READS_AHEAD_ALONE,)),
    Asked("read_ahead_streams", "Sequences that it reads ahead of at a time", "1", _DISCRETE,
        read_cache.SIDE_BY_SIDE, read_cache.streams, ("read_ahead",), asked_by=read_cache.ALONE,
        assumes=(Assumption.READS_AHEAD_ALONE,)),
    Asked("read_ahead_bytes", "How far it reads ahead", "B", _CONTINUOUS, read_cache.PAUSED,
        read_cache.reach, ("read_ahead",), asked_by=read_cache.ALONE,
        assumes=(Assumption.READS_ON,)),
    Asked("read_cache_bytes", "Memory that keeps what was read", "B", _CONTINUOUS, read_cache.AGAIN,
        read_cache.cache, ("read_ahead_streams", "read_ahead_bytes"), asked_by=read_cache.ALONE,
        assumes=(Assumption.AGAIN_FROM_MEMORY, Assumption.SEGMENTS_AHEAD)),

    Asked("stripe_bytes", "Stripe: what lies on one die before the next", "B", _DISCRETE,
        conflicting_reads.windows, die_conflicts.stripe, (), Of.FLASH,
        assumes=(Assumption.CONFLICTS_ON_DIES, Assumption.PLANES_WAIT, Assumption.NO_PLANES)),
    Asked("page_bytes", "Page: what one read of a die brings", "B", _DISCRETE,
        _conflicting("window", "across"), die_conflicts.page, ("mapping_unit",), Of.FLASH,
        conflicting_reads.windows,
        assumes=(Assumption.ONE_PLANE, Assumption.ARRAY_LONGEST, Assumption.PAGE_IN_STRIPE)),
    Asked("dies", "Dies that work at the same time", "1", _DISCRETE,
        _conflicting("window", "pair"), die_conflicts.dies, ("log_blocks",), Of.FLASH,
        conflicting_reads.windows,
        assumes=(Assumption.PLANES_WAIT, Assumption.NO_PLANES, Assumption.NOT_HASHED,
                 Assumption.BEGINNING_HAS_ALL)),
    Asked("planes_per_die", "Planes of a die that read together", "1", _DISCRETE, channels.asked,
        channels.planes_per_die, (), Of.FLASH, conflicting_reads.windows,
        assumes=(Assumption.PLANES_WAIT,)),
    Asked("channels", "Channels that dies share", "1", _DISCRETE, channels.asked,
        channels.channels, ("dies", "link_ceiling", "mapping_unit"), Of.FLASH,
        conflicting_reads.windows,
        assumes=(Assumption.WAITS_FOR_CHANNEL,)),

    Asked("page_read_time", "Read of a page by the array", "s", _CONTINUOUS, read_cost.READ_ALONE,
        page_read.page_read, _READ_NEEDS, Of.FLASH,
        assumes=(Assumption.ARRAY_THEN_CHANNEL,)),
    Asked("program_time", "Program of a page, in the mean", "s", _CONTINUOUS, programs.FORCED,
        programs.mean, _PROGRAM_NEEDS, Of.FLASH,
        assumes=(Assumption.ONE_PROGRAM, Assumption.PLANES_WAIT)),
    *_page_kinds(),
    Asked("bits_per_cell", "Bits per cell", "1", _DISCRETE, programs.FORCED, programs.bits,
        _PROGRAM_NEEDS, Of.FLASH,
        assumes=(Assumption.ONE_PROGRAM, Assumption.A_PAGE_FOR_EACH_BIT)),
    Asked("erase_time", "Erasure of a block", "s", _CONTINUOUS, reads_beside.BESIDE, erasures.erase,
        _PROGRAM_NEEDS, Of.FLASH,
        assumes=(Assumption.WAITS_ARE_ERASURES, Assumption.ONE_ERASED_AT_A_TIME)),
    Asked("pages_per_block", "Pages of a block", "1", _DISCRETE, reads_beside.BESIDE,
        erasures.pages, _PROGRAM_NEEDS, Of.FLASH,
        assumes=(Assumption.WAITS_ARE_ERASURES, Assumption.ONE_ERASED_AT_A_TIME,
                 Assumption.BLOCKS_IN_STEP)),

    Asked("command_queue_depth", "Commands that the drive accepts at once", "1", _DISCRETE,
        command_queue.asked, command_queue.queue_depth,
        assumes=(Assumption.QUEUE_ENDS_GAIN,)),
    Asked("reordering", "Reordering of waiting reads", PRESENCE, _YES_NO, command_queue.RANDOM,
        command_queue.reordering,
        assumes=(Assumption.HOST_KEEPS_ORDER,)),
    Asked("parallel_units", "Reads served at the same time", "1", _DISCRETE, command_queue.RANDOM,
        parallel_units.parallel_units, _CURVE_NEEDS, Of.FLASH, command_queue.enough,
        assumes=(Assumption.UNITS_ALIKE, Assumption.READS_ALIKE,
                 Assumption.BEGINNING_HAS_ALL)),
    Asked("disagreement_parallel_units", "Two ways to the units that serve reads", "1", _ODD,
        command_queue.RANDOM, parallel_units.disagreement, _CURVE_NEEDS,
        asked_by=command_queue.enough),
    Asked("link_ceiling", "What the link carries", "B/s", _CONTINUOUS, generation.LARGE,
        generation.ceiling, ("rotation_rpm", "track_bytes"),
        assumes=(Assumption.LINK_SLOWEST,)),
    Asked("link", "Which link it is", "B/s", _DISCRETE, generation.LARGE, generation.generation,
        ("rotation_rpm", "track_bytes"),
        assumes=(Assumption.LINK_SLOWEST,)),

    Asked("over_provisioning", "Spare area", "of user area", _CONTINUOUS, parts.overwritten,
        spare_area.combined, ("op_by_cliff", "op_by_amplification"), Of.FLASH, parts.FILL,
        assumes=(Assumption.FULL_PACE_UNTIL_COLLECTION, Assumption.WRITES_FILL_PAGES)),
    Asked("op_by_cliff", "Spare area, by the cliff", "of user area", _CONTINUOUS, parts.overwritten,
        spare_area.by_cliff, _SPARE_NEEDS, Of.FLASH, parts.FILL,
        assumes=(Assumption.FULL_PACE_UNTIL_COLLECTION, Assumption.WRITES_FILL_PAGES)),
    Asked("op_by_amplification", "Spare area, by write amplification", "of user area", _CONTINUOUS,
        parts.overwritten, spare_area.by_amplification,
        (*_SPARE_NEEDS, "op_by_cliff", "slc_cache_bytes", "collection_stall_length",
         "write_drain_rate", "page_read_time", "program_time"),
        Of.FLASH, parts.FILL,
        assumes=(Assumption.FLASH_LIMITS, Assumption.GREEDY_COURSE, Assumption.DIES_TOGETHER)),
    Asked("superblock_bytes", "Erased at a time (superblock)", "B", _CONTINUOUS,
        reads_beside.BESIDE, superblock.superblock,
        ("collection_stall_spacing", "write_buffer_bytes"), Of.FLASH, parts.FILL,
        assumes=(Assumption.WAITS_ARE_ERASURES, Assumption.ONE_ERASED_AT_A_TIME,
                 Assumption.EQUAL_DISTANCES)),
    Asked("collection_stall_length", "Collection stalls, length", "s", _CONTINUOUS, stalls.WRITES,
        stalls.length, asked_by=parts.FILL,
        assumes=(Assumption.DIES_TOGETHER,)),
    Asked("collection_stall_spacing", "Collection stalls, distance", "B", _CONTINUOUS,
        stalls.WRITES, stalls.spacing, asked_by=parts.FILL,
        assumes=(Assumption.DIES_TOGETHER, Assumption.EQUAL_DISTANCES)),
    Asked("idle_recovery", "Recovery by a pause", PRESENCE, _YES_NO, parts.FILL,
        recovery.by_pauses,
        assumes=(Assumption.SLOWED_BY_COLLECTION,)),
    Asked("trim_effect", "TRIM", PRESENCE, _YES_NO, parts.FILL, recovery.by_trim,
        assumes=(Assumption.SLOWED_BY_COLLECTION,)),

    Asked("write_buffer_bytes", "Write buffer", "B", _CONTINUOUS, write_buffer.SHORT,
        write_buffer.size, (*_THROUGH, "rotation_rpm", "track_switch", "track_bytes"),
        assumes=(Assumption.EMPTY_AT_FIRST, Assumption.EVEN_DRAIN, Assumption.DRAINS_AT_ONCE)),
    Asked("write_drain_rate", "Drain rate of the write buffer", "B/s", _CONTINUOUS,
        write_buffer.SHORT, write_buffer.drain_rate, (*_THROUGH, "rotation_rpm", "track_bytes"),
        assumes=(Assumption.EVEN_DRAIN,)),
    Asked("slc_cache_bytes", "SLC cache", "B", _CONTINUOUS, slc_cache.bursts, slc_cache.size,
        _SLC_NEEDS, Of.FLASH,
        assumes=(Assumption.FASTER_CELLS, Assumption.READS_KEEP_PACE)),
    Asked("slc_direct_rate", "Rate past the SLC cache", "B/s", _CONTINUOUS,
        slc_cache.bursts_to_flash, slc_cache.direct_rate, _SLC_NEEDS,
        assumes=(Assumption.FASTER_CELLS, Assumption.READS_KEEP_PACE)),
    Asked("slc_recovered_share", "SLC cache after a pause", "of the cache", _CONTINUOUS,
        slc_cache.bursts_to_flash, slc_cache.recovered_share, _SLC_NEEDS,
        assumes=(Assumption.FASTER_CELLS, Assumption.READS_KEEP_PACE)),
    Asked("compression", "Compression", PRESENCE, _YES_NO, data_reduction.COUNTED,
        data_reduction.compression, (*_THROUGH, "link_ceiling"),
        assumes=(Assumption.LESS_STORED,)),
    Asked("compression_floor", "Most that compression saves", "of its room", _CONTINUOUS,
        data_reduction.COUNTED, data_reduction.floor, (*_THROUGH, "compression", "link_ceiling"),
        assumes=(Assumption.TIME_BY_ROOM,)),
    Asked("deduplication", "Deduplication", PRESENCE, _YES_NO, data_reduction.COUNTED,
        data_reduction.deduplication, (*_THROUGH, "link_ceiling"),
        assumes=(Assumption.STORED_ONCE,)),
    Asked("flush_cost", "What a flush costs", "s", _CONTINUOUS, durability.ALL,
        durability.flush_cost,
        assumes=(Assumption.FLUSH_CARRIED_OUT,)),
    Asked("volatile_write_cache", "Volatile write cache", PRESENCE, _YES_NO, durability.ALL,
        durability.is_volatile,
        assumes=(Assumption.FLUSH_CARRIED_OUT,)),
    Asked("power_loss_protection", "Power-loss protection", PRESENCE, _YES_NO, durability.ALL,
        durability.is_protected,
        assumes=(Assumption.FLUSH_CARRIED_OUT,)),
    Asked("trim_granularity", "Least part that TRIM takes", "B", _DISCRETE, trim_granularity.READS,
        trim_granularity.granularity, (), Of.FLASH,
        assumes=(Assumption.UNMAPPED_IS_QUICK,)),

    Asked("zones", "Zones of equal rate", "1", _DISCRETE, zones.PLACES, zones.count,
        ("link_ceiling", *_PLATTERS),
        assumes=(Assumption.OUTER_EDGE_FIRST,)),
    Asked("outer_rate", "Rate at the outer edge", "B/s", _CONTINUOUS, zones.PLACES,
        zones.outer_rate, ("link_ceiling", *_PLATTERS),
        assumes=(Assumption.OUTER_EDGE_FIRST, Assumption.NO_TURN_LOST)),
    Asked("inner_rate", "Rate at the inner edge", "B/s", _CONTINUOUS, zones.PLACES,
        zones.inner_rate, _PLATTERS,
        assumes=(Assumption.OUTER_EDGE_FIRST, Assumption.NO_TURN_LOST)),
    Asked("misfit_places", "Places that are read at another rate", "fraction", _ODD, zones.PLACES,
        places.other_places, ("rotation_rpm",)),
    Asked("rotation_rpm", "Rotation speed", "1/min", _DISCRETE, mechanics.NEAR, mechanics.rotation,
        assumes=(Assumption.ANY_ANGLE,)),
    Asked("seek_stroke", "Seek over all cylinders, beyond the shortest", "s", _CONTINUOUS,
        mechanics.IN_TURNS, mechanics.seek_stroke, _MOVES, asked_by=mechanics.NEAR,
        assumes=(Assumption.OUTER_EDGE_FIRST, Assumption.ROOT_OF_DISTANCE, Assumption.ONE_ARM)),
    Asked("seek_base", "Shortest seek", "s", _CONTINUOUS, mechanics.IN_TURNS, mechanics.seek_base,
        ("command_queue_depth", *_MOVES), asked_by=mechanics.NEAR,
        assumes=(Assumption.OUTER_EDGE_FIRST, Assumption.ROOT_OF_DISTANCE, Assumption.ANY_ANGLE,
            Assumption.ONE_ARM)),
    Asked("seek_mean", "Seek between two places at random", "s", _CONTINUOUS, mechanics.IN_TURNS,
        mechanics.seek_mean, ("command_queue_depth", *_MOVES), asked_by=mechanics.NEAR,
        assumes=(Assumption.OUTER_EDGE_FIRST, Assumption.ROOT_OF_DISTANCE, Assumption.ANY_ANGLE,
            Assumption.ONE_ARM)),
    Asked("track_bytes", "Track at the outer edge", "B", _CONTINUOUS, tracks.FOLLOWING,
        tracks.track_bytes, ("rotation_rpm",), asked_by=tracks.asked,
        assumes=(Assumption.FOLLOWS_TRACKS,)),
    Asked("track_switch", "Switch to the next cylinder", "s", _CONTINUOUS, tracks.FOLLOWING,
        tracks.track_switch, ("rotation_rpm",), asked_by=tracks.asked,
        assumes=(Assumption.FOLLOWS_TRACKS, Assumption.HEADS_IN_TURN)),
    Asked("head_switch", "Switch to the next head", "s", _CONTINUOUS, tracks.FOLLOWING,
        surfaces.head_switch, _PLATTERS, asked_by=tracks.asked, assumes=_SURFACES),
    Asked("heads", "Heads", "1", _DISCRETE, tracks.FOLLOWING, surfaces.heads, _PLATTERS,
        asked_by=tracks.asked, assumes=_SURFACES),
    Asked("physical_sector_bytes", "Physical sector", "B", _DISCRETE, physical_sector.WHOLE,
        physical_sector.size, ("rotation_rpm", "outer_rate"), assumes=_REWRITTEN),
    Asked("partial_sector_penalty", "What a partly covered sector costs", "s", _CONTINUOUS,
        physical_sector.WHOLE, physical_sector.penalty, ("rotation_rpm", "outer_rate"),
        assumes=_REWRITTEN),
)
# fmt: on

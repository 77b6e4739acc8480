"""What findings assume about a drive, and which of it an estimator tested.

A row of the catalog names the assumptions of its finding. An estimator says which of them it tested
on which recordings (:meth:`~fourcorners.analysis.internals.answer.Answer.checked`). The others are
untested, and the finding's text names them. How an assumption is worded is in the section
``assumption`` of ``fourcorners/sentences/internals.toml``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Assumption(StrEnum):
    """What may be otherwise on some drives."""

    ADDS_UP = "adds_up"
    UNIT_OF_MAP = "unit_of_map"
    STOPS_ARE_MERGES = "stops_are_merges"

    READS_AHEAD_ALONE = "reads_ahead_alone"
    AGAIN_FROM_MEMORY = "again_from_memory"
    READS_ON = "reads_on"
    SEGMENTS_AHEAD = "segments_ahead"

    CONFLICTS_ON_DIES = "conflicts_on_dies"
    WAITS_FOR_CHANNEL = "waits_for_channel"
    PLANES_WAIT = "planes_wait"
    NO_PLANES = "no_planes"
    NOT_HASHED = "not_hashed"
    ONE_PLANE = "one_plane"
    ARRAY_LONGEST = "array_longest"
    PAGE_IN_STRIPE = "page_in_stripe"
    UNITS_ALIKE = "units_alike"
    READS_ALIKE = "reads_alike"
    BEGINNING_HAS_ALL = "beginning_has_all"
    QUEUE_ENDS_GAIN = "queue_ends_gain"
    HOST_KEEPS_ORDER = "host_keeps_order"
    LINK_SLOWEST = "link_slowest"

    EMPTY_AT_FIRST = "empty_at_first"
    EVEN_DRAIN = "even_drain"
    DRAINS_AT_ONCE = "drains_at_once"
    FASTER_CELLS = "faster_cells"
    READS_KEEP_PACE = "reads_keep_pace"
    LESS_STORED = "less_stored"
    TIME_BY_ROOM = "time_by_room"
    UNMAPPED_IS_QUICK = "unmapped_is_quick"
    STORED_ONCE = "stored_once"
    FLUSH_CARRIED_OUT = "flush_carried_out"

    FULL_PACE_UNTIL_COLLECTION = "full_pace_until_collection"
    WRITES_FILL_PAGES = "writes_fill_pages"
    FLASH_LIMITS = "flash_limits"
    GREEDY_COURSE = "greedy_course"
    DIES_TOGETHER = "dies_together"
    WAITS_ARE_ERASURES = "waits_are_erasures"
    ONE_ERASED_AT_A_TIME = "one_erased_at_a_time"
    EQUAL_DISTANCES = "equal_distances"
    SLOWED_BY_COLLECTION = "slowed_by_collection"

    ARRAY_THEN_CHANNEL = "array_then_channel"
    ONE_PROGRAM = "one_program"
    A_PAGE_FOR_EACH_BIT = "a_page_for_each_bit"
    BLOCKS_IN_STEP = "blocks_in_step"

    OUTER_EDGE_FIRST = "outer_edge_first"
    ONE_ARM = "one_arm"
    NO_TURN_LOST = "no_turn_lost"
    ANY_ANGLE = "any_angle"
    ROOT_OF_DISTANCE = "root_of_distance"
    FOLLOWS_TRACKS = "follows_tracks"
    HEADS_IN_TURN = "heads_in_turn"
    READ_BEFORE_WRITE = "read_before_write"
    SURFACE_BY_SURFACE = "surface_by_surface"


@dataclass(frozen=True)
class AssumptionCheck:
    """The test of an assumption on recordings. ``holds`` is ``None`` where the answer does not
    depend on the assumption; ``covered`` says that it fails and the interval includes what that
    may change."""

    assumption: Assumption
    holds: bool | None
    evidence: Sequence[str] = ()
    covered: bool = False

    @property
    def status(self) -> str:
        """What the finding's detail says of it."""
        if self.holds is None:
            return "not needed"
        if self.holds:
            return "holds"
        return "fails, within the interval" if self.covered else "fails"


UNTESTED = "not tested"
"""The status of an assumption that was not tested."""

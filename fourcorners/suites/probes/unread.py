"""Reads of places that were not read before, or so long ago that memory has lost them."""

from dataclasses import dataclass
from typing import Any

from fourcorners.patterns import strided
from fourcorners.suites.common import KIB, MIB, access
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

# So much else is read before each point, in hops, so that none of it seems to go on and is read
# ahead of; at the end of what was written, which no point reads.
FORGOTTEN_BYTES = 64 * MIB
_FORGETTING_BLOCK_BYTES = 256 * KIB
_FORGETTING_HOP = 17
_READS = 256
_READS_MIN = 40
# No larger than what is kept of one read, or half of what the dies hold.
_SHIFT_BYTES = 16 * KIB


@dataclass(frozen=True)
class UnreadPlaces:
    """Points within the first ``span_bytes`` of a subject, of reads of ``block_bytes``, ``depth``
    of them outstanding. A turn is what all dies hold before the first one's next stripe."""

    subject: Subject
    span_bytes: int
    block_bytes: int
    depth: int
    time_s: float
    seed: int

    def once(self, place: int, size: int, turn: int, part: int = 0, **fields: Any) -> Stream:
        """Reads of that place of each turn, in the first or second half of all turns, or of all
        of them (0); after the last turn of places a little further on."""
        turns, first = self._area_bytes // turn - 1, 0
        if part:
            turns //= 2
            first = (part - 1) * turns
        grid_bytes = self.subject.request_alignment_bytes
        return access(
            "read",
            strided(turn),
            size,
            offset_bytes=first * turn + place,
            span_bytes=turns * turn - min(_SHIFT_BYTES, turn // 2) + size - grid_bytes,
            alignment_bytes=grid_bytes,
            **fields,
        )

    def forget(self, id: str) -> Measurement:
        """What comes before the point of that id."""
        stream = access(
            "read",
            strided(_FORGETTING_HOP * _FORGETTING_BLOCK_BYTES),
            _FORGETTING_BLOCK_BYTES,
            queue_depth_per_worker=4,
            offset_bytes=self._area_bytes,
            span_bytes=FORGOTTEN_BYTES,
        )
        workload = Workload([stream], volume_bytes=FORGOTTEN_BYTES, seed=self.seed)
        return Measurement(f"forget-{id}", "other reads", workload)

    def strides(self) -> list[int]:
        """All that have places enough; none where too little was written."""
        return _powers(2 * self.block_bytes, self._area_bytes // (_READS_MIN + 2))

    def stride(self, turn: int) -> Measurement:
        """Reads at that stride."""
        stream = self.once(0, self.block_bytes, turn, queue_depth_per_worker=self.depth)
        label = f"reads every {chosen_size(turn)}"
        return self._few(f"stride/{turn}", label, [stream], turn, stride_bytes=turn)

    def within(self, turn: int) -> list[Measurement]:
        """Of all powers of two up to half of a turn: two streams so far apart, and reads across."""
        distances = _powers(2 * self.block_bytes, turn // 2)
        return [p for d in distances for p in (self._apart(d, turn), self._edge(d, turn))]

    def _apart(self, distance: int, turn: int) -> Measurement:
        streams = [
            self.once(place, self.block_bytes, turn, part, queue_depth_per_worker=self.depth // 2)
            for place, part in ((0, 1), (distance, 2))
        ]
        label = f"two streams, {chosen_size(distance)} apart"
        return self._few(f"apart/{distance}", label, streams, turn, apart_bytes=distance)

    def _edge(self, boundary: int, turn: int) -> Measurement:
        place, size = boundary - self.block_bytes, 2 * self.block_bytes
        stream = self.once(place, size, turn, queue_depth_per_worker=self.depth)
        label = f"across {chosen_size(boundary)}, each place once"
        return self._few(f"edge/{boundary}", label, [stream], turn, edge_bytes=boundary)

    def _few(
        self, id: str, label: str, streams: list[Stream], turn: int, **axes: int
    ) -> Measurement:
        ios = min(_READS, self._area_bytes // turn // 2 * 2 - 2)
        return Measurement(
            id, label, Workload(streams, ios=ios, duration_s=5 * self.time_s, seed=self.seed), axes
        )

    @property
    def _area_bytes(self) -> int:
        return self.span_bytes - FORGOTTEN_BYTES


def _powers(least: int, most: int) -> list[int]:
    """``least`` and all larger powers of two times that up to ``most``."""
    return [least << step for step in range((max(0, most) // least).bit_length())]

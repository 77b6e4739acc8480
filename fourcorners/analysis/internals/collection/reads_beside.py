"""Reads of several places while a drive is written in sequence, in the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fourcorners.analysis.internals.collection.parts import TEST
from fourcorners.analysis.internals.view import View, pick
from fourcorners.recording import IoLog
from fourcorners.recording.arrays import Floats

BESIDE = pick(TEST, "read", stage="beside")
"""The reads during sequential writes."""


@dataclass(frozen=True)
class Waits:
    """The reads during writes in the order of issue; all arrays have shape (reads,)."""

    place: npt.NDArray[np.int64]
    at_bytes: Floats
    """The bytes that had been written when each read was issued."""
    seconds: Floats
    pace_bytes_per_second: float
    """The mean rate of the writes."""

    def chosen(self, which: npt.NDArray[np.bool_]) -> Waits:
        """The reads that ``which`` selects."""
        return replace(
            self,
            place=self.place[which],
            at_bytes=self.at_bytes[which],
            seconds=self.seconds[which],
        )

    def by_place(self) -> list[Floats]:
        """The written bytes at the reads of each place with two or more."""
        at_bytes = [self.at_bytes[self.place == place] for place in np.unique(self.place)]
        return [one for one in at_bytes if len(one) > 1]


def reads_beside(log: IoLog) -> Waits:
    """The reads that were issued before the last write completed."""
    writes = log.operation == "write"
    # The writes are sequential, so that offsets count bytes: the log may be a random sample.
    ends = log.offset_bytes[writes] + log.bytes[writes]
    at, written = log.completed_ns[writes], np.maximum.accumulate(ends) - ends[:1]
    beside = (log.operation == "read") & (log.submitted_ns < at[-1:].max(initial=0))
    log = log.chosen(beside).chosen(np.argsort(log.submitted_ns[beside], kind="stable"))
    if not len(at):
        return Waits(log.offset_bytes[:0], np.empty(0), np.empty(0), 0.0)
    return Waits(
        log.offset_bytes,
        np.interp(log.submitted_ns, at, written),
        np.asarray((log.completed_ns - log.submitted_ns) * 1e-9, dtype=np.float64),
        float(written[-1]) / max(float(at[-1]) * 1e-9, 1e-9),
    )


def waits(view: View) -> Waits | None:
    """The reads during sequential writes; ``None`` where there were none."""
    points = BESIDE(view)
    log = points[0].of.log if points else None
    return None if log is None else reads_beside(log)

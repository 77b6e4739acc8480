"""The input of an estimator: selected points of a probe, and other answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.source import Measured, RunData, measured

T = TypeVar("T")

ARM_READ_S = 1.5e-3
"""A drive whose random reads take longer than this, even within a small part of it, has an arm. The
bound is physical: flash needs a tenth, and the fastest disks need 2 ms for half a turn alone."""

FLASH_READ_MIN_S = 10e-6
"""A small read that takes less than this comes from memory: flash takes 20 us for a page."""

FLASH_READ_MAX_S = 0.36e-3
"""A small read of flash takes no longer. The bound is physical: the slowest arrays that are sold
(four bits per cell) take 0.2 ms, and the slowest channels, of 25 MB/s, 0.16 ms for 4 KiB. What
takes longer waits for something else as well, such as a slow controller or a network."""


class PointAxis(StrEnum):
    """The axes on which the points of a probe differ, with their names in a manifest."""

    APART = "apart_bytes"
    ALONE = "alone_bytes"
    BESIDE = "beside"
    BLOCK = "block_bytes"
    BOUNDARY = "boundary_bytes"
    DISTANCE = "distance_bytes"
    EDGE = "edge_bytes"
    KIND = "kind"
    LATE = "late_ns"
    LONG = "long_bytes"
    NEAR = "near_bytes"
    OF = "of"
    OFFSET = "offset_bytes"
    REGION = "region_bytes"
    SENTINEL = "sentinel"
    SEQUENCES = "sequences"
    SHORT = "short_bytes"
    STRIDE = "stride_bytes"
    STRIPES = "stripes"
    WHOLE = "whole_bytes"
    WINDOW = "window_bytes"


class View:
    """A run, as the estimators of its findings use it. It computes only once what several of them
    need."""

    def __init__(
        self,
        run: RunData,
        answers: Callable[[str], Answer | None],
        without: Collection[tuple[str, str]] = (),
    ) -> None:
        """``answers`` returns the answer of another finding, or ``None`` where there is none;
        ``without`` are the operations of recordings that are left out."""
        self.run = run
        self.answer = answers
        self.without = without
        self._once: dict[tuple[Any, ...], Any] = {}

    def points(self, test: str | None = None, operation: str | None = None) -> list[Measured]:
        """The measurements of a probe, in the order of the run."""
        return self.once(_measured, test, operation)

    def once(self, function: Callable[..., T], *arguments: Any) -> T:
        """The result of the function for the view and these arguments, computed once."""
        key = (function, *arguments)
        if key not in self._once:
            self._once[key] = function(self, *arguments)
        result: T = self._once[key]
        return result

    def value(self, name: str) -> float | None:
        """The value of another finding; ``None`` where it has none."""
        answer = self.answer(name)
        return None if answer is None else answer.value

    def has(self, name: str) -> bool:
        """Whether another finding has a value other than zero."""
        return bool(self.value(name))

    @property
    def is_disk(self) -> bool:
        """Whether the small reads between the points of the probes need an arm. Work left over from
        writes delays some of these reads, so that the faster quarter decides."""
        sentinels = self.once(SENTINELS.picked)
        seconds = [1 / m.iops for m in sentinels]
        return bool(seconds) and moves_an_arm(float(np.quantile(seconds, 0.25)))


_SMALL_READS = (
    ("probe-seeks", PointAxis.DISTANCE, PointAxis.STRIDE, PointAxis.REGION),
    ("probe-depth", PointAxis.OF),
    ("probe-trim", PointAxis.SENTINEL),
    ("probe-flush", PointAxis.SENTINEL),
)
"""The probes that read small pieces, and the axes of their points that are something else."""


def latency_floor_s(view: View) -> float | None:
    """The time of the quickest kind of small read, where that is longer than flash takes and
    shorter than an arm: most of it is then spent on the way to the medium, and reads from a memory
    behind that way take as long as those of the medium. ``None`` for other drives."""
    medians = [
        m.latency_percentile_s(50) or 1 / m.iops
        for test, *without in _SMALL_READS
        for m in pick(test, "read", without=tuple(without))(view)
    ]
    quickest_s = min(medians, default=0.0)
    if view.is_disk or moves_an_arm(quickest_s) or quickest_s <= FLASH_READ_MAX_S:
        return None
    return quickest_s


def memory_read_s(view: View) -> float | None:
    """The time of a small random read of this drive, where it is shorter than that of flash: a
    memory answers such reads, and what is behind it does not show. ``None`` for other drives."""
    seconds = [1 / m.iops for m in SENTINELS(view)]
    usual_s = float(np.median(seconds)) if seconds else math.inf
    return usual_s if usual_s < FLASH_READ_MIN_S else None


def moves_an_arm(read_s: float) -> bool:
    """Whether a small random read with this mean time, one at a time, needs an arm."""
    return read_s > ARM_READ_S


def _measured(view: View, test: str | None, operation: str | None) -> list[Measured]:
    # A rate until something failed contains the wait for that, which no model of a drive has.
    return [
        m
        for m in measured(view.run, test, operation)
        if m.of.failure is None and (m.recording, m.operation) not in view.without
    ]


@dataclass(frozen=True)
class Pick:
    """A selection of the points of a probe: those of one operation that have any of ``axes``, none
    of ``without``, and all of ``values``."""

    test: str | None = None
    operation: str | None = None
    axes: tuple[PointAxis, ...] = ()
    without: tuple[PointAxis, ...] = ()
    values: tuple[tuple[str, object], ...] = field(default=())

    def picked(self, view: View) -> list[Measured]:
        """The selected points, in the order of the run."""
        return [m for m in view.points(self.test, self.operation) if self.fits(m.point)]

    def fits(self, point: Mapping[str, object]) -> bool:
        """Whether a point of the probe is selected."""
        return (
            (not self.axes or any(point.get(axis) is not None for axis in self.axes))
            and all(point.get(axis) is None for axis in self.without)
            and all(point.get(name) == value for name, value in self.values)
        )

    def __call__(self, view: View) -> list[Measured]:
        return view.once(self.picked)


SENTINELS = Pick(None, "read", (PointAxis.SENTINEL,))
"""Small random reads between the points of a probe, one at a time."""


def small_reads(view: View, picked: Pick) -> list[Measured]:
    """Random small reads of a probe, one at a time. Where all of them are left out, the same reads
    between the points of that probe stand for them."""
    points = picked(view)
    if points or not view.without:
        return points
    return [m for m in SENTINELS(view) if m.test == picked.test]


def pick(
    test: str,
    operation: str | None = None,
    *axes: PointAxis,
    without: tuple[PointAxis, ...] = (),
    **values: object,
) -> Pick:
    """The points of a probe with any of the axes, and all of the values."""
    return Pick(test, operation, axes, without, tuple(values.items()))


ERASED_ALONE = pick("probe-depth", "read", PointAxis.ALONE)
"""Small reads of erased data, one at a time."""


def ids(points: Sequence[Measured]) -> list[str]:
    """The ids of the recordings of these points."""
    return [m.recording for m in points]


def by_size(points: Iterable[Measured]) -> list[Measured]:
    """The points, sorted by the size of their requests."""
    return sorted(points, key=lambda m: m.block_bytes or 0)


def by(points: Sequence[Measured], axis: PointAxis) -> dict[int, Measured]:
    """The points by their value on an axis, ascending; the last of several with the same value."""
    found = {int(m.point[axis]): m for m in points if m.point.get(axis) is not None}
    return dict(sorted(found.items()))

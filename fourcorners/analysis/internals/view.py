"""What an estimator sees: the points of a probe, picked by what they are, and other answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.source import Measured, RunData, measured

T = TypeVar("T")

ARM_READ_S = 1.5e-3
"""Time of a random read, even within a small part of a drive, from which it has an arm to move: a
physical bound, as flash needs a tenth, and the fastest disks 2 ms for half a turn alone."""


class PointAxis(StrEnum):
    """What makes a point of a probe what it is, by the name that a manifest has for it."""

    APART = "apart_bytes"
    ALONE = "alone_bytes"
    BESIDE = "beside"
    BLOCK = "block_bytes"
    BOUNDARY = "boundary_bytes"
    DISTANCE = "distance_bytes"
    EDGE = "edge_bytes"
    KIND = "kind"
    LONG = "long_bytes"
    NEAR = "near_bytes"
    OF = "of"
    OFFSET = "offset_bytes"
    REGION = "region_bytes"
    SENTINEL = "sentinel"
    SEQUENCES = "sequences"
    SHORT = "short_bytes"
    STAGE = "stage"
    STRIDE = "stride_bytes"
    STRIPES = "stripes"
    WINDOW = "window_bytes"


class View:
    """A run, as the estimators of its findings see it. What several of them compute is computed
    once."""

    def __init__(self, run: RunData, answers: Callable[[str], Answer | None]) -> None:
        """``answers`` gives what is known of another finding; ``None`` where it was not asked."""
        self.run = run
        self.answer = answers
        self._once: dict[tuple[Any, ...], Any] = {}

    def points(self, test: str | None = None, operation: str | None = None) -> list[Measured]:
        """The measurements of a probe, in the order of the run."""
        return self.once(_measured, test, operation)

    def once(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function gives for the view and these arguments."""
        key = (function, *arguments)
        if key not in self._once:
            self._once[key] = function(self, *arguments)
        result: T = self._once[key]
        return result

    def value(self, name: str) -> float | None:
        """Of another finding; ``None`` where it has none."""
        answer = self.answer(name)
        return None if answer is None else answer.value

    def has(self, name: str) -> bool:
        """Whether another finding says yes, or more than nothing."""
        return bool(self.value(name))

    @property
    def is_disk(self) -> bool:
        """Whether the small reads between the points of the probes need an arm. What writes have
        left to do delays some of them, so the faster quarter decides."""
        sentinels = self.once(SENTINELS.picked)
        seconds = [1 / m.iops for m in sentinels]
        return bool(seconds) and moves_an_arm(float(np.quantile(seconds, 0.25)))


def moves_an_arm(read_s: float) -> bool:
    """Whether a small random read of that mean time, one at a time, needs an arm."""
    return read_s > ARM_READ_S


def _measured(view: View, test: str | None, operation: str | None) -> list[Measured]:
    return measured(view.run, test, operation)


@dataclass(frozen=True)
class Pick:
    """Points of a probe by what they are: of one operation, with any of these axes, with none of
    those, and with these values."""

    test: str | None = None
    operation: str | None = None
    axes: tuple[PointAxis, ...] = ()
    without: tuple[PointAxis, ...] = ()
    values: tuple[tuple[str, object], ...] = field(default=())

    def picked(self, view: View) -> list[Measured]:
        """In the order of the run."""
        return [m for m in view.points(self.test, self.operation) if self.fits(m.point)]

    def fits(self, point: Mapping[str, object]) -> bool:
        """Whether a point of the probe is one of these."""
        return (
            (not self.axes or any(point.get(axis) is not None for axis in self.axes))
            and all(point.get(axis) is None for axis in self.without)
            and all(point.get(name) == value for name, value in self.values)
        )

    def __call__(self, view: View) -> list[Measured]:
        return view.once(self.picked)


SENTINELS = Pick(None, "read", (PointAxis.SENTINEL,))
"""Small random reads between the points of a probe, one at a time."""


def pick(
    test: str,
    operation: str | None = None,
    *axes: PointAxis,
    without: tuple[PointAxis, ...] = (),
    **values: object,
) -> Pick:
    """The points of a probe with any of the axes, and all of the values."""
    return Pick(test, operation, axes, without, tuple(values.items()))


def ids(points: Sequence[Measured]) -> list[str]:
    """Of their recordings."""
    return [m.recording for m in points]


def by_size(points: Iterable[Measured]) -> list[Measured]:
    """The points in the order of their requests' size."""
    return sorted(points, key=lambda m: m.block_bytes or 0)


def by(points: Sequence[Measured], axis: PointAxis) -> dict[int, Measured]:
    """The points by what they have on an axis, ascending; of two alike the last."""
    found = {int(m.point[axis]): m for m in points if m.point.get(axis) is not None}
    return dict(sorted(found.items()))

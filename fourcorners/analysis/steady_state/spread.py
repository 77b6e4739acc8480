"""How random writes are spread over what they go over: how slowly its coldest data is mixed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from fourcorners.recording.arrays import Floats
from fourcorners.workload import Stream

UNIFORM_CAPACITIES = 1.25
"""Capacities of uniform writes after which a drive's data counts as mixed: the judge's
``TURNOVERS_CAPACITIES_MAX``."""

SLOW_MAX = 8.0
"""Most that slower mixing counts: ten capacities in all are more than any test writes, and data
that is never written again would take forever."""

APART = 2.0
"""Ratio of the rates of two classes, with none between them, from which one is much colder: blocks
are collected when two thirds to a third of their data is valid, at the amplification of most
drives, and so within a factor of 2.7 in time anyway."""

_CLASSES = 200
"""Of ranks, at equal ratios: from one to the next the rate changes by a tenth or so."""

_RANKS = 2**28
"""Places where the span is not known: a terabyte in blocks of 4 KiB. Only the logarithm counts."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Classes of places that are written about as often as each other, the coldest last; arrays of
    shape (classes,) that each add up to 1."""

    places: Floats
    writes: Floats

    @classmethod
    def of_pattern(cls, pattern: str, places: float = _RANKS) -> Self:
        """The spread of a :class:`Stream`'s pattern over so many blocks. What is no skewed pattern
        counts as uniform, and so does ``normal``."""
        kind, *numbers = pattern.split(":")
        match kind:
            case "hot-cold":
                data, accesses = (float(number) for number in numbers)
                return cls._of([(data, accesses), (1 - data, 1 - accesses)])
            case "zoned":
                zones = [tuple(map(float, zone.split("/"))) for zone in numbers]
                return cls._of([(data / 100, accesses / 100) for accesses, data in zones])
            case "zipf":
                edges = np.geomspace(0.5, max(2.0, places) + 0.5, _CLASSES + 1)
                power = 1 - float(numbers[0])
                # The integral of rank ** -exponent; a rank's own is about its area.
                area = np.log(edges) if abs(power) < 1e-9 else (edges**power - 1) / power
                return cls._of(list(zip(np.diff(edges), np.diff(area), strict=True)))
            case "pareto":
                skew = float(numbers[0])
                edges = np.concatenate(([0.0], np.geomspace(1 / max(2.0, places), 1.0, _CLASSES)))
                within = edges ** (math.log(1 - skew) / math.log(skew))
                return cls._of(list(zip(np.diff(edges), np.diff(within), strict=True)))
            case _:
                return cls._of([(1.0, 1.0)])

    @classmethod
    def of_streams(cls, streams: Sequence[Stream], capacity_bytes: float) -> Self:
        """The spread of what streams write: of several, of the one that mixes the slowest."""
        found = [
            cls.of_pattern(one.pattern, (one.span_bytes or capacity_bytes) / one.block_bytes)
            for one in streams
            if one.read_share < 1
        ]
        return max(found, key=lambda one: one.slowness, default=cls.of_pattern("random"))

    @classmethod
    def _of(cls, classes: Sequence[Sequence[float]]) -> Self:
        rows = np.array([row for row in classes if row[0] > 0], dtype=np.float64)
        rows = rows[np.argsort(-rows[:, 1] / rows[:, 0], kind="stable")]
        return cls(rows[:, 0] / rows[:, 0].sum(), rows[:, 1] / rows[:, 1].sum())

    def unwritten(self, capacities: npt.ArrayLike) -> Floats:
        """Share of the places that are still not written after so many capacities of writes: each
        class decays exponentially, ``exp(-w / C)`` where all are alike. Shapes: (times,)."""
        decay = np.exp(-np.outer(np.asarray(capacities), self.writes / self.places))
        return np.asarray(decay @ self.places)

    @cached_property
    def slowness(self) -> float:
        """By how much longer these writes take than uniform ones to leave as little unwritten as
        :data:`UNIFORM_CAPACITIES` of those do; :data:`SLOW_MAX` at most."""
        times = np.geomspace(1.0, SLOW_MAX, 64)
        left = self.unwritten(UNIFORM_CAPACITIES * times)
        return float(np.interp(-math.exp(-UNIFORM_CAPACITIES), -left, times))

    @cached_property
    def late_step(self) -> float:
        """:attr:`slowness` where some data is much colder than all other data, 1 where not.

        The blocks of such data are first collected long after those of the other data, all at
        about the same time. Until then nothing announces it in the rate. Zipf's law has data of
        every temperature, and the rate falls evenly; data that is never written again has no such
        time.
        """
        rates = self.writes / self.places
        rates = rates[rates > 0]
        apart = bool((rates[:-1] > APART * rates[1:]).any())
        return self.slowness if apart else 1.0


UNIFORM = Spread.of_pattern("random")

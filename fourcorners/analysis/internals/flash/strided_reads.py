"""How a drive that caches what it reads spreads sequential data over its dies.

In such a drive, repeated reads of one place come from the cache, so that they never meet on a die.
Reads of many places of one die do. If the stride is a multiple of a turn (the bytes from one stripe
of a die to its next), all places are on the same die; with half a turn they alternate between two
dies. Therefore the turn is the smallest stride from which on the rate stays at its lowest. Two
streams of this stride meet on one die if their distance is less than a stripe, and use two dies if
it is a stripe or more. A read across the boundary of two pages of one die takes twice as long.

No place is read again before enough other data was read to evict it from the cache. Strides are
powers of two, and so are the numbers of dies that are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from fourcorners.analysis.internals.thresholds import ALIKE, APART, TWICE

_HALVED = 1.5
"""The rate at half a turn, which is that of two dies, is at least so many times that of one die."""

_ALONE = 2.0
"""The rate of one die is less than so many times that of one read at a time; reads that alternate
between two or more dies are faster."""


@dataclass(frozen=True)
class Unread:
    """The rates in I/Os per second: ``stride`` of reads by their stride in bytes, ``apart`` of two
    streams by their distance, ``edge`` of reads across each boundary, and ``alone`` of random reads
    one at a time."""

    stride: Mapping[int, float] = field(default_factory=dict)
    apart: Mapping[int, float] = field(default_factory=dict)
    edge: Mapping[int, float] = field(default_factory=dict)
    alone: float = 0.0

    @property
    def one_die(self) -> float:
        """The rate of the largest stride, which is that of one die if a turn was found."""
        return self.stride[max(self.stride)]

    @property
    def turn_bytes(self) -> int | None:
        """The bytes from one stripe of a die to its next; ``None`` if no stride shows them."""
        strides, rates = list(self.stride), list(self.stride.values())
        # Smaller strides read several places of a page, one after the other on a die.
        fastest = rates.index(max(rates))
        falls = all(later < ALIKE * iops for iops, later in itertools.pairwise(rates[fastest:]))
        first = next(i for i, iops in enumerate(rates) if i >= fastest and self._slow(iops))
        if not falls or first == 0 or first == len(rates) - 1:
            return None
        halved = self.stride.get(strides[first] // 2, 0.0) > _HALVED * self.one_die
        one_die = self.one_die < _ALONE * self.alone
        return strides[first] if halved and one_die else None

    def _slow(self, iops: float) -> bool:
        """Whether a rate is that of one die."""
        return iops < ALIKE * self.one_die

    @property
    def stripe_bytes(self) -> int | None:
        """The consecutive bytes that lie on one die; ``None`` if no distance shows them."""
        together = [d for d, iops in self.apart.items() if self._slow(iops)]
        apart = [d for d, iops in self.apart.items() if iops > APART * self.one_die]
        if self.turn_bytes is None or not apart or len(together) + len(apart) < len(self.apart):
            return None
        return min(apart) if max(together, default=0) < min(apart) else None

    @property
    def page_bytes(self) -> int | None:
        """The bytes that one array read of a die fetches; ``None`` where no stripe is known."""
        stripe = self.stripe_bytes
        if stripe is None or not self.edge:
            return None
        doubled = (b for b, iops in self.edge.items() if self.one_die / iops >= TWICE)
        return min((b for b in doubled if b < stripe), default=stripe)

    @property
    def dies(self) -> int | None:
        """The number of dies that the stripes rotate over; ``None`` where it is not known."""
        turn, stripe = self.turn_bytes, self.stripe_bytes
        return None if turn is None or stripe is None else turn // stripe

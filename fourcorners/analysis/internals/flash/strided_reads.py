"""How a drive spreads what is written in sequence, where memory keeps what was read.

Reads of one place come out of memory there from the second on, so that they never meet on dies.
Reads of many places of one die do: of a stride that is a multiple of what all dies hold in a turn,
each place is on the same die as the one before, and of half of that on two in turn. So the smallest
stride from which on reads are slowest, and alike, is the turn of the dies. Two streams of that
stride, some distance apart, meet on one die up to the stripe and on two from there on, and reads
across a boundary of two pages of one die take it twice as long.

No place is read twice before so much else was read that memory has lost it. Strides are powers of
two, and so are the dies that are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

from fourcorners.analysis.internals.thresholds import ALIKE, APART, TWICE

_HALVED = 1.5
"""Rate of half of the turn, which is that of two dies, over that of one, at least."""

_ALONE = 2.0
"""Rate of one die over that of one read at a time, of which it is the most: reads of two or more
dies in turn are faster."""


@dataclass(frozen=True)
class Unread:
    """Rates in I/Os per second: of reads at each stride in bytes, of two streams by their distance,
    of reads across each boundary; ``alone`` is that of random reads, one at a time."""

    stride: Mapping[int, float] = field(default_factory=dict)
    apart: Mapping[int, float] = field(default_factory=dict)
    edge: Mapping[int, float] = field(default_factory=dict)
    alone: float = 0.0

    @property
    def one_die(self) -> float:
        """Rate of the largest stride, which is that of one die if there is a turn."""
        return self.stride[max(self.stride)]

    @property
    def turn_bytes(self) -> int | None:
        """What all dies hold before the first one's next stripe; ``None`` if no stride shows it."""
        strides, rates = list(self.stride), list(self.stride.values())
        # Smaller ones read several places of a page, which dies do one after the other.
        fastest = rates.index(max(rates))
        falls = all(later < ALIKE * iops for iops, later in itertools.pairwise(rates[fastest:]))
        first = next(i for i, iops in enumerate(rates) if i >= fastest and self._slow(iops))
        if not falls or first == 0 or first == len(rates) - 1:
            return None
        halved = rates[first - 1] > _HALVED * self.one_die
        one_die = self.one_die < _ALONE * self.alone
        return strides[first] if halved and one_die else None

    def _slow(self, iops: float) -> bool:
        """Whether a rate is that of one die."""
        return iops < ALIKE * self.one_die

    @property
    def stripe_bytes(self) -> int | None:
        """What lies on one die before the next one begins; ``None`` if no distance shows it."""
        together = [d for d, iops in self.apart.items() if self._slow(iops)]
        apart = [d for d, iops in self.apart.items() if iops > APART * self.one_die]
        if self.turn_bytes is None or not apart or len(together) + len(apart) < len(self.apart):
            return None
        return min(apart) if max(together, default=0) < min(apart) else None

    @property
    def page_bytes(self) -> int | None:
        """What one read of a die brings; ``None`` without a stripe."""
        stripe = self.stripe_bytes
        if stripe is None or not self.edge:
            return None
        doubled = (b for b, iops in self.edge.items() if self.one_die / iops >= TWICE)
        return min((b for b in doubled if b < stripe), default=stripe)

    @property
    def dies(self) -> int | None:
        """Dies that take stripes in turn; ``None`` where they do not show."""
        turn, stripe = self.turn_bytes, self.stripe_bytes
        return None if turn is None or stripe is None else turn // stripe

"""Whether the beginning of a drive, where its units are counted, has all of them.

The probes of depth and of conflicts read a part at the beginning. A drive of two controllers that
divide the addresses between them serves that part by one of them. Random writes to all of the drive
keep both busy, sequential ones do not.
"""

from __future__ import annotations

from fourcorners.analysis.internals.answer import Answer
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection.parts import (
    FASTER_MIN,
    FILL,
    LAID,
    OVERWRITE,
    faster_at_random,
)
from fourcorners.analysis.internals.link.generation import fastest
from fourcorners.analysis.internals.view import View, ids

_AS_FAST = 0.9
"""From this ratio of the rates on, random writes are as fast as sequential ones: something slows
down slower ones that would hide further units, such as a map that has to be read."""


def checked(view: View, units: Answer) -> Answer:
    """The number of units, with the test of whether the rest of the drive lies on them as well. It
    fails where random writes to all of it are so much faster than sequential ones as no other
    units would make them; a cache that only random writes fill looks the same. It holds where they
    are as fast, and the path to the drive carries that much more. Writes to log blocks, which are
    apart from those in sequence, show neither."""
    first, in_sequence = OVERWRITE(view)[:1], [*FILL(view), *LAID(view)]
    if units.value is None or view.has("log_blocks") or not first or not in_sequence:
        return units
    evidence = ids([*first, *in_sequence])
    if view.once(faster_at_random) is not None:
        return units.checked(Assumption.BEGINNING_HAS_ALL, False, evidence)
    rate, at_random = max(m.bytes_per_second for m in in_sequence), first[0].bytes_per_second
    if at_random >= _AS_FAST * rate and (view.once(fastest) or 0.0) >= FASTER_MIN * rate:
        return units.checked(Assumption.BEGINNING_HAS_ALL, True, evidence)
    return units

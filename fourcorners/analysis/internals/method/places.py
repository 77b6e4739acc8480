"""Finding ``misfit_places``: places of a drive without platters that are read at another rate.

Most probes look at the beginning of a drive. Flash is equally fast everywhere, so that this part
stands for all of it; of a volume of several media it does not.
"""

from __future__ import annotations

import math

import numpy as np

from fourcorners.analysis.internals.answer import Answer, known
from fourcorners.analysis.internals.disk.zones import profile
from fourcorners.analysis.internals.view import View
from fourcorners.sentences import say

_FIRST_PART = 1 / 8
"""The probes that look at a part of a drive use this share at its beginning, or less."""

_PLACES_MIN = 16
"""Of so many places two or more lie in the first part."""

_OTHER_RATE = math.log(1.2)
"""The logarithm of the ratio from which on a place is read at another rate: as of an SLC cache."""

_OTHERS_MIN, _ALIKE_MIN = 0.1, 0.95
"""So many of all places have another rate than those of the first part, nearly all of which have
the same: the rates of a busy drive differ everywhere. Both are choices."""


def other_places(view: View) -> Answer | None:
    """Finds how much faster or slower than the first part of a drive others are read; ``None``
    where they are not, and for disks."""
    if view.value("rotation_rpm") != 0:
        return None
    offset, rate = view.once(profile)
    if len(rate) < _PLACES_MIN:
        return None
    is_first = offset <= _FIRST_PART * offset[-1]
    first = float(np.median(rate[is_first]))
    other = np.abs(np.log(rate / first)) >= _OTHER_RATE
    if np.mean(other) < _OTHERS_MIN or np.mean(~other[is_first]) < _ALIKE_MIN:
        return None
    others = float(np.median(rate[other]))
    said = say("measured", first=first, others=others, share=float(np.mean(other)))
    return known(others / first - 1, said)

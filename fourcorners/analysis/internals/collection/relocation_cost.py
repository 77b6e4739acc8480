"""What it takes a drive to move a unit, from reads beside writes.

A die that moves data reads a page before it programs one. How long either takes a read shows that
is issued while others are written: most find their die idle, and some wait for the end of a
program.
"""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.internals.collection.superblock import waits
from fourcorners.analysis.internals.view import View

_READS_MIN = 50
"""Reads of which quantiles are told: one in fifty is the quickest."""

_AT_ONCE_QUANTILE = 0.02
"""Of the reads, whose time is that of one that waits for nothing."""

_READ_S = (4e-5, 3e-4)
"""What a page read takes with its command; what is shorter came from memory."""

_WAITED_MIN, _WAITED_MIN_S = 1.3, 20e-6
"""Length of a read that waited, over one that did not, and beyond that."""

_WAITED_QUANTILE = 0.85
"""Of the waits, about the whole program: beyond are erasures, before it the program had begun."""

_PAGES_READ = 1.3
"""Page reads for a page that is moved, with its second transfer: pages are valid in part."""

_PROGRAM_TRANSFER = 0.5
"""Transfer to the die that a program takes besides, in times of a page read."""

_ROUND_MIN = 0.6
"""Period of the dies' rounds, in times of a program as reads show it: one lasts a little longer.
What is shorter are single rows, which something before the dies brings one by one."""


def cost_of_moving(view: View, round_s: float) -> float | None:
    """Time to move a unit over the time to write one; ``None`` where too few reads show it, or it
    is not the dies that limit writing.

    Args:
        view: of the run.
        round_s: period of the steps in which a burst of writes is taken.
    """
    beside = view.once(waits)
    if beside is None or len(beside.seconds) < _READS_MIN:
        return None
    taken_s = beside.seconds
    read_s = float(np.quantile(taken_s, _AT_ONCE_QUANTILE))
    waited_s = taken_s[taken_s > _WAITED_MIN * read_s + _WAITED_MIN_S] - read_s
    if len(waited_s) < _READS_MIN or not _READ_S[0] <= read_s <= _READ_S[1]:
        return None
    program_s = float(np.quantile(waited_s, _WAITED_QUANTILE))
    if round_s < _ROUND_MIN * program_s:
        return None
    return 1 + _PAGES_READ * read_s / (program_s + _PROGRAM_TRANSFER * read_s)

"""The cost of moving a unit, from reads that were issued during writes.

A die that moves data reads a page before it programs one. Reads issued during writes show how long
either takes: most reads find their die idle, and some wait for the end of a program. Where a cache
answers them, other probes may show both times.
"""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.internals.collection.reads_beside import waits
from fourcorners.analysis.internals.view import View
from fourcorners.sentences import Said, say

_READS_MIN = 50
"""So many reads are needed for a quantile: one in fifty is the quickest."""

_AT_ONCE_QUANTILE = 0.02
"""The quantile of the reads that is the time of a read that waits for nothing."""

_READ_S = (4e-5, 3e-4)
"""The time of a page read with its command lies between these; shorter reads came from memory."""

_WAITED_MIN, _WAITED_MIN_S = 1.3, 20e-6
"""A read that waited takes this many times as long as one that did not, plus this time."""

_WAITED_QUANTILE = 0.85
"""This quantile of the waits is about a whole program: longer waits are for erasures, and shorter
ones for programs that had already begun."""

_PAGES_READ = 1.3
"""Moving a page costs so many page reads, with its second transfer: pages are valid in part."""

_PROGRAM_TRANSFER = 0.5
"""The transfer of a page to the die, which a program needs too, in times of a page read."""

_ROUND_MIN = 0.6
"""The least time of the longest of the dies' rounds, in times of a program as reads show it; a
round lasts a little longer than a program. Shorter rounds are single rows, which something before
the dies delivers one by one."""


def cost_of_moving(view: View, round_s: float, longest_round_s: float) -> float | Said:
    """The time to move a unit over the time to write one, or the reason why it is not known: too
    few reads show it, or something other than the dies limits writing.

    Args:
        view: the view of the run.
        round_s: the mean time between the steps in which the drive accepts a burst of writes.
        longest_round_s: the longest one: pages of different kinds take different times.
    """
    beside = _of_reads_beside(view)
    found = beside or _of_other_probes(view)
    if found is None:
        return say("op_by_amplification.no_waits")
    read_s, program_s = found
    if longest_round_s < _ROUND_MIN * program_s:
        return say("op_by_amplification.no_rounds")
    # Reads wait longest for the slowest kind of pages; the other probes tell the mean.
    if beside is not None:
        program_s *= round_s / longest_round_s
    return 1 + _PAGES_READ * read_s / (program_s + _PROGRAM_TRANSFER * read_s)


def _of_reads_beside(view: View) -> tuple[float, float] | None:
    """The times of a read and of the longest program, of reads during writes; ``None`` where too
    few of them wait, or a memory answers them."""
    beside = view.once(waits)
    if beside is None or len(beside.seconds) < _READS_MIN:
        return None
    taken_s = beside.seconds
    read_s = float(np.quantile(taken_s, _AT_ONCE_QUANTILE))
    waited_s = taken_s[taken_s > _WAITED_MIN * read_s + _WAITED_MIN_S] - read_s
    if len(waited_s) < _READS_MIN or not _READ_S[0] <= read_s <= _READ_S[1]:
        return None
    return read_s, float(np.quantile(waited_s, _WAITED_QUANTILE))


def _of_other_probes(view: View) -> tuple[float, float] | None:
    """The times of a page read and of a program, from single reads and forced writes."""
    read_s, program_s = view.value("page_read_time"), view.value("program_time")
    return (read_s, program_s) if read_s and program_s else None

"""Findings ``physical_sector_bytes`` and ``partial_sector_penalty``.

A disk writes whole physical sectors. Where these are larger than the sectors that a host addresses
(as of "512e" disks, which have 4 KiB behind 512 bytes: "Advanced Format", IDEMA 2010), a write that
covers one only in part makes the disk read it, wait until it comes round again, and rewrite it: one
turn more. Forced writes of a power of two at multiples of it therefore take one turn longer while
they are smaller than a physical sector. Each of them waits for the angle of its sector, which is
anything up to a turn; a write that a memory or a log takes does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from fourcorners.analysis.internals.answer import Answer, about, inapplicable, known, unknown
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.thresholds import FALSE_ALARM
from fourcorners.analysis.internals.usual import usual_latencies
from fourcorners.analysis.internals.view import PointAxis, View, by, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import say

WHOLE = pick("probe-alignment", "write", PointAxis.WHOLE)

_SIZES_MIN = 4
"""So many sizes show a step between two of them, and that there is no other."""

_SMALLEST_SECTOR_BYTES = 512
"""No disk has smaller sectors, and no host addresses less."""

_ANGLE_SPREAD = 0.15
"""The times of writes that wait for the angle of their sector differ at least by this standard
deviation, in turns: an even spread over a turn has 0.29, and half of it shows that most wait so."""

_SETTLES_MAX_S = 1e-3
"""Before a write the arm settles by up to so much longer than before a read: mean seeks of data
sheets differ by 0.5 to 1 ms. A write that begins with a read of its sector saves that."""

_HALF = 0.5
"""Less than this part of a turn is no turn."""


@dataclass(frozen=True)
class _Times:
    """The mean times of the writes, by ascending size; all of shape (sizes,)."""

    size_bytes: Floats
    mean_s: Floats
    """Without the transfer, where the rate of the platters is known."""
    error_s: Floats
    spread_s: Floats
    """The standard deviations of single writes."""


@dataclass(frozen=True)
class _Step:
    """What it means that the first ``partial`` sizes cover a sector only in part."""

    partial: int
    partial_s: float
    whole_s: float
    error_s: float
    """The standard error of the difference."""
    misfit: float
    """The sum of the squares of the residuals, in standard errors."""

    @property
    def cost_s(self) -> float:
        """How much longer those of a part take."""
        return self.partial_s - self.whole_s


def size(view: View) -> Answer:
    """Finds the size of a physical sector."""
    return _found(view)[0]


def penalty(view: View) -> Answer:
    """Finds how much longer a write takes that covers a sector only in part."""
    answer, step = _found(view)
    if answer.verdict == "not applicable":
        return answer
    if answer.value is None:
        return unknown(say("no_sector"), detail=answer.detail)
    if step is None:
        return inapplicable(say("whole"), detail=answer.detail)
    detail = {**answer.detail}
    said = say("measured", sector=answer.value, turn_s=detail["turn_s"])
    interval = about(step.cost_s, two_sided_t(math.inf) * step.error_s)
    found = known(step.cost_s, said, interval=interval, detail=detail)
    return _checked(view, found, emulated=True)


def _found(view: View) -> tuple[Answer, _Step | None]:
    """The size, and where it is larger than the smallest write the step that shows it."""
    turns = view.answer("rotation_rpm")
    if turns is None or turns.value is None:
        return unknown(say("physical_sector_bytes.no_rotation")), None
    if not turns.value:
        return inapplicable(say("physical_sector_bytes.no_platters")), None
    turn_s, times = 60 / turns.value, view.once(_times)
    detail: dict[str, Any] = {
        "whole_bytes": times.size_bytes,
        "write_s": times.mean_s,
        "turn_s": turn_s,
    }
    if len(times.mean_s) < _SIZES_MIN:
        return unknown(say("physical_sector_bytes.few_sizes"), detail=detail), None
    if float(np.median(times.spread_s)) < _ANGLE_SPREAD * turn_s:
        quickest_s = float(times.mean_s.min())
        said = say("physical_sector_bytes.kept", quickest_s=quickest_s)
        return unknown(said, detail=detail), None
    steps = [_step(times, partial) for partial in range(len(times.mean_s))]
    if _no_turn_longer(steps, turn_s):
        return _not_emulated(view, times, steps[0], detail), None
    best, next_best = sorted(steps, key=lambda step: step.misfit)[:2]
    detail["goodness"] = {"misfit": best.misfit, "misfit_of_the_next": next_best.misfit}
    alone = next_best.misfit - best.misfit > -2 * math.log(FALSE_ALARM)
    # A host, or a seek that happens to be long, moves the mean of a size beyond its own scatter.
    if not best.partial or not alone or not _is_a_turn(best, turn_s):
        said = say("physical_sector_bytes.no_step", turn_s=turn_s)
        return unknown(said, detail=detail), None
    said = say("measured", whole_s=best.whole_s, partial_s=best.partial_s)
    answer = known(times.size_bytes[best.partial], said, detail=detail)
    return _checked(view, answer, emulated=True), best


def _not_emulated(view: View, times: _Times, none: _Step, detail: dict[str, Any]) -> Answer:
    """The answer where no write takes a turn longer."""
    smallest, largest = float(times.size_bytes[0]), float(times.size_bytes[-1])
    detail["goodness"] = {"misfit": none.misfit}
    if smallest > _SMALLEST_SECTOR_BYTES:
        return unknown(say("larger_request", smallest=smallest), detail=detail)
    said = say("not_emulated", largest=largest, whole_s=none.whole_s)
    return _checked(view, known(smallest, said, detail=detail), emulated=False)


def _checked(view: View, answer: Answer, *, emulated: bool) -> Answer:
    evidence = ids(WHOLE(view))
    # The writes wait for an angle of the platter, and some of them for a turn.
    answer = answer.checked(Assumption.FLUSH_CARRIED_OUT, True, evidence)
    return answer.checked(Assumption.READ_BEFORE_WRITE, True if emulated else None, evidence)


def _times(view: View) -> _Times:
    by_size = by(WHOLE(view), PointAxis.WHOLE)
    rate = view.value("outer_rate") or math.inf
    rows = []
    for count, m in by_size.items():
        seconds, often = usual_latencies(m)
        mean_s = float(np.average(seconds, weights=often))
        spread_s = math.sqrt(float(np.average((seconds - mean_s) ** 2, weights=often)))
        rows.append(
            (float(count), mean_s - count / rate, spread_s / math.sqrt(often.sum()), spread_s)
        )
    columns = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return _Times(*columns)


def _step(times: _Times, partial: int) -> _Step:
    parts = [slice(0, partial), slice(partial, None)] if partial else [slice(None)]
    weights = 1 / np.maximum(times.error_s, np.finfo(float).tiny) ** 2
    means = [float(np.average(times.mean_s[p], weights=weights[p])) for p in parts]
    misfit = sum(
        float(np.sum(weights[p] * (times.mean_s[p] - mean) ** 2))
        for p, mean in zip(parts, means, strict=True)
    )
    error_s = math.sqrt(sum(1 / float(weights[p].sum()) for p in parts))
    return _Step(partial, means[0], means[-1], error_s, misfit)


def _no_turn_longer(steps: list[_Step], turn_s: float) -> bool:
    """Whether no smaller sizes can take a turn longer than the others, but by chance."""
    z = float(scipy.stats.norm.isf(FALSE_ALARM))
    return all(step.cost_s + z * step.error_s < _HALF * turn_s for step in steps[1:])


def _is_a_turn(step: _Step, turn_s: float) -> bool:
    """Whether the smaller sizes take one turn longer, less what the arm settles, as near as chance
    has it."""
    by_chance_s = float(scipy.stats.norm.isf(FALSE_ALARM / 2)) * step.error_s
    least_s = turn_s - _SETTLES_MAX_S - by_chance_s
    return _HALF * turn_s < least_s <= step.cost_s <= turn_s + by_chance_s

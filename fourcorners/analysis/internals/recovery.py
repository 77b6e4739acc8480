"""Findings ``idle_recovery`` and ``trim_effect``: does a slowed drive become faster by them.

What follows a pause is held against what follows as long a time in which the drive was read from:
a write buffer is empty after either, and stalls may or may not be due after either. What follows
TRIM is held against all stretches of the slowed drive that are as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.internals.erase_unit import Part, parts_of
from fourcorners.analysis.internals.spare_area import Cliff, find_cliff
from fourcorners.analysis.source import RunData

Floats = npt.NDArray[np.float64]

_BEFORE = 32
"""Parts whose pace is the slowed drive's."""

_BEFORE_MIN = 16

_RECOVERED_MIN, _UNCHANGED_MAX = 0.5, 0.25
"""Share of the slowing down that is gone, from which and up to which it is said."""

_SURE = 0.99
"""How sure a recovery has to be, from the scatter of the pauses."""

_NOT_SLOWED = "The drive had not slowed down before, or not clearly."


def find(run: RunData) -> list[Finding]:
    """Both findings, if the probe came that far."""
    parts, _ = parts_of(run, "overwrite")
    cliff = find_cliff(parts)
    found = []
    (waited, reading), (rested, pausing) = (parts_of(run, stage) for stage in ("waited", "rested"))
    if waited and rested:
        found.append(_by_pauses(parts, cliff, rested, waited, [*reading, *pausing]))
    after, evidence = parts_of(run, "trimmed")
    if after:
        found.append(_by_trim(parts, cliff, after, evidence))
    return found


def _slowed(parts: Sequence[Part], cliff: Cliff | None) -> Floats | None:
    """Seconds of each of the last parts of the slowed drive."""
    if cliff is None:
        return None
    slowed = np.array([elapsed for _, elapsed in parts[cliff.part + 1 :][-_BEFORE:]])
    return slowed if len(slowed) >= _BEFORE_MIN else None


def _by_pauses(
    parts: Sequence[Part],
    cliff: Cliff | None,
    rested: Sequence[Part],
    waited: Sequence[Part],
    evidence: Sequence[str],
) -> Finding:
    name, title = "idle_recovery", "Recovery by a pause"
    slowed = _slowed(parts, cliff)
    if slowed is None or cliff is None or min(len(rested), len(waited)) < 2:
        return _finding(name, title, None, _NOT_SLOWED, evidence, {})
    lost_s = (float(slowed.mean()) - cliff.fresh_s) * waited[0][0] / parts[0][0]
    reading, pausing = (
        np.array([elapsed / lost_s for _, elapsed in some]) for some in (waited, rested)
    )
    share = float(reading.mean() - pausing.mean())
    error = float(np.hypot(*(one.std(ddof=1) / len(one) ** 0.5 for one in (reading, pausing))))
    reach = float(scipy.stats.t.ppf(_SURE, min(len(rested), len(waited)) - 1)) * error
    detail = {"share": share, "goodness": {"standard_error": error}}
    shown = wording.percent(min(max(share, 0.0), 1.0))
    if share - reach > 0 and share >= _RECOVERED_MIN:
        text = f"A pause takes away {shown} of the slowing down, other than reading for as long."
        return _finding(name, title, True, text, evidence, detail)
    if share + reach < _RECOVERED_MIN and share < _UNCHANGED_MAX:
        text = "After a pause the drive is as slow as after reading for as long."
        return _finding(name, title, False, text, evidence, detail)
    text = (
        f"Pauses seem to take away {shown} of the slowing down, which varies too much between "
        "them to be told from chance."
    )
    return _finding(name, title, None, text, evidence, detail)


def _by_trim(
    parts: Sequence[Part], cliff: Cliff | None, after: Sequence[Part], evidence: Sequence[str]
) -> Finding:
    name, title = "trim_effect", "TRIM"
    slowed = _slowed(parts, cliff)
    if slowed is None or cliff is None:
        return _finding(name, title, None, _NOT_SLOWED, evidence, {})
    # The first half may go into a write buffer.
    late = np.array([elapsed for _, elapsed in after[len(after) // 2 :]])
    lost_s = float(slowed.mean()) - cliff.fresh_s
    share = float((slowed.mean() - late.mean()) / lost_s)
    stretches = np.convolve(slowed, np.ones(len(late)) / len(late), mode="valid")
    by_itself = float(np.max((slowed.mean() - stretches) / lost_s))
    detail = {"share": share, "goodness": {"largest_by_itself": by_itself}}
    gone = f"After TRIM of everything {wording.percent(min(max(share, 0.0), 1.0))} of the slowing"
    if share >= _RECOVERED_MIN and by_itself < _RECOVERED_MIN:
        return _finding(name, title, True, f"{gone} down is gone.", evidence, detail)
    if share < _UNCHANGED_MAX:
        return _finding(name, title, False, f"{gone} down is gone.", evidence, detail)
    text = f"{gone} down is gone."
    if by_itself >= _RECOVERED_MIN:
        text = f"{gone} down is gone, but as long stretches before it were as fast by themselves."
    return _finding(name, title, None, text, evidence, detail)


def _finding(
    name: str,
    title: str,
    yes: bool | None,
    text: str,
    evidence: Sequence[str],
    detail: dict[str, object],
) -> Finding:
    return Finding(
        name,
        title,
        "not identifiable" if yes is None else "measured",
        text,
        value=None if yes is None else float(yes),
        unit=None if yes is None else PRESENCE,
        evidence=evidence,
        detail=detail | {"discrete": True},
    )

"""Findings ``idle_recovery`` and ``trim_effect``: whether pauses or TRIM speed up a slow drive.

The writes after a pause are compared with the writes after an equally long time of reading: either
leaves the write buffer empty, and stalls may be due after either. The writes after TRIM are
compared with the writes right before it, once the drive was slow again after the pauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fourcorners.analysis.internals.answer import Answer, yes_or_no
from fourcorners.analysis.internals.assumptions import Assumption
from fourcorners.analysis.internals.collection.cliff import cliff_of
from fourcorners.analysis.internals.collection.parts import OVERWRITE, TEST, Part, parts
from fourcorners.analysis.internals.method import pace
from fourcorners.analysis.internals.view import View, ids, pick
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

WAITED, RESTED, AGAIN, TRIMMED = (
    pick(TEST, "write", stage=stage) for stage in ("waited", "rested", "again", "trimmed")
)
PAUSING = pick(TEST, "read", stage="pausing")

_BEFORE = 32
"""The pace of the slowed drive is that of so many parts."""

_BEFORE_MIN = 16
"""At least so many of these parts are needed."""

_RIGHT_BEFORE, _RIGHT_BEFORE_STILL = 2, 4
"""So many parts right before TRIM show whether the drive is slow again: the first for a drive of
even pace, the second for one that stalls."""

_EVEN = 0.2
"""Up to this scatter of the slowed drive's parts, over their mean, the pace is even: no stalls."""

_AFTER_TRIM = 3
"""So many parts after TRIM do not count: the content of the write buffer is written first."""

_RECOVERED_MIN, UNCHANGED_MAX = 0.5, 0.25
"""The drive recovered if at least the first share of the slowdown is gone, and it did not change if
less than the second is."""

_LEFT_MIN = 0.25
"""At least this share of a pause must be left when the write buffer is empty."""


@dataclass(frozen=True)
class _Slowed:
    """The pace of the drive before and after its cliff, in seconds per byte."""

    fresh: float
    parts: Floats
    """The pace of each of the last parts."""
    part_bytes: int

    @property
    def pace(self) -> float:
        return float(self.parts.mean())

    @property
    def lost(self) -> float:
        return self.pace - self.fresh

    @property
    def is_even(self) -> bool:
        return float(self.parts.std()) <= _EVEN * self.pace

    def by_itself(self, count: int) -> float:
        """The share of the slowdown that is gone in the fastest stretch of ``count`` parts."""
        count = min(count, len(self.parts))
        stretches = np.convolve(self.parts, np.ones(count) / count, mode="valid")
        return float(np.max((self.pace - stretches) / self.lost))


def _paces(done: Sequence[Part]) -> Floats:
    return np.array([elapsed / max(count, 1) for count, elapsed in done])


def slowed(view: View) -> _Slowed | None:
    """The drive after its cliff; ``None`` where it did not clearly slow down."""
    done, cliff = parts(OVERWRITE(view)), view.once(cliff_of)
    if cliff is None:
        return None
    last = _paces(done[cliff.part + 1 :][-_BEFORE:])
    part_bytes = done[0][0]
    found = _Slowed(cliff.fresh_s / part_bytes, last, part_bytes)
    # A drive may have become fast again by itself.
    return found if len(last) >= _BEFORE_MIN and found.lost > 0 else None


def by_pauses(view: View) -> Answer | None:
    """Finds whether a pause makes the drive faster; ``None`` where there were too few pauses."""
    waited, rested = (_paces(parts(stage(view))) for stage in (WAITED, RESTED))
    if len(waited) < 2 or len(rested) < 2:
        return None
    evidence = ids([*WAITED(view), *RESTED(view)])

    def said(yes: bool | None, said: Said, **detail: object) -> Answer:
        answer = yes_or_no(yes, said, detail=detail, evidence=evidence)
        trimmed = view.once(by_trim)
        if trimmed is None or not trimmed.value:
            return answer
        # TRIM removes what slowed the drive down: the valid data that it had to move.
        return answer.checked(Assumption.SLOWED_BY_COLLECTION, True, trimmed.evidence or ())

    before = view.once(slowed)
    if before is None:
        return said(None, say("idle_recovery.not_slowed"))
    pause_s = min((m.elapsed_s for m in PAUSING(view)), default=0.0)
    if not pause_s:
        return said(None, say("nothing_read"))
    part_bytes = parts(RESTED(view))[0][0]
    # The share that the write buffer took is not slow; it went to flash in the pause before.
    from_flash = min(float(waited.mean()) / before.pace, 1.0)
    emptying_s = (1 - from_flash) * part_bytes * before.pace
    left_s = pause_s - emptying_s
    most = min(from_flash * before.lost, max(left_s, 0.0) / part_bytes)
    detail: dict[str, object] = {"pause_s": pause_s, "emptying_s": emptying_s}
    if left_s <= _LEFT_MIN * pause_s:
        return said(None, say("short_pause"), **detail)
    share = float(waited.mean() - rested.mean()) / most
    errors = [float(one.std(ddof=1)) / len(one) ** 0.5 / most for one in (waited, rested)]
    degrees = min(len(waited), len(rested)) - 1
    reach = two_sided_t(degrees) * float(np.hypot(*errors))
    detail |= {"share": share, "goodness": {"reach": reach}}
    unchanged = share < UNCHANGED_MAX and share + reach < _RECOVERED_MIN
    if not before.is_even:
        # A drive that stalls may escape a stall by chance, but it never stalls by chance.
        still = (float(rested.mean()) - before.fresh) / before.lost
        unchanged = share < UNCHANGED_MAX <= still
        together = round(part_bytes * len(rested) / before.part_bytes)
        if not unchanged and before.by_itself(together) >= _RECOVERED_MIN:
            return said(None, say("fast_by_itself"), **detail)
        if not unchanged and share < _RECOVERED_MIN:
            return said(None, say("seldom_still"), **detail)
    shown = min(max(share, 0.0), 1.0)
    if share >= _RECOVERED_MIN and share - reach > 0:
        return said(True, say("recovers", shown=shown), **detail)
    if unchanged and (scatter := view.once(pace.scatter)):
        # What changes the pace of a drive may be other load, which leaves it no pause.
        return said(None, say("never_idle", scatter=scatter), **detail)
    if unchanged:
        return said(False, say("as_slow"), **detail)
    return said(None, say("varies", shown=shown), **detail)


def by_trim(view: View) -> Answer | None:
    """Finds whether TRIM makes the drive faster; ``None`` where the probe did not come so far."""
    again, trimmed = (_paces(parts(stage(view))) for stage in (AGAIN, TRIMMED))
    if len(again) < _RIGHT_BEFORE_STILL or len(trimmed) <= _AFTER_TRIM:
        return None
    evidence = ids([*AGAIN(view), *TRIMMED(view)])
    slow = view.once(slowed)
    if slow is None:
        return yes_or_no(None, say("idle_recovery.not_slowed"), evidence=evidence)
    right_before = again[-_RIGHT_BEFORE if slow.is_even else -_RIGHT_BEFORE_STILL :]
    if right_before.mean() - slow.fresh < UNCHANGED_MAX * slow.lost:
        return yes_or_no(None, say("fast_before"), evidence=evidence)
    late = trimmed[_AFTER_TRIM:]
    # A drive that stalls is fast between stalls. Therefore all parts written before count.
    before = right_before if slow.is_even else np.append(slow.parts, right_before)
    lost = float(before.mean()) - slow.fresh
    share = float(before.mean() - late.mean()) / lost
    by_itself = slow.by_itself(len(late))
    shown, yes = say("measured", shown=min(max(share, 0.0), 1.0)), None
    if share >= _RECOVERED_MIN and by_itself < _RECOVERED_MIN:
        yes = True
    elif share < UNCHANGED_MAX:
        yes = False
    elif by_itself >= _RECOVERED_MIN:
        shown = say("by_itself", **shown.parameters)
    detail = {"share": share, "goodness": {"largest_by_itself": by_itself}}
    answer = yes_or_no(yes, shown, detail=detail, evidence=evidence)
    return answer.checked(Assumption.SLOWED_BY_COLLECTION, None) if yes else answer

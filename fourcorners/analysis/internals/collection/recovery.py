"""Findings ``idle_recovery`` and ``trim_effect``: does a slowed drive become faster by them.

What follows a pause is held against what follows as long a time in which the drive was read from:
a write buffer is empty after either, and stalls may or may not be due after either. What follows
TRIM is held against what was written right before it, once the drive was slow again after the
pauses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, Finding
from fourcorners.analysis.internals.collection.spare_area import find_cliff
from fourcorners.analysis.internals.collection.superblock import TEST, Part, parts_of
from fourcorners.analysis.source import RunData, measured

Floats = npt.NDArray[np.float64]

_BEFORE = 32
"""Parts whose pace is the slowed drive's."""

_BEFORE_MIN = 16

_RIGHT_BEFORE, _RIGHT_BEFORE_STILL = 2, 4
"""Parts right before TRIM that show whether the drive is slow again: of one of an even pace, and of
one that stands still at times."""

_EVEN = 0.2
"""Scatter of the slowed drive's parts over their mean up to which its pace is even: no stalls."""

_AFTER_TRIM = 3
"""Parts that follow TRIM and do not count: what a write buffer held before is written first."""

_RECOVERED_MIN, UNCHANGED_MAX = 0.5, 0.25
"""Share of the slowing down that is gone, from which and up to which it is said."""

_SURE = 0.95
"""How sure a recovery has to be, from the scatter of the pauses."""

_LEFT_MIN = 0.25
"""Share of a pause that a drive must have left when its write buffer is empty."""

_NOT_SLOWED = "The drive had not slowed down before, or not clearly."


@dataclass(frozen=True)
class _Slowed:
    """The drive after its cliff, in seconds per byte."""

    fresh: float
    parts: Floats
    """Of each of the last parts."""
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
        """Share of the slowing down that is gone in the fastest stretch of so many parts."""
        count = min(count, len(self.parts))
        stretches = np.convolve(self.parts, np.ones(count) / count, mode="valid")
        return float(np.max((self.pace - stretches) / self.lost))


def find(run: RunData) -> list[Finding]:
    """Both findings, if the probe came that far."""
    stages = {
        stage: parts_of(run, stage)
        for stage in ("overwrite", "waited", "rested", "again", "trimmed")
    }
    paces = {stage: _paces(parts) for stage, (parts, _) in stages.items()}
    slowed = _slowed(stages["overwrite"][0])
    found = []
    if len(paces["waited"]) > 1 and len(paces["rested"]) > 1:
        evidence = [*stages["waited"][1], *stages["rested"][1]]
        found.append(_by_pauses(run, slowed, paces["waited"], paces["rested"], evidence))
    if len(paces["again"]) >= _RIGHT_BEFORE_STILL and len(paces["trimmed"]) > _AFTER_TRIM:
        evidence = [*stages["again"][1], *stages["trimmed"][1]]
        found.append(_by_trim(slowed, paces["again"], paces["trimmed"], evidence))
    return found


def _paces(parts: Sequence[Part]) -> Floats:
    return np.array([elapsed / max(count, 1) for count, elapsed in parts])


def _slowed(parts: Sequence[Part]) -> _Slowed | None:
    cliff = find_cliff(parts)
    if cliff is None:
        return None
    last = _paces(parts[cliff.part + 1 :][-_BEFORE:])
    part_bytes = parts[0][0]
    slowed = _Slowed(cliff.fresh_s / part_bytes, last, part_bytes)
    # A drive may have become fast again by itself.
    return slowed if len(last) >= _BEFORE_MIN and slowed.lost > 0 else None


def _by_pauses(
    run: RunData,
    slowed: _Slowed | None,
    waited: Floats,
    rested: Floats,
    evidence: Sequence[str],
) -> Finding:
    name, title = "idle_recovery", "Recovery by a pause"
    if slowed is None:
        return _finding(name, title, None, _NOT_SLOWED, evidence, {})
    reads = [m for m in measured(run, TEST, "read") if m.point.get("stage") == "pausing"]
    pause_s = min((m.number("elapsed_s") or 0.0 for m in reads), default=0.0)
    if not pause_s:
        text = "Nothing was read for as long as a pause, to hold one against that."
        return _finding(name, title, None, text, evidence, {})
    part_bytes = parts_of(run, "rested")[0][0][0]
    # What a write buffer took of it is not slow; it was written to flash in the pause before.
    from_flash = min(float(waited.mean()) / slowed.pace, 1.0)
    emptying_s = (1 - from_flash) * part_bytes * slowed.pace
    left_s = pause_s - emptying_s
    most = min(from_flash * slowed.lost, max(left_s, 0.0) / part_bytes)
    detail: dict[str, object] = {"pause_s": pause_s, "emptying_s": emptying_s}
    if left_s <= _LEFT_MIN * pause_s:
        text = (
            f"Of a pause of {wording.duration(pause_s)} the drive needs "
            f"{wording.duration(emptying_s)} to write what is in its buffer: too short to see "
            "whether it collects then."
        )
        return _finding(name, title, None, text, evidence, detail)
    share = float(waited.mean() - rested.mean()) / most
    errors = [float(one.std(ddof=1)) / len(one) ** 0.5 / most for one in (waited, rested)]
    degrees = min(len(waited), len(rested)) - 1
    reach = float(scipy.stats.t.ppf(_SURE, degrees)) * float(np.hypot(*errors))
    detail |= {"share": share, "goodness": {"reach": reach}}
    unchanged = share < UNCHANGED_MAX and share + reach < _RECOVERED_MIN
    if not slowed.is_even:
        # One that stands still at times may not do so by chance, but does not by chance.
        still = (float(rested.mean()) - slowed.fresh) / slowed.lost
        unchanged = share < UNCHANGED_MAX <= still
        together = round(part_bytes * len(rested) / slowed.part_bytes)
        if not unchanged and slowed.by_itself(together) >= _RECOVERED_MIN:
            text = (
                "The drive stands still so seldom that as much as was written after the pauses is "
                "fast by itself."
            )
            return _finding(name, title, None, text, evidence, detail)
        if not unchanged and share < _RECOVERED_MIN:
            text = (
                "The drive stood still too seldom, after reads and after pauses, to compare them."
            )
            return _finding(name, title, None, text, evidence, detail)
    shown = wording.percent(min(max(share, 0.0), 1.0))
    if share >= _RECOVERED_MIN and share - reach > 0:
        text = f"A pause takes away {shown} of the slowing down, other than reading for as long."
        return _finding(name, title, True, text, evidence, detail)
    if unchanged:
        text = "After a pause the drive is as slow as after reading for as long."
        return _finding(name, title, False, text, evidence, detail)
    text = (
        f"Pauses seem to take away {shown} of the slowing down, which varies too much between "
        "them to be told from chance."
    )
    return _finding(name, title, None, text, evidence, detail)


def _by_trim(
    slowed: _Slowed | None, again: Floats, trimmed: Floats, evidence: Sequence[str]
) -> Finding:
    name, title = "trim_effect", "TRIM"
    if slowed is None:
        return _finding(name, title, None, _NOT_SLOWED, evidence, {})
    right_before = again[-_RIGHT_BEFORE if slowed.is_even else -_RIGHT_BEFORE_STILL :]
    if right_before.mean() - slowed.fresh < UNCHANGED_MAX * slowed.lost:
        text = "What was written after the pauses was as fast as what was written after TRIM."
        return _finding(name, title, None, text, evidence, {})
    late = trimmed[_AFTER_TRIM:]
    # Between stalls a drive is fast by itself: all of what was written before counts.
    before = right_before if slowed.is_even else np.append(slowed.parts, right_before)
    lost = float(before.mean()) - slowed.fresh
    share = float(before.mean() - late.mean()) / lost
    by_itself = slowed.by_itself(len(late))
    detail = {"share": share, "goodness": {"largest_by_itself": by_itself}}
    text = (
        f"After TRIM of everything {wording.percent(min(max(share, 0.0), 1.0))} of the slowing "
        "down is gone."
    )
    if share >= _RECOVERED_MIN and by_itself < _RECOVERED_MIN:
        return _finding(name, title, True, text, evidence, detail)
    if share < UNCHANGED_MAX:
        return _finding(name, title, False, text, evidence, detail)
    if by_itself >= _RECOVERED_MIN:
        text = f"{text[:-1]}, but as long stretches before it were as fast by themselves."
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

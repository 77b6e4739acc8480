"""Findings about spare area from overwriting a full drive at random, in parts of equal size.

``op_by_cliff``: a full drive takes new data at its full pace until the spare area is written; then
each write has to wait for others to be moved. ``op_by_amplification``: how much slower it becomes,
and how that changes while the drive goes through its blocks, follows from the share of spare area
alone, up to the pace of writing and the cost of moving, which are fitted (:mod:`.amplification`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.internals.amplification import moved_units
from fourcorners.analysis.internals.curve import Curve, completion_curve
from fourcorners.analysis.internals.erase_unit import TEST, Part, parts_of
from fourcorners.analysis.source import RunData, measured

Floats = npt.NDArray[np.float64]

CLIFFS_WATCHED = 4.0
"""Times what it took to the cliff that is written to watch what follows: until then every block of
the fill has been collected, and the drive is about steady."""

_RISE_MIN = 0.6
"""Mean rise of the time of the next parts, in times of the first ones, from which it is a cliff.
Erasing empty blocks costs less."""

_FIRST_SHARE = 0.2
"""The same, of the largest such mean: what comes before may have been blocks that held little."""

_PARTS_AHEAD = 8

_ONSET_SHARE = 0.3
"""Share of the largest rise nearby that the first part of the cliff has."""

_FRESH_PARTS = 4

_VARIES_MIN = 0.3
"""Range of the middle 80 % of the parts before the cliff, over their median, from which there is
none to be seen."""

_USUAL_QUANTILE, _USUAL_FACTOR, _RISE_SEEN = 0.9, 1.5, 0.02
"""What parts before the cliff vary by, and how far beyond it the first of the cliff lies."""

_UNITS_UNCERTAIN, _UNKNOWN_UNIT = 1.0, 0.025
"""Erase units by which the cliff may be off, the ones that are being written; where the unit is not
known, share of what it took to the cliff."""

_ONSET_UNCERTAIN = 0.012
"""The same for drives whose pace falls little by little."""

_BUFFER_UNCERTAIN = 0.3
"""Share of the write buffer by which the cliff may be off: it need not have been full before."""

_FIRST_BYTES = (128 * 1024, 1024 * 1024)
_FASTER_MIN = 1.1
"""Factor by which the first bytes into the write buffer have to be faster than writing is in the
long run: flash, then, is what limits."""

_COST, _COST_SPREAD = 1.3, 0.16
"""What it takes to move a unit, in times of writing it, and the standard deviation of its logarithm
over drives: besides the program a page read and a transfer."""

_WATCHED_MIN = 2.2
"""What must be written in all, in times of what it took to the cliff."""

_MISFIT_MAX = 3.0
"""Chi squared of the model over its degrees of freedom, beyond which it is not this drive's."""

_MODEL_SCATTER = 0.05
"""Relative standard deviation of what is moved in a bin about the model, which knows neither how
many units a block holds nor the drive's policy."""

_BINS = 10
_UNITS_PER_BLOCK = 128
_SHARES = np.geomspace(0.4, 2.5, 19)
"""Shares of spare area that are tried, in times of the one by the cliff."""

_UNSURE = 0.25
"""Half an interval over the value, above which nothing is said."""

_DISAGREEMENT_MAX = 0.25


@dataclass(frozen=True)
class Cliff:
    """Where a drive begins to collect."""

    part: int
    """The part in which it does."""
    written_bytes: float
    margin_bytes: float
    fresh_s: float
    """What a part took before."""
    in_bursts: bool
    """Whether the drive stands still at times, and writes at its full pace between."""


def find_cliff(parts: Sequence[Part]) -> Cliff | None:
    """The cliff, if enough parts are known after it.

    A drive that collects between the writes takes the new pace at once: within its part the cliff
    lies where the part's time divides between the pace before and after. One that collects in
    bursts stands still first.
    """
    times = np.array([elapsed for _, elapsed in parts])
    if len(times) < _FRESH_PARTS + _PARTS_AHEAD:
        return None
    fresh = float(np.median(times[:_FRESH_PARTS]))
    rise = times / fresh - 1
    ahead = np.convolve(rise, np.ones(_PARTS_AHEAD) / _PARTS_AHEAD, mode="valid")
    risen = np.flatnonzero(ahead >= max(_RISE_MIN, _FIRST_SHARE * float(ahead.max())))
    if not len(risen):
        return None
    near = rise[risen[0] : risen[0] + _PARTS_AHEAD]
    part = int(risen[0]) + int(np.argmax(near >= _ONSET_SHARE * near.max()))
    if part + 2 >= len(parts) or _varies(times[:part]):
        return None
    count = float(parts[part][0])
    before = float(sum(part[0] for part in parts[:part]))
    in_bursts = bool(rise[part + 1] < 0.5 * rise[part])
    if in_bursts:
        return Cliff(part, before + count / 2, count / 2, fresh, True)
    # The first blocks to be collected may hold little, so that the pace falls over some parts.
    usual = float(np.quantile(np.abs(rise[: max(part - 2, 1)]), _USUAL_QUANTILE))
    while part > 1 and rise[part - 1] > _USUAL_FACTOR * usual + _RISE_SEEN:
        part -= 1
    share = min(float(rise[part]) / float(rise[part + 1]), 1.0)
    written = float(sum(part[0] for part in parts[:part])) + count * (1 - share)
    return Cliff(part, written, count / 2, fresh, False)


def _varies(times: Floats) -> bool:
    """Whether parts took different times without a cliff: other load, or a target that is none of
    flash alone."""
    low, middle, high = np.quantile(times, (0.1, 0.5, 0.9)) if len(times) else (1.0, 1.0, 1.0)
    return bool(high - low > _VARIES_MIN * middle)


def find(run: RunData, erased_bytes: float | None, buffer_bytes: float | None) -> list[Finding]:
    """The findings, if the probe ran.

    Args:
        run: the run.
        erased_bytes: what is erased at a time, if that is known: it bounds how sure they are.
        buffer_bytes: size of the write buffer, if that is known: a slower pace of the flash shows
            when what was in it before has gone.
    """
    parts, evidence = parts_of(run, "overwrite")
    filled = [m for m in measured(run, TEST, "write") if m.point.get("stage") == "fill"]
    if not filled:
        return []
    evidence = [filled[0].recording, *evidence]
    user = float(filled[0].row["bytes"])
    cliff = find_cliff(parts)
    if cliff is None:
        reason = _no_cliff(parts, user)
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence)
            for name, title in _TITLES.items()
        ]
    by_cliff = _by_cliff(cliff, user, erased_bytes, buffer_bytes or 0.0, evidence)
    fill = completion_curve(run, filled[0])
    by_amplification = _by_amplification(parts, cliff, user, fill, evidence)
    return [_combined(by_cliff, by_amplification), by_cliff, by_amplification]


_TITLES = {
    "over_provisioning": "Spare area",
    "op_by_cliff": "Spare area, by the cliff",
    "op_by_amplification": "Spare area, by write amplification",
}


def _no_cliff(parts: Sequence[Part], user: float) -> str:
    written = sum(count for count, _ in parts)
    if not parts:
        return "The drive was not filled in the time that there was, or nothing was overwritten."
    if _varies(np.array([elapsed for _, elapsed in parts[: max(len(parts) // 4, _FRESH_PARTS)]])):
        return (
            "The pace of overwriting varied from the start, by more than 30 %, which is other load "
            "or something else than flash: where collection begins cannot be told."
        )
    return (
        f"Overwriting {wording.percent(written / user)} of the full drive at random did not slow "
        "it down: it has more spare area, or something else is slower than collection."
    )


def _by_cliff(
    cliff: Cliff, user: float, unit: float | None, buffer_bytes: float, evidence: Sequence[str]
) -> Finding:
    written = max(cliff.written_bytes - buffer_bytes, 0.0)
    share = written / user
    # Blocks are begun before the ones before them are full.
    begun = _UNKNOWN_UNIT * written if unit is None else _UNITS_UNCERTAIN * unit
    buffered = _BUFFER_UNCERTAIN * buffer_bytes
    margin = math.hypot(cliff.margin_bytes, begun, buffered, _ONSET_UNCERTAIN * written) / user
    if margin > _UNSURE * share:
        return Finding(
            "op_by_cliff",
            _TITLES["op_by_cliff"],
            "not identifiable",
            "The drive begins to collect after a few of the units that it erases at a time, some "
            "of which are always being written: its spare area is too small beside them.",
            evidence=evidence,
        )
    return Finding(
        "op_by_cliff",
        _TITLES["op_by_cliff"],
        "measured",
        f"The full drive takes {wording.amount(written)} of random writes at its full pace before "
        f"it has to collect: {wording.percent(share)} of what the user has.",
        value=share,
        unit="of user area",
        interval=(max(share - margin, 0.0), share + margin),
        evidence=evidence,
        detail={"written_bytes": written, "goodness": {"part": cliff.part}},
    )


def _by_amplification(
    parts: Sequence[Part],
    cliff: Cliff,
    user: float,
    fill: Curve,
    evidence: Sequence[str],
) -> Finding:
    name = "op_by_amplification"

    def unidentified(reason: str) -> Finding:
        return Finding(name, _TITLES[name], "not identifiable", reason, evidence=evidence)

    count = float(parts[0][0])
    if fill.rate(*_FIRST_BYTES) < _FASTER_MIN * count / cliff.fresh_s:
        return unidentified(
            "Something else than flash limits the pace of writing, so the pace after the cliff "
            "does not tell how much is written to flash."
        )
    if sum(count for count, _ in parts) < _WATCHED_MIN * cliff.written_bytes:
        return unidentified(
            "Too little was written after the cliff to tell the cost of moving data from the "
            "amount that is moved."
        )
    shares = cliff.written_bytes / user * _SHARES
    fitted = _fit_amplification(parts, cliff, user, shares)
    best = int(np.argmin(fitted.misfit))
    # Where the model fits worse than its scatter should have it, it says so much less.
    scatter = max(fitted.misfit[best] / (_BINS - 2), 1.0)
    likely = np.exp((fitted.misfit[best] - fitted.misfit) / 2 / scatter)
    likely /= likely.sum()
    value = float(np.exp(likely @ np.log(shares)))
    low, high = np.exp(np.interp([0.05, 0.95], np.cumsum(likely) - likely / 2, np.log(shares)))
    if scatter > _MISFIT_MAX:
        return unidentified(
            "The pace after the cliff does not change as that of a drive which moves what is still "
            "valid: stalls are few, or something else limits it."
        )
    if (high - low) / 2 > _UNSURE * value or best in (0, len(shares) - 1):
        return unidentified(
            "What was written after the cliff does not tell the cost of moving data from the "
            "amount that is moved."
        )
    return Finding(
        name,
        _TITLES[name],
        "measured",
        f"After the cliff {wording.number(fitted.amplification[best])} bytes go to flash for each "
        f"that is written, and less as blocks are gone through: as with a spare area of "
        f"{wording.percent(value)}.",
        value=value,
        unit="of user area",
        interval=(float(low), float(high)),
        evidence=evidence,
        detail={
            "amplification": fitted.amplification[best],
            "cost_of_moving": fitted.cost[best],
            "goodness": {"chi_squared": fitted.misfit[best], "bins": _BINS},
        },
    )


@dataclass(frozen=True)
class _Fitted:
    """For each share of spare area: chi squared, cost of moving, mean amplification."""

    misfit: Floats
    cost: Floats
    amplification: Floats


def _fit_amplification(parts: Sequence[Part], cliff: Cliff, user: float, shares: Floats) -> _Fitted:
    """How well each share explains the time after the cliff, with its best cost of moving.

    Right after the cliff every block has lost the same to the writes since the fill, whatever the
    spare area is, which shows the cost; what comes later shows the spare area.
    """
    counts = np.array([count for count, _ in parts], dtype=np.float64)
    times = np.array([elapsed for _, elapsed in parts])
    ends = np.append(0.0, np.cumsum(counts)) / user
    longer = np.append(0.0, np.cumsum(times / cliff.fresh_s * counts[0] - counts)) / user
    edges = np.linspace(ends[cliff.part + 2], ends[-1], _BINS + 1)
    extra = np.diff(np.interp(edges, ends, longer))
    rows = []
    for share in shares:
        written, total = moved_units(float(share), _UNITS_PER_BLOCK, float(edges[-1]))
        moved = np.maximum(np.diff(np.interp(edges, written, total)), 1e-9)
        # Logarithms: the cost is their mean difference, drawn towards what is usual.
        ratio = np.log(np.maximum(extra, 1e-9) / moved)
        weights = np.append(np.full(_BINS, _MODEL_SCATTER**-2), _COST_SPREAD**-2)
        values = np.append(ratio, math.log(_COST))
        mean = float(np.average(values, weights=weights))
        amplification = 1 + float(moved.sum()) / float(edges[-1] - edges[0])
        rows.append((float(weights @ (values - mean) ** 2), math.exp(mean), amplification))
    return _Fitted(*np.array(rows).T)


def _combined(by_cliff: Finding, by_amplification: Finding) -> Finding:
    """By the cliff, which counts bytes; the other way has to agree."""
    if by_cliff.value is None or by_cliff.interval is None:
        return replace(by_cliff, name="over_provisioning", title=_TITLES["over_provisioning"])
    value, interval = by_cliff.value, by_cliff.interval
    other, reach = by_amplification.value, by_amplification.interval
    detail: dict[str, object] = {"by_cliff": value, "by_amplification": other}
    evidence = by_cliff.evidence
    text = f"{wording.percent(value)} of what the user has is spare, counted in bytes to the cliff."
    if other is not None and reach is not None:
        apart = max(interval[0] - reach[1], reach[0] - interval[1], 0.0)
        detail["goodness"] = {"disagreement": abs(other / value - 1)}
        if apart > _DISAGREEMENT_MAX * value:
            return Finding(
                "over_provisioning",
                _TITLES["over_provisioning"],
                "not identifiable",
                f"The bytes to the cliff say {wording.percent(value)} of spare area, the pace "
                f"after it {wording.percent(other)}: they do not agree.",
                evidence=evidence,
                detail=detail,
            )
        text += f" The pace after it says {wording.percent(other)}."
    return Finding(
        "over_provisioning",
        _TITLES["over_provisioning"],
        "measured",
        text,
        value=value,
        unit="of user area",
        interval=interval,
        evidence=evidence,
        detail=detail,
    )

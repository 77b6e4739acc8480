"""Findings ``compression``, ``compression_floor`` and ``deduplication`` from paired data.

Where flash limits writing, data that is stored in less room is written faster in proportion. Each
kind of data is held against the incompressible data before, among and after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fourcorners import wording
from fourcorners.analysis.finding import PRESENCE, RESOLUTION, Finding
from fourcorners.analysis.internals.caches.burst_curve import completion_curve
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.workload import INCOMPRESSIBLE, REPEATED, compressible

TEST = "probe-content"

_FASTER_MIN = 1.08
"""Rate over that of incompressible data from which data is stored in less room."""

_ALIKE_MAX = 1.03
"""The same up to which it is not."""

_DRIFT_MAX = 0.04
"""What incompressible data may differ by; beyond it the drive changes while it is written to."""

_FROM_LINK = 0.93
"""Share of the fastest that was seen over the link from which the link may be what limits."""

_TOLERANCE = 0.035
"""Of what compression saves: twice the drift that passes for none, over four bursts."""

_PADDED_BYTES = 64 * 2**10
"""Page on all planes of a die, at most."""

_LATE = (0.55, 0.98)
"""Part of a burst whose rate counts: the first of it replaces other data in the write buffer."""

_STRONG, _WEAK = compressible(2), compressible(50)
_TITLES = {
    "compression": "Compression",
    "compression_floor": "Most that compression saves",
    "deduplication": "Deduplication",
}


def find(run: RunData, link_rate: float | None, through: bool = False) -> list[Finding]:
    """The findings, if the probe ran.

    Args:
        run: the run.
        link_rate: what the link was seen to carry, in bytes per second, if it was.
        through: writes wait until they are on the medium.
    """
    rows = [m for m in measured(run, TEST, "write") if m.point.get("counted")]
    if not rows:
        return []
    evidence = [m.recording for m in rows]
    rates = {
        data: np.array([_rate(run, m) for m in rows if m.point.get("data") == data])
        for data in (INCOMPRESSIBLE, REPEATED, _STRONG, _WEAK)
    }
    if not all(len(values) for values in rates.values()):
        return _unidentified("The writes were not all carried out.", evidence, {})
    plain = rates[INCOMPRESSIBLE]
    drift = float(np.ptp(plain) / plain.mean())
    gains = {data: float(values.mean() / plain.mean()) for data, values in rates.items()}
    detail = {"rates": {data: values.tolist() for data, values in rates.items()}}
    detail["goodness"] = {"drift": [drift]}
    if drift > _DRIFT_MAX:
        return _unidentified(
            f"Incompressible data itself was written at rates {wording.percent(drift)} apart.",
            evidence,
            detail,
        )
    fastest = max(float(values.max()) for values in rates.values())
    limited = link_rate is None or float(plain.mean()) > _FROM_LINK * link_rate
    hidden = limited and fastest < _ALIKE_MAX * float(plain.mean())
    compresses = _judge(max(gains[_STRONG], gains[_WEAK]), hidden)
    by_link = link_rate is None or float(rates[_STRONG].max()) > _FROM_LINK * link_rate
    # What is open when a request ends is padded to a page, if it has to be on the medium.
    padding = _PADDED_BYTES * gains[_STRONG] / (rows[0].block_bytes or 1) if through else 0.0
    margins = (_TOLERANCE + padding, _TOLERANCE)
    return [
        _said("compression", compresses, gains, evidence, detail),
        _floor(compresses, gains[_STRONG], by_link, margins, evidence, detail),
        _said("deduplication", _judge(gains[REPEATED], hidden), gains, evidence, detail),
    ]


def _rate(run: RunData, m: Measured) -> float:
    """Rate of the later part of a burst, in bytes per second."""
    curve = completion_curve(run, m)
    total = float(curve.count_bytes[-1])
    return curve.rate(_LATE[0] * total, _LATE[1] * total)


def _judge(gain: float, hidden: bool) -> bool | None:
    if hidden or _ALIKE_MAX < gain < _FASTER_MIN:
        return None
    return gain >= _FASTER_MIN


def _said(
    name: str,
    yes: bool | None,
    gains: Mapping[str, float],
    evidence: Sequence[str],
    detail: Mapping[str, object],
) -> Finding:
    data = REPEATED if name == "deduplication" else _STRONG
    gain = wording.times(gains[data])
    kind = "Repeated" if name == "deduplication" else "Compressible"
    if yes is None:
        text = (
            f"{kind} data is written {gain} as fast as incompressible data, and the link or "
            "something else before the flash may be what limits either."
        )
    elif yes:
        what = "keeps once what repeats" if name == "deduplication" else "compresses"
        text = f"{kind} data is written {gain} as fast as incompressible data: the drive {what}."
    else:
        text = f"{kind} data is written no faster than incompressible data ({gain} as fast)."
    return Finding(
        name,
        _TITLES[name],
        "not identifiable" if yes is None else "measured",
        text,
        value=None if yes is None else float(yes),
        unit=None if yes is None else PRESENCE,
        evidence=evidence,
        detail={**detail, "gain": gains[data], "discrete": True},
    )


def _floor(
    compresses: bool | None,
    gain: float,
    by_link: bool,
    margins: tuple[float, float],
    evidence: Sequence[str],
    detail: Mapping[str, object],
) -> Finding:
    """``margins``: how much less, and more, than what is measured it may be, as shares of it."""
    name = "compression_floor"
    if compresses is False:
        reason = "Not applicable: the drive does not compress."
        return Finding(name, _TITLES[name], "not applicable", reason, evidence=evidence)
    value = 1 / gain
    if compresses is None:
        reason = "The drive was not seen to compress, so there is no limit to it."
    elif by_link:
        reason = (
            "Data that compresses well is written as fast as the link carries it: it is stored in "
            f"{wording.percent(value)} of its room or less."
        )
    else:
        less, more = margins
        return Finding(
            name,
            _TITLES[name],
            "measured",
            f"Data that compresses well still takes {wording.percent(value)} of its room.",
            value=value,
            unit="of its room",
            interval=((1 - less) * value, (1 + more) * value),
            evidence=evidence,
            detail={**detail, "interval": RESOLUTION},
        )
    return Finding(name, _TITLES[name], "not identifiable", reason, evidence=evidence)


def _unidentified(
    reason: str, evidence: Sequence[str], detail: Mapping[str, object]
) -> list[Finding]:
    return [
        Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
        for name, title in _TITLES.items()
    ]

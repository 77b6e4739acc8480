"""Findings ``zones``, ``outer_rate`` and ``inner_rate`` from sequential reads all over a drive.

A disk has zones of equal sectors per track, and so of equal rate, that falls from the outer edge
inwards. Change points of the logarithm of the rate are those of least squares with a penalty of
log n variances for each (PELT: Killick, Fearnhead and Eckley, JASA 2012, by ``ruptures``). A place
whose reads cross into the next zone has a rate between the two and is no zone.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fourcorners import wording
from fourcorners.analysis.finding import RESOLUTION, Finding
from fourcorners.analysis.source import RunData, measured

TEST = "probe-positions"

Floats = npt.NDArray[np.float64]

_PLACES_MIN = 16

_NORMAL_DEVIATION_PER_MAD = 1.4826

_PENALTY = 4.0
"""Variances per change point, times log n: more than the 2 of BIC, because scatter is estimated."""

_STEP_MIN = 0.004
"""Smallest step of the rate that is called one; the sectors of a track change by at least as much
in any zone table, and the turns that fit into a measurement scatter less."""

_LINK_NEAR = 0.97
"""Share of what the link carries from which it may be what limits."""


def profile(run: RunData) -> tuple[Floats, Floats]:
    """Offsets in bytes, ascending, and rates in bytes per second, shape (places,)."""
    points = sorted(
        (float(m.point["offset_bytes"]), m.bytes_per_second)
        for m in measured(run, TEST, "read")
        if m.point.get("offset_bytes") is not None and "/at/" in m.recording
    )
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def levels(rate: Floats) -> list[tuple[int, int]]:
    """Zones as ranges of places, in order.

    Args:
        rate: shape (places,), positive, by place.
    """
    # Loaded when first used: commands that compute nothing answer at once.
    import ruptures

    logs = np.log(rate)
    differences = np.diff(logs)
    scatter = _NORMAL_DEVIATION_PER_MAD * float(np.median(np.abs(differences))) / math.sqrt(2)
    scatter = max(scatter, _STEP_MIN / 8)
    penalty = _PENALTY * math.log(len(logs)) * scatter**2
    ends = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(logs[:, None]).predict(pen=penalty)
    bounds = [0, *ends]
    zones = list(itertools.pairwise(bounds))
    zones = _without_crossings(logs, zones)
    return _merged(logs, zones)


def _without_crossings(logs: Floats, zones: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Single places between two zones, with a rate between theirs, go to the nearer one."""
    kept = list(zones)
    index = 1
    while index < len(kept) - 1:
        (start, end), before, after = kept[index], kept[index - 1], kept[index + 1]
        if end - start == 1:
            here = logs[start]
            left, right = logs[before[0] : before[1]].mean(), logs[after[0] : after[1]].mean()
            if min(left, right) < here < max(left, right):
                kept[index - 1 : index + 2] = [before, (start + 1, after[1])]
                continue
        index += 1
    return kept


def _merged(logs: Floats, zones: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbours that differ by less than the smallest step are one."""
    merged = [zones[0]]
    for start, end in zones[1:]:
        before = merged[-1]
        step = abs(logs[start:end].mean() - logs[before[0] : before[1]].mean())
        if step < _STEP_MIN:
            merged[-1] = (before[0], end)
        else:
            merged.append((start, end))
    return merged


def find(run: RunData, link_bytes_per_second: float | None) -> list[Finding]:
    """The findings; none where the probe did not run.

    Args:
        run: the run.
        link_bytes_per_second: what the link carries, if that is known.
    """
    offset, rate = profile(run)
    evidence = [m.recording for m in measured(run, TEST, "read") if "/at/" in m.recording]
    if not evidence:
        return []
    detail: dict[str, Any] = {"offset_bytes": offset, "bytes_per_second": rate}

    def unidentified(reason: str) -> list[Finding]:
        return [
            Finding(name, title, "not identifiable", reason, evidence=evidence, detail=detail)
            for name, title in _TITLES.items()
        ]

    if len(rate) < _PLACES_MIN:
        return unidentified(f"Only {len(rate)} places were read; zones take {_PLACES_MIN} or more.")
    zones = levels(rate)
    means = [float(rate[start:end].mean()) for start, end in zones]
    if any(later >= earlier for earlier, later in itertools.pairwise(means)):
        return unidentified(
            "The rate differs from place to place, but does not fall in steps from the start to "
            "the end as that of a disk does."
        )
    residuals = np.concatenate(
        [rate[start:end] / mean - 1 for (start, end), mean in zip(zones, means, strict=True)]
    )
    freedom = max(len(rate) - len(zones), 1)
    goodness = {
        "scatter_within_zones": float(np.sqrt(residuals @ residuals / freedom)),
        "spread_within_zones": float(np.ptp(residuals)),
    }
    detail |= {"zone_starts": [offset[start] for start, _ in zones], "zone_rates": means}
    if len(zones) == 1:
        return [
            Finding(
                "zones",
                _TITLES["zones"],
                "measured",
                f"Reads in sequence come at {wording.rate(means[0])} wherever they are; of what "
                "was never written a drive need not read its medium.",
                value=1.0,
                unit="1",
                evidence=evidence,
                detail=detail | {"discrete": True, "goodness": goodness},
            )
        ]
    edges = [
        _edge("inner_rate", rate, zones[-1], "At its end", evidence, goodness),
    ]
    if link_bytes_per_second is not None and means[0] > _LINK_NEAR * link_bytes_per_second:
        hidden = "The first zones are as fast as the link, which hides how many there are."
        edges += [f for f in unidentified(hidden) if f.name != "inner_rate"]
        return edges
    return [
        Finding(
            "zones",
            _TITLES["zones"],
            "measured",
            f"The rate falls in {len(zones) - 1} steps from {wording.rate(means[0])} to "
            f"{wording.rate(means[-1])}: {len(zones)} zones, as on a disk.",
            value=float(len(zones)),
            unit="1",
            evidence=evidence,
            detail=detail | {"discrete": True, "goodness": goodness},
        ),
        _edge("outer_rate", rate, zones[0], "At its start", evidence, goodness),
        *edges,
    ]


_TITLES = {
    "zones": "Zones of equal rate",
    "outer_rate": "Rate at the outer edge",
    "inner_rate": "Rate at the inner edge",
}


def _edge(
    name: str,
    rate: Floats,
    zone: tuple[int, int],
    where: str,
    evidence: list[str],
    goodness: dict[str, float],
) -> Finding:
    value = float(rate[zone[0] : zone[1]].mean())
    # A measurement has one switch of tracks more or less in it, by where it begins: places of one
    # zone differ by that or agree, so that their number does not make the mean more exact. Of all
    # zones together: the places of one may happen to agree.
    half = goodness["spread_within_zones"] * value
    return Finding(
        name,
        _TITLES[name],
        "measured",
        f"{where} the drive reads {wording.rate(value)}.",
        value=value,
        unit="B/s",
        interval=(value - half, value + half),
        evidence=evidence,
        detail={"goodness": goodness, "interval": RESOLUTION},
    )

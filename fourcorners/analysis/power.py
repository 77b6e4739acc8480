"""Finding ``power``: mean power and energy per gigabyte in the four corners.

Energy is known if the target reports it, as simulated drives do that have powers in their drive
file. It is that of the whole recording: what the drive draws in rest is part of it.
"""

from __future__ import annotations

from typing import Any

from fourcorners.analysis.corners import CORNERS, corner_points
from fourcorners.analysis.source import RunData
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say


def find(run: RunData) -> list[Finding]:
    """The finding, from the recording that stands for each corner; none without energies."""
    corners: list[dict[str, Any]] = []
    for pattern, operation in CORNERS:
        point = next(iter(corner_points(run, pattern, operation)), None)
        energy_j = None if point is None else point.of.energy_j
        if point is None or energy_j is None:
            continue
        corners.append(
            {
                "recording": point.recording,
                "corner": f"{pattern} {operation}s",
                "energy_j": energy_j,
                "mean_power_w": energy_j / point.elapsed_s,
                "energy_per_gb_j": energy_j / (point.bytes / 1e9),
            }
        )
    if not corners:
        return []
    return [
        worded(
            "power",
            "Power",
            "measured",
            say("power.measured", corners=[say("power.corner", **corner) for corner in corners]),
            value=max(corner["mean_power_w"] for corner in corners),
            unit="W",
            evidence=[corner["recording"] for corner in corners],
            detail={"corners": corners},
        )
    ]

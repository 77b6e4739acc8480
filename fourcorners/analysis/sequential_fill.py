"""Finding ``sequential_fill``: how fast one fill of the whole drive went, and how it ended."""

from __future__ import annotations

import numpy as np

from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.source import RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say

TEST = "sequential-fill"

TENTHS = 10
"""Parts that the fill is cut into, by bytes: a part of a fill that takes two minutes has 12 s."""


def find(run: RunData) -> list[Finding]:
    """The finding, of a fill that lasted a second for each of its tenths."""
    fills = measured(run, TEST, "write")
    if not fills or fills[0].of.interrupted:
        return []
    fill = fills[0]
    series = fill.seconds
    rates = full_seconds(np.asarray(series.bytes, np.float64), fill.elapsed_s)
    if len(rates) < TENTHS:
        return []
    tenths = _rate_of_tenths(rates)
    slowest = float(rates.min())
    return [
        worded(
            "sequential_fill",
            "Sequential fill",
            "measured",
            say(
                "sequential_fill.measured",
                elapsed_s=float(fill.elapsed_s),
                first=tenths[0],
                last=tenths[-1],
            ),
            value=fill.bytes_per_second,
            unit="B/s",
            evidence=[fill.recording],
            detail={
                "bytes": fill.bytes,
                "rate_of_tenths_bytes_per_second": tenths,
                "slowest_second_bytes_per_second": slowest,
            },
        )
    ]


def _rate_of_tenths(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Rates in bytes per second while each tenth of the bytes was written; a second that lies in
    two of them counts for both by its share."""
    written = np.concatenate([[0.0], np.cumsum(rates)])
    at_s = np.interp(np.linspace(0.0, written[-1], TENTHS + 1), written, np.arange(len(written)))
    return [float(written[-1] / TENTHS / seconds) for seconds in np.diff(at_s)]

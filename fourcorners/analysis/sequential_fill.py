"""Finding ``sequential_fill``: how fast one fill of the whole drive went, and how it ended."""

from __future__ import annotations

import numpy as np

from fourcorners import wording
from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import RunData, measured

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
    mean = fill.bytes_per_second
    text = (
        f"{wording.amount(fill.bytes)} were written in "
        f"{wording.clock(float(fill.elapsed_s))} at {wording.rate(mean)} on average: the "
        f"first tenth at {wording.rate(tenths[0])}, the last at {wording.rate(tenths[-1])}, the "
        f"slowest second at {wording.rate(float(rates.min()))}."
    )
    return [
        Finding(
            name="sequential_fill",
            title="Sequential fill",
            verdict="measured",
            text=text,
            value=mean,
            unit="B/s",
            evidence=[fill.recording],
            detail={
                "bytes": fill.bytes,
                "rate_of_tenths_bytes_per_second": tenths,
                "slowest_second_bytes_per_second": float(rates.min()),
            },
        )
    ]


def _rate_of_tenths(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    """Rates in bytes per second while each tenth of the bytes was written; a second that lies in
    two of them counts for both by its share."""
    written = np.concatenate([[0.0], np.cumsum(rates)])
    at_s = np.interp(np.linspace(0.0, written[-1], TENTHS + 1), written, np.arange(len(written)))
    return [float(written[-1] / TENTHS / seconds) for seconds in np.diff(at_s)]

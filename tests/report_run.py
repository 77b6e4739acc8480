"""A run in memory for the report's tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from made_recordings import made

from fourcorners.documents import plain
from fourcorners.finding import Finding
from fourcorners.manifest import Manifest
from fourcorners.recording import IoLog, LatencyOverTime, Recording

Series = dict[str, Any]
Histogram = tuple[Any, Any, Any]
PERCENTILES = {
    "p50": 50.0,
    "p90": 90.0,
    "p99": 99.0,
    "p999": 99.9,
    "p9999": 99.99,
    "p99999": 99.999,
}


@dataclass
class FakeRun:
    """A run in memory, with the attributes of `fourcorners.store.Run` that a report uses."""

    manifest: Manifest
    rows: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    path: Path = Path("runs/fake")
    tables: dict[tuple[str, str], tuple[Series, Histogram]] = field(default_factory=dict)
    logs: dict[str, IoLog] = field(default_factory=dict)
    _made: tuple[str, list[Recording]] = field(default_factory=lambda: ("", []))

    @property
    def recordings(self) -> list[Recording]:
        """What was measured."""
        described = {one.id: plain(one) for test in self.manifest.tests for one in test.recordings}
        # Made anew when a test has changed something.
        state = repr((self.rows, described, [(id(s), id(h)) for s, h in self.tables.values()]))
        if self._made[0] != state:
            recordings = made(
                self.rows,
                described,
                {key: series for key, (series, _) in self.tables.items()},
                {key: histogram for key, (_, histogram) in self.tables.items()},
                {key: self.latency_over_time(*key) for key in self.tables},
                self.logs,
            )
            self._made = state, recordings
        return self._made[1]

    def latency_over_time(self, recording_id: str, operation: str) -> LatencyOverTime:
        """The recording's distribution in every second, around the mean of that second."""
        series, (low, _, count) = self.tables[(recording_id, operation)]
        ios = np.nan_to_num(np.asarray(series["ios"], np.float64))
        if not len(count) or not ios.sum():
            return LatencyOverTime.none()
        shares, edges = np.histogram(np.log2(low), 40, weights=count / count.sum())
        around = np.exp2((edges[:-1] + edges[1:]) / 2)
        mean_s = series.get("latency_mean_s", np.full(len(ios), np.nan))
        mean_ns = np.where(np.isfinite(mean_s), mean_s * 1e9, np.average(around, weights=shares))
        ns = np.outer(mean_ns, around / np.average(around, weights=shares))
        power = np.floor(np.log2(ns))
        bucket = 8 * power + np.floor(ns / np.exp2(power - 3)) - 8
        held = np.round(np.outer(ios, shares)) > 0
        second = np.repeat(np.arange(len(ios)), held.sum(axis=1))
        cells, where = np.unique(
            np.stack([second, bucket[held].astype(np.int64)]), axis=1, return_inverse=True
        )
        summed = np.bincount(where.ravel(), np.round(np.outer(ios, shares))[held])
        step = np.exp2(cells[1] // 8 - 3).astype(np.int64)
        lowest = (cells[1] % 8 + 8) * step
        return LatencyOverTime(cells[0], lowest, lowest + step - 1, summed.astype(np.int64))

"""Recordings as tests describe them: rows of totals, with series and histograms beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fourcorners.machine.conditions import Conditions
from fourcorners.recording import (
    BySecond,
    Histogram,
    InMemory,
    IoLog,
    LatencyDistribution,
    LatencyOverTime,
    Offered,
    OperationRecording,
    Recording,
)
from fourcorners.recording.columns import PERCENTILES, STAGES
from fourcorners.workload import Stream, Workload

Key = tuple[str, str]
"""Recording and operation."""


@dataclass(frozen=True, eq=False)
class _Given(Histogram):
    """A histogram whose percentiles a test gives."""

    given: Mapping[float, float | None] = field(default_factory=dict, kw_only=True)

    def percentile_s(self, percent: float, min_s: float, max_s: float) -> float | None:
        if percent in self.given:
            return self.given[percent]
        return super().percentile_s(percent, min_s, max_s)


def made(
    rows: Sequence[Mapping[str, Any]],
    described: Mapping[str, Mapping[str, Any]],
    series: Mapping[Key, Mapping[str, Any]],
    histograms: Mapping[Key, Iterable[Any]],
    over_time: Mapping[Key, LatencyOverTime],
    logs: Mapping[str, IoLog],
) -> list[Recording]:
    """The recordings of rows with the names of the totals' columns, each described as in a
    manifest. The rate is the row's: it is measured a little longer where its I/Os are no whole
    number."""
    together: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        together.setdefault(row["recording"], []).append(row)
    return [
        _recording(
            id,
            own,
            described.get(id, {}),
            {
                row["operation"]: _operation(row, series, histograms, over_time.get(_key(row)))
                for row in own
            },
            logs.get(id),
        )
        for id, own in together.items()
    ]


def _key(row: Mapping[str, Any]) -> Key:
    return row["recording"], row["operation"]


def _recording(
    id: str,
    rows: Sequence[Mapping[str, Any]],
    entry: Mapping[str, Any],
    operations: Mapping[str, OperationRecording],
    log: IoLog | None,
) -> Recording:
    first = rows[0]
    workload = entry.get("workload") or {}
    offered = first.get("offered_iops")
    conditions = entry.get("conditions")
    return Recording(
        elapsed_s=max(one.elapsed_s for one in operations.values()),
        mean_queue_depth=first.get("mean_queue_depth"),
        cpu_user_s=first.get("cpu_user_s"),
        cpu_system_s=first.get("cpu_system_s"),
        generating_s=first.get("generating_s"),
        interrupted=bool(first.get("interrupted")),
        failure=None,
        operations=operations,
        offered=None if offered is None else Offered(offered, first.get("unissued_ios") or 0),
        energy_j=first.get("energy_j"),
        flash_programmed_bytes=first.get("flash_programmed_bytes"),
        logged=None if log is None else lambda: log,
        id=id,
        test=first["test"],
        label=entry.get("label") or id,
        point=entry.get("point") or {},
        workload=Workload(
            [Stream(**stream) for stream in workload.get("streams", [])],
            ramp_s=workload.get("ramp_ns", 0) * 1e-9,
        )
        if workload
        else None,
        conditions=None if conditions is None else Conditions(**conditions),
    )


def _operation(
    row: Mapping[str, Any],
    series: Mapping[Key, Mapping[str, Any]],
    histograms: Mapping[Key, Iterable[Any]],
    over_time: LatencyOverTime | None,
) -> OperationRecording:
    key = _key(row)
    ios, elapsed_s, iops = row["ios"], row["elapsed_s"], row.get("iops")
    if iops and elapsed_s:
        ios = max(1, math.ceil(iops * elapsed_s - 1e-6))
        elapsed_s = ios / iops
    seconds = {name: np.asarray(column) for name, column in series.get(key, {}).items()}
    length = len(seconds.get("ios", ()))
    if length and (more := int(elapsed_s or 0) - int(row["elapsed_s"] or 0)) > 0:
        # It went on as it ended.
        seconds = {name: np.pad(one, (0, more), "edge") for name, one in seconds.items()}
        length += more
    given = {percent: row[column] for column, percent in PERCENTILES.items() if column in row}
    latency = {name: row.get(f"latency_{name}_s") for name in ("min", "mean", "max")}
    known = [value for value in latency.values() if value is not None]
    stages = {stage: row.get(f"{stage}_mean_s") for stage in STAGES}
    return OperationRecording(
        ios=ios,
        bytes=round(row["bytes"] / row["ios"]) * ios if row["ios"] else row["bytes"],
        errors={0: row["errors"]} if row.get("errors") else {},
        elapsed_s=elapsed_s or 0.0,
        latency_min_s=min(known, default=None) if latency["min"] is None else latency["min"],
        latency_mean_s=latency["mean"],
        latency_max_s=latency["max"],
        stages={
            stage: LatencyDistribution(None, mean_s, None)
            for stage, mean_s in stages.items()
            if mean_s is not None
        },
        arrays=InMemory(
            _Given(*histograms[key], given=given) if key in histograms else Histogram.none(),
            BySecond(
                *(np.asarray(seconds.get(name, np.zeros(length))) for name in ("ios", "bytes")),
                *(
                    np.asarray(seconds.get(name, np.full(length, np.nan)), np.float64)
                    for name in ("latency_mean_s", "latency_max_s")
                ),
            ),
            over_time if over_time is not None else LatencyOverTime.none(),
        ),
    )

"""Findings of tests in rounds: SNIA's window on each tracked variable, and what the judge of steady
state says of the same rounds; averages over the window for tables and heat maps.

SNIA Solid State Storage Performance Test Specification 2.0.2: the steady state is reached when in
five rounds in a row the variable's range is at most 20 % and its slope at most 10 % of its average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fourcorners.analysis.source import Measured, RunData, capacity_bytes, measured
from fourcorners.finding import Finding, Verdict, worded
from fourcorners.sentences import Said, say

if TYPE_CHECKING:
    from fourcorners.analysis.steady_state.window_rules import SniaWindow

NAME = "rounds_"
SATURATION = "snia-write-saturation"
SATURATION_ROUND_S = 31 * 60
"""Write saturation is tracked by the last minute of every 31."""
_UNITS = {"iops": "IOPS", "bytes_per_second": "B/s", "latency_mean_s": "s"}


@dataclass
class _Total:
    """Reads and writes of one recording together."""

    point: Any
    recording: str
    ios: int = 0
    iops: float = 0.0
    bytes_per_second: float = 0.0
    latency_sum_s: float = 0.0
    latency_p99999_s: float = 0.0
    latency_max_s: float = 0.0
    elapsed_s: float = 0.0
    written_bytes: float = 0.0

    def add(self, one: Measured) -> None:
        self.ios += one.ios
        self.iops += one.iops
        self.bytes_per_second += one.bytes_per_second
        self.latency_sum_s += one.ios * (one.latency_mean_s or 0.0)
        # Of two distributions the slower one's.
        self.latency_p99999_s = max(self.latency_p99999_s, one.latency_percentile_s(99.999) or 0.0)
        self.latency_max_s = max(self.latency_max_s, one.latency_max_s or 0.0)
        self.elapsed_s = max(self.elapsed_s, one.elapsed_s)
        if one.operation == "write":
            self.written_bytes += one.bytes or 0.0

    @property
    def latency_mean_s(self) -> float:
        return self.latency_sum_s / max(self.ios, 1)


def find(run: RunData) -> list[Finding]:
    """For each test in rounds: a finding for each tracked variable, and one with the averages."""
    tests: dict[str, dict[str, _Total]] = {}
    for one in measured(run):
        if "round" in one.point and one.operation != "flush":
            totals = tests.setdefault(one.test, {})
            totals.setdefault(one.recording, _Total(one.point, one.recording)).add(one)
    findings = []
    for test, totals in tests.items():
        by_variable: dict[str, list[_Total]] = {}
        for total in totals.values():
            by_variable.setdefault(str(total.point["variable"]), []).append(total)
        tracked = {
            variable: series
            for variable, series in by_variable.items()
            if series[0].point.get("tracked")
        }
        findings += [
            _tracked(run, test, variable, series, list(totals.values()))
            for variable, series in tracked.items()
        ]
        findings.append(_averages(test, by_variable))
    return [*findings, *_saturation(run)]


def _saturation(run: RunData) -> list[Finding]:
    """Of the seconds of write saturation, the minutes that the specification tracks: the first five
    rounds that are steady, where it lets the test end, else the last ones."""
    from fourcorners.analysis.steady_state import snia_window

    findings = []
    for one in measured(run, SATURATION, "write"):
        if not one.recording.endswith("/write"):
            continue
        series = np.asarray(one.second_ios, dtype=np.float64)
        count = int(one.elapsed_s or 0) // SATURATION_ROUND_S
        rounds = series[: count * SATURATION_ROUND_S].reshape(count, SATURATION_ROUND_S)
        values = rounds[:, -60:].mean(axis=1)
        last, window = count, snia_window(values)
        for end in range(count, 4, -1):
            earlier = snia_window(values[:end])
            if earlier is not None and earlier.steady:
                last, window = end, earlier
        verdict: Verdict = "not identifiable"
        said = say("rounds.saturation_short", rounds=count)
        if window is not None:
            verdict = "holds" if window.steady else "violated"
            code = "saturation_steady" if window.steady else "saturation_not_steady"
            said = say(
                f"rounds.{code}",
                first=window.first_round + 1,
                last=last,
                rounds=count,
                window=_said(window, "iops"),
            )
        findings.append(
            worded(
                f"{NAME}{one.test}_last minutes",
                "Steady state: write saturation",
                verdict,
                said,
                value=None if window is None else window.average,
                unit="IOPS",
                evidence=[one.recording],
                detail={
                    "test": one.test,
                    "variable": "last minute of 31",
                    "metric": "iops",
                    "rounds": list(range(1, count + 1)),
                    "values": values,
                    "window": None
                    if window is None
                    else _window(window, window.first_round + 1, last),
                },
            )
        )
    return findings


def _said(window: SniaWindow, metric: str) -> Said:
    return say(
        f"rounds.{metric}",
        average=window.average,
        range_share=window.range_share,
        slope_share=window.slope_share,
    )


def _window(window: SniaWindow, first_round: int, last_round: int) -> dict[str, Any]:
    """A window as a finding's detail has it."""
    return {
        "first_round": first_round,
        "last_round": last_round,
        "average": window.average,
        "slope_per_round": window.slope_per_round,
        "intercept": window.intercept,
        "range_share": window.range_share,
        "slope_share": window.slope_share,
        "steady": window.steady,
    }


def _tracked(
    run: RunData, test: str, variable: str, series: Sequence[_Total], every: Sequence[_Total]
) -> Finding:
    # Its change points need a library that takes a while to load.
    from fourcorners.analysis.steady_state import Series, judge, snia_window

    metric = str(series[0].point["metric"])
    unit = _UNITS[metric]
    values = np.array([getattr(total, metric) for total in series], dtype=np.float64)
    rounds = [int(total.point["round"]) for total in series]
    window = snia_window(values)
    # Of throughput every block size has rounds of its own.
    block = series[0].point.get("block_bytes")
    mine = [
        total
        for total in every
        if "throughput" not in test or total.point.get("block_bytes") == block
    ]
    duration = np.array([sum(t.elapsed_s for t in mine if t.point["round"] == r) for r in rounds])
    written = np.array(
        [sum(t.written_bytes for t in mine if t.point["round"] == r) for r in rounds]
    )
    detail: dict[str, Any] = {
        "test": test,
        "variable": variable,
        "metric": metric,
        "rounds": rounds,
        "values": values,
        "window": None,
    }
    evidence = [total.recording for total in series]
    name, title = f"{NAME}{test}_{variable}", f"Steady state: {variable}"
    capacity = capacity_bytes(run)
    words: dict[str, Any] = {"variable": variable, "rounds": len(values), "judged": []}
    if capacity and len(values) >= 2:
        verdict = judge(Series(values, duration, written), capacity)
        detail["judge"] = {"state": str(verdict.state), "text": verdict.text}
        words["judged"].append(say("rounds.judged", words=verdict.said))
    if window is None:
        said = say("rounds.too_few", **words)
        return worded(name, title, "not identifiable", said, evidence=evidence, detail=detail)
    first = rounds[window.first_round]
    detail["window"] = _window(window, first, rounds[-1])
    words |= {"first": first, "last": rounds[-1], "window": _said(window, metric)}
    return worded(
        name,
        title,
        "holds" if window.steady else "violated",
        say("rounds.steady" if window.steady else "rounds.not_steady", **words),
        value=window.average,
        unit=unit,
        evidence=evidence,
        detail=detail,
    )


def _averages(test: str, by_variable: dict[str, list[_Total]]) -> Finding:
    """Means over the last five rounds (the longest latency is the longest) of every variable."""
    cells = []
    for variable, series in by_variable.items():
        last = series[-5:]
        cells.append(
            {
                "variable": variable,
                "read_percent": last[0].point.get("read_percent"),
                "block_bytes": last[0].point.get("block_bytes"),
                "iops": float(np.mean([one.iops for one in last])),
                "bytes_per_second": float(np.mean([one.bytes_per_second for one in last])),
                "latency_mean_s": float(np.mean([one.latency_mean_s for one in last])),
                "latency_p99999_s": float(np.mean([one.latency_p99999_s for one in last])),
                "latency_max_s": max(one.latency_max_s for one in last),
            }
        )
    rounds = max(int(one.point["round"]) for series in by_variable.values() for one in series)
    return Finding(
        name=f"averages_{test}",
        title="Averages over the measurement window",
        verdict="measured",
        text="",
        value=float(rounds),
        unit="rounds",
        evidence=[one.recording for series in by_variable.values() for one in series[-5:]],
        detail={"test": test, "cells": cells},
    )

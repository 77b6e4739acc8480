"""Findings of the tests that compare a few recordings: latency exceedances, consistency of several
states, alignment, the transfer-rate profile, the write cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fourcorners import wording
from fourcorners.analysis import consistency
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.source import Measured, RunData, measured

EXCEEDED_S = (0.001, 0.01, 0.1, 1.0)
"""What a reader notices: a disk's access, ten of them, a hesitation, a hang."""


def find(run: RunData) -> list[Finding]:
    """The findings of the tests that ran."""
    return [
        *_exceedances(run),
        *_scores(run),
        *_alignment(run),
        *_profile(run),
        *_cache(run),
    ]


def _exceedances(run: RunData) -> list[Finding]:
    findings = []
    for one in measured(run):
        if not one.point.get("counts_exceedances"):
            continue
        low, _, count = one.histogram
        counts = {limit: int(count[low * 1e-9 >= limit].sum()) for limit in EXCEEDED_S}
        counted = f"{one.ios:,} {one.operation}s"
        told = [
            f"{counts[limit]:,} took more than {wording.chosen_time(limit)}"
            for limit in EXCEEDED_S
            if counts[limit]
        ]
        text = (
            f"of {counted} {wording.sentence_list(told)}."
            if told
            else f"none of {counted} took more than {wording.chosen_time(EXCEEDED_S[0])}."
        )
        findings.append(
            Finding(
                name=f"exceedance_{one.recording}_{one.operation}",
                title=f"Slow {one.operation}s",
                verdict="measured",
                text=f"{one.recording.partition('/')[2]}: {text}",
                value=counts[EXCEEDED_S[1]] / one.ios,
                unit="fraction",
                evidence=[one.recording],
                detail={"limit_s": list(EXCEEDED_S), "count": list(counts.values())},
            )
        )
    return findings


def _scores(run: RunData) -> list[Finding]:
    """Mean, and mean over deviation, of the last 400 s; of the editions of the consistency test."""
    findings = []
    for one in measured(run, operation="write"):
        variant = one.point.get("variant")
        if variant is None or not one.test.startswith("consistency-"):
            continue
        series = one.seconds
        iops = consistency.full_seconds(np.asarray(series.ios, dtype=np.float64), one.elapsed_s)
        if len(iops) < 2:
            continue
        last = consistency.steady(iops)
        score = last.mean_over_deviation
        window = wording.count(len(iops) - last.first_second, "second")
        findings.append(
            Finding(
                name=f"score_{one.recording}",
                title=f"Last {window}, {variant}",
                verdict="measured",
                text=f"{variant}: {wording.number(last.mean_iops)} IOPS in the last {window}"
                + ("." if score is None else f", mean over deviation {wording.number(score)}."),
                value=last.mean_iops,
                unit="IOPS",
                evidence=[one.recording],
                detail={"mean_over_deviation": score, "first_second": last.first_second},
            )
        )
    return findings


def _alignment(run: RunData) -> list[Finding]:
    writes = measured(run, "aligned-writes", "write")
    if len(writes) != 2:
        return []
    aligned, unaligned = writes
    share = unaligned.bytes_per_second / aligned.bytes_per_second
    return [
        Finding(
            name="unaligned_share",
            title="Unaligned writes",
            verdict="measured",
            text=f"Writes at any sector reach {wording.rate(unaligned.bytes_per_second)}, "
            f"{wording.percent(share)} of the {wording.rate(aligned.bytes_per_second)} of those "
            "aligned to 4 KiB.",
            value=share,
            unit="fraction",
            evidence=[aligned.recording, unaligned.recording],
        )
    ]


def _profile(run: RunData) -> list[Finding]:
    findings = []
    for operation in ("read", "write"):
        points = [
            one
            for one in measured(run, "transfer-rate", operation)
            if "position_bytes" in one.point
        ]
        if len(points) >= 3:
            findings.append(_profile_finding(operation, points))
    accesses = [
        one for one in measured(run, "transfer-rate") if "access_position_bytes" in one.point
    ]
    if accesses:
        mean = float(np.mean([one.latency_mean_s for one in accesses]))
        findings.append(
            Finding(
                name="access_time",
                title="Access time",
                verdict="measured",
                text=f"A single read takes {wording.duration(mean)} on average over "
                f"{wording.count(len(accesses), 'place')}.",
                value=mean,
                unit="s",
                evidence=[one.recording for one in accesses],
            )
        )
    return findings


def _profile_finding(operation: str, points: Sequence[Measured]) -> Finding:
    rates = [one.bytes_per_second for one in points]
    third = len(rates) // 3
    outer, inner = float(np.mean(rates[:third])), float(np.mean(rates[-third:]))
    return Finding(
        name=f"transfer_rate_{operation}",
        title=f"Transfer rate, {operation}s",
        verdict="measured",
        text=f"Sequential {operation}s run at {wording.rate(float(np.mean(rates)))}, from "
        f"{wording.rate(min(rates))} to {wording.rate(max(rates))}; the last third of the drive "
        f"has {wording.percent(inner / outer)} of the rate of the first.",
        value=float(np.mean(rates)),
        unit="B/s",
        evidence=[one.recording for one in points],
        detail={"last_over_first_third": inner / outer},
    )


def _cache(run: RunData) -> list[Finding]:
    writes = measured(run, "write-cache", "write")
    on = {one.queue_depth: one for one in writes if one.point.get("cache") == "cache on"}
    off = {one.queue_depth: one for one in writes if one.point.get("cache") == "cache off"}
    depths = sorted(depth for depth in on if depth in off and depth is not None)
    if not depths:
        return []
    shallow = on[depths[0]].iops / off[depths[0]].iops
    deep = on[depths[-1]].iops / off[depths[-1]].iops
    return [
        Finding(
            name="write_cache_gain",
            title="Write cache",
            verdict="measured",
            text=f"With its cache the drive writes {wording.times(shallow)} as fast at queue depth "
            f"{depths[0]}, and {wording.times(deep)} at {depths[-1]}.",
            value=shallow,
            unit="1",
            evidence=[one.recording for one in writes],
            detail={
                "queue_depth": depths,
                "gain": [on[depth].iops / off[depth].iops for depth in depths],
            },
        )
    ]

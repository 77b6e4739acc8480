"""Findings of the tests that compare a few recordings: latency exceedances, consistency of several
states, alignment, the transfer-rate profile, the write cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fourcorners.analysis import consistency
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say

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
        slow = [
            say("exceedance.slow", count=counts[limit], limit=limit)
            for limit in EXCEEDED_S
            if counts[limit]
        ]
        what = {
            "what": one.recording.partition("/")[2],
            "ios": one.ios,
            "operation": one.operation,
        }
        said = say("exceedance.some", **what, slow=slow)
        findings.append(
            worded(
                f"exceedance_{one.recording}_{one.operation}",
                f"Slow {one.operation}s",
                "measured",
                said if slow else say("exceedance.none", **what, limit=EXCEEDED_S[0]),
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
        window = len(iops) - last.first_second
        parts = [] if score is None else [say("score.score", score=score)]
        said = say(
            "score.measured", variant=variant, iops=last.mean_iops, window=window, score=parts
        )
        findings.append(
            worded(
                f"score_{one.recording}",
                say("score.title", variant=variant, window=window).text,
                "measured",
                said,
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
        worded(
            "unaligned_share",
            "Unaligned writes",
            "measured",
            say(
                "unaligned_share.measured",
                unaligned=unaligned.bytes_per_second,
                aligned=aligned.bytes_per_second,
            ),
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
            worded(
                "access_time",
                "Access time",
                "measured",
                say("transfer_rate.access_time", places=len(accesses)),
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
    return worded(
        f"transfer_rate_{operation}",
        f"Transfer rate, {operation}s",
        "measured",
        say("transfer_rate.measured", operation=operation, least=min(rates), most=max(rates)),
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
        worded(
            "write_cache_gain",
            "Write cache",
            "measured",
            say(
                "write_cache_gain.measured",
                shallow=shallow,
                shallow_depth=depths[0],
                deep=deep,
                deep_depth=depths[-1],
            ),
            value=shallow,
            unit="1",
            evidence=[one.recording for one in writes],
            detail={
                "queue_depth": depths,
                "gain": [on[depth].iops / off[depth].iops for depth in depths],
            },
        )
    ]

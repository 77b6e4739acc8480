"""Finding ``consistency_write`` from the consistency test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.analysis import consistency
from fourcorners.analysis.consistency import Steady
from fourcorners.analysis.following import known_of
from fourcorners.analysis.intervals import batch_means_interval
from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import Measured, RunData, capacity_bytes, measured
from fourcorners.finding import Finding, worded
from fourcorners.recording.arrays import Floats
from fourcorners.sentences import Said, say

TEST = "consistency"

SECONDS_MIN = 10
"""Full seconds below which a series is too short to be judged."""

SLOW_IOPS = 500
"""Rate below which fresh flash cannot be what limits: a page programs in 2 ms or less, so even a
single die with free pages would be faster."""

SLUGGISH_IOPS = 50
"""Rate that a person waits for: a disk of 7200 rpm, seeking for each write, does better."""

UNEVEN_VARIATION = 0.2
"""Coefficient of variation of the seconds from which the rate is not called even."""


def find(run: RunData) -> list[Finding]:
    """The finding, if the test recorded writes."""
    writes = measured(run, TEST, "write")
    return [_finding(run, writes[0])] if writes else []


def _finding(run: RunData, write: Measured) -> Finding:
    name, title = "consistency_write", "Consistency, writes"
    series = write.seconds
    elapsed_s = write.elapsed_s
    iops = consistency.full_seconds(np.asarray(series.ios, dtype=np.float64), elapsed_s)
    if len(iops) < SECONDS_MIN:
        too_short = say("consistency.too_short", seconds=len(iops), least=SECONDS_MIN)
        return worded(
            name,
            title,
            "not identifiable",
            too_short,
            evidence=[write.recording],
            detail={"seconds": len(iops), "reason": too_short.text},
        )
    of_second = np.asarray(series.bytes, dtype=np.float64)[: len(iops)]
    written = np.cumsum(of_second)
    cliff = consistency.find_cliff(iops)
    last = consistency.steady(iops)
    judged = _judged(run, write, iops, of_second, last)
    detail = _detail(iops, written, capacity_bytes(run), cliff, last) | {
        "steady_reached": judged.settled,
        "level": judged.settled or (cliff is not None and not judged.moving),
        "reason": None if judged.settled else judged.reason.text,
        "latency_max_s": write.latency_max_s,
    }
    sentences = [
        _cliff_sentence(cliff, detail),
        _last_sentence(len(iops) - last.first_second, detail),
    ]
    if stall := detail["longest_stall_s"]:
        sentences.append(Sentence("longest_stall", say("consistency.longest_stall", stall=stall)))
    felt = _feels_like(iops, last, cliff)
    detail["feels_like"] = {"name": felt.name, "text": felt.text}
    sentences.append(felt)
    if not judged.settled:
        said = say("consistency.not_steady", reason=judged.reason)
        sentences.append(Sentence("not_steady", said))
    return worded(
        name,
        title,
        "measured" if judged.settled else "not identifiable",
        joined(sentences),
        value=last.mean_iops if judged.settled else None,
        unit="IOPS",
        interval=batch_means_interval(iops[last.first_second :]) if judged.settled else None,
        evidence=[write.recording],
        detail=detail | sentences_detail(sentences),
    )


def feels_like(finding: Finding) -> Sentence | None:
    """The sentence of this module's finding on what a person at the machine would notice."""
    parts = [] if finding.said is None else finding.said.parameters.get("sentences", [])
    return next(
        (
            Sentence(finding.detail["feels_like"]["name"], said)
            for said in parts
            if said.code.startswith("feels.")
        ),
        None,
    )


@dataclass(frozen=True)
class _Judged:
    """What the judge of steady state says of a series."""

    settled: bool
    moving: bool
    """It still falls or rises."""
    reason: Said


def _judged(run: RunData, write: Measured, iops: Floats, written: Floats, last: Steady) -> _Judged:
    # Its change points need a library that takes a while to load.
    from fourcorners.analysis.steady_state import UNIFORM, Series, State, judge

    capacity = capacity_bytes(run)
    if last.mean_iops < SLOW_IOPS:
        # What was written does not matter, only how the rate went on.
        span, spare, unwritten, spread = 1.0, 0.0, 0.0, UNIFORM
        written = np.zeros(len(iops))
    elif capacity is None:
        return _Judged(settled=False, moving=False, reason=say("judge.no_capacity"))
    else:
        span, spare, unwritten, spread = known_of(write.of.workload, write.of.conditions, capacity)
    verdict = judge(
        Series.of_seconds(iops, written),
        span,
        spare_bytes_max=spare,
        unwritten_bytes=unwritten,
        spread=spread,
    )
    moving = verdict.state in (State.FALLING, State.RISING) and verdict.is_seen_to_move
    return _Judged(verdict.settled, moving, verdict.said)


def _detail(
    iops: Floats, written: Floats, capacity: int | None, cliff: int | None, last: Steady
) -> dict[str, Any]:
    until_cliff = None if cliff is None else float(written[cliff - 1])
    return {
        "seconds": len(iops),
        "bytes_written": float(written[-1]),
        "capacities_written": float(written[-1]) / capacity if capacity else None,
        "cliff_s": cliff,
        "fresh_iops": None if cliff is None else float(iops[:cliff].mean()),
        "after_cliff_iops": None if cliff is None else float(iops[cliff:].mean()),
        "bytes_until_cliff": until_cliff,
        "capacities_until_cliff": until_cliff / capacity if until_cliff and capacity else None,
        "steady_from_s": last.first_second,
        "steady_iops": last.mean_iops,
        "coefficient_of_variation": last.coefficient_of_variation,
        "mean_over_deviation": last.mean_over_deviation,
        "worst_second_iops": last.worst_second_iops,
        "below_half_median_share": last.below_half_median_share,
        "drift": last.drift,
        "longest_stall_s": consistency.longest_stall_s(iops),
        "fastest_iops": consistency.fastest_iops(iops),
        "fast_first_second": _fast_first_second(iops, last),
    }


def _fast_first_second(iops: Floats, last: Steady) -> float | None:
    """The rate of the first second over that of the end, if a cliff would be as high. One second is
    no level, but it may contain the cliff of a small and fast drive."""
    if not last.mean_iops:
        return None
    ratio = float(iops[0]) / last.mean_iops
    return ratio if ratio >= consistency.CLIFF_RATIO_MIN else None


def _cliff_sentence(cliff: int | None, detail: dict[str, Any]) -> Sentence:
    if cliff is None:
        ratio = detail["fast_first_second"]
        first = [say("consistency.first", ratio=ratio)] if ratio else []
        return Sentence("no_cliff", say("consistency.no_cliff", **detail, first=first))
    capacities = detail["capacities_until_cliff"]
    share = [say("consistency.share", capacities=capacities)] if capacities else []
    return Sentence("cliff", say("consistency.cliff", **detail, share=share))


def _last_sentence(window: int, detail: dict[str, Any]) -> Sentence:
    scatter = detail["coefficient_of_variation"]
    variation = [] if scatter is None else [say("consistency.variation", variation=scatter)]
    said = say("consistency.last_seconds", **detail, window=window, variation=variation)
    return Sentence("last_seconds", said)


def _feels_like(iops: Floats, last: Steady, cliff: int | None) -> Sentence:
    """What a person at the machine would notice, by the worst second and its company.

    "All the time" is from the first second on. Where the rate was another one before, the sentence
    is about the end, and says how far that is from the fastest seconds.
    """

    def feels(name: str, **words: Any) -> Sentence:
        same_ends = {"begins": say(f"feels.{begins}"), "ends": ends}
        return Sentence(f"feels_{name}", say(f"feels.{name}", **same_ends, **words))

    begins, ends = "at_the_end", list[Said]()
    if last.mean_iops == 0:
        return feels("stopped")
    same = cliff is None and consistency.is_same_throughout(iops, last.mean_iops)
    share = last.mean_iops / consistency.fastest_iops(iops)
    begins = "throughout" if same else "at_the_end"
    if share < consistency.SAME_SHARE_MIN:
        ends.append(say("feels.fell", share=share))
    if last.mean_iops < SLUGGISH_IOPS:
        return feels("stuck", iops=last.mean_iops)
    worst = last.worst_second_iops / last.mean_iops
    variation = last.coefficient_of_variation or 0.0
    if variation > UNEVEN_VARIATION and last.below_half_median_share < 0.01:
        return feels("restless", variation=variation)
    least = float(iops.min()) / last.mean_iops
    if same and least >= consistency.SAME_SHARE_MIN:
        return feels("the_same", seconds=len(iops), least=least)
    if worst >= consistency.SAME_SHARE_MIN:
        return feels("even_at_the_end", worst=worst)
    if last.below_half_median_share < 0.01:
        return feels("even_but_for_dips", worst=worst)
    return feels("uneven", one_in=round(1 / last.below_half_median_share), worst=worst)

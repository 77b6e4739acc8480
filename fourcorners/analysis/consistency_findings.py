"""Finding ``consistency_write`` from the consistency test."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fourcorners import wording
from fourcorners.analysis import consistency
from fourcorners.analysis.consistency import Floats, Steady
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.intervals import batch_means_interval
from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import Measured, RunData, capacity_bytes, measured
from fourcorners.analysis.steadiness import known_of
from fourcorners.sentences import say

TEST = "consistency"

SECONDS_MIN = 10
"""Full seconds below which nothing is said about a series."""

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
        too_short = (
            f"The run has {wording.count(len(iops), 'full second')}; nothing about consistency "
            f"can be said from fewer than {SECONDS_MIN}."
        )
        return Finding(
            name,
            title,
            "not identifiable",
            too_short,
            evidence=[write.recording],
            detail={"seconds": len(iops), "reason": too_short},
        )
    of_second = np.asarray(series.bytes, dtype=np.float64)[: len(iops)]
    written = np.cumsum(of_second)
    cliff = consistency.find_cliff(iops)
    last = consistency.steady(iops)
    judged = _judged(run, write, iops, of_second, last)
    detail = _detail(iops, written, capacity_bytes(run), cliff, last) | {
        "steady_reached": judged.settled,
        "level": judged.settled or (cliff is not None and not judged.moving),
        "reason": None if judged.settled else judged.reason,
        "latency_max_s": write.latency_max_s,
    }
    sentences = [
        Sentence("no_cliff" if cliff is None else "cliff", _cliff_sentence(cliff, detail)),
        Sentence("last_seconds", _last_sentence(last, len(iops), detail)),
    ]
    if detail["longest_stall_s"]:
        stalled = wording.count(detail["longest_stall_s"], "second")
        text = f"The longest stall lasted {stalled} without a single completion."
        sentences.append(Sentence("longest_stall", text))
    sentences.append(_feels_like(iops, last, cliff))
    detail["feels_like"] = asdict(sentences[-1])
    if not judged.settled:
        text = f"By the judge of steady state it is {judged.reason}."
        sentences.append(Sentence("not_steady", text))
    return Finding(
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


@dataclass(frozen=True)
class _Judged:
    """What the judge of steady state says of a series."""

    settled: bool
    moving: bool
    """It still falls or rises."""
    reason: str


def _judged(run: RunData, write: Measured, iops: Floats, written: Floats, last: Steady) -> _Judged:
    # Its change points need a library that takes a while to load.
    from fourcorners.analysis.steady_state import Series, State, judge

    capacity = capacity_bytes(run)
    if last.mean_iops < SLOW_IOPS:
        # What was written does not matter, only how the rate went on.
        span, spare, unwritten = 1.0, 0.0, 0.0
        written = np.zeros(len(iops))
    elif capacity is None:
        return _Judged(settled=False, moving=False, reason=say("judge.no_capacity").text)
    else:
        span, spare, unwritten = known_of(write.of.workload, write.of.conditions, capacity)
    verdict = judge(
        Series.of_seconds(iops, written), span, spare_bytes_max=spare, unwritten_bytes=unwritten
    )
    moving = verdict.state in (State.FALLING, State.RISING) and verdict.is_seen_to_move
    return _Judged(verdict.settled, moving, verdict.text)


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
    }


def _cliff_sentence(cliff: int | None, detail: dict[str, Any]) -> str:
    if cliff is None:
        return f"The rate shows no cliff within {wording.amount(detail['bytes_written'])} written."
    capacities = detail["capacities_until_cliff"]
    share = f", {wording.percent(capacities)} of the capacity" if capacities else ""
    return (
        f"The drive starts at {wording.number(detail['fresh_iops'])} writes a second and drops "
        f"after {wording.count(cliff, 'second')} and "
        f"{wording.amount(detail['bytes_until_cliff'])} written{share}."
    )


def _last_sentence(last: Steady, seconds: int, detail: dict[str, Any]) -> str:
    variation = detail["coefficient_of_variation"]
    spread = (
        ""
        if variation is None
        else f" with a coefficient of variation of {wording.number(variation)}"
    )
    return (
        f"Over the last {wording.count(seconds - last.first_second, 'second')} it completes "
        f"{wording.number(last.mean_iops)} a second{spread}; the worst second has "
        f"{wording.number(last.worst_second_iops)}, and "
        f"{wording.percent(last.below_half_median_share)} of the seconds lie below half the "
        "median."
    )


def _feels_like(iops: Floats, last: Steady, cliff: int | None) -> Sentence:
    """What a person at the machine would notice, by the worst second and its company.

    "All the time" is from the first second on. Where the rate was another one before, the sentence
    is about the end, and says how far that is from the fastest seconds.
    """
    if last.mean_iops == 0:
        return Sentence("feels_stopped", "At its end it feels like a drive that has stopped.")
    same = cliff is None and consistency.is_same_throughout(iops, last.mean_iops)
    share = last.mean_iops / consistency.fastest_iops(iops)
    begins = "It feels" if same else "At its end it feels"
    fell = share < consistency.SAME_SHARE_MIN
    ends = f" It is then {wording.percent(share)} as fast as at its fastest." if fell else ""
    if last.mean_iops < SLUGGISH_IOPS:
        text = (
            f"{begins} stuck: {wording.number(last.mean_iops)} small writes a second, fewer than "
            "a disk without a cache manages."
        )
        return Sentence("feels_stuck", text + ends)
    worst = last.worst_second_iops / last.mean_iops
    variation = last.coefficient_of_variation or 0.0
    if variation > UNEVEN_VARIATION and last.below_half_median_share < 0.01:
        text = (
            f"{begins} restless: its rate keeps changing, by "
            f"{wording.percent(variation)} of the mean as a rule."
        )
        return Sentence("feels_restless", text + ends)
    if same and float(iops.min()) >= consistency.SAME_SHARE_MIN * last.mean_iops:
        least = float(iops.min()) / last.mean_iops
        text = (
            f"It feels like the same drive all the time: the worst of all {len(iops):,} seconds "
            f"still delivers {wording.percent(least)} of the usual rate."
        )
        return Sentence("feels_the_same", text)
    if worst >= consistency.SAME_SHARE_MIN:
        text = f"At its end it feels even: the worst second delivers {wording.percent(worst)}"
        return Sentence("feels_even_at_the_end", f"{text} of the mean.{ends}")
    if last.below_half_median_share < 0.01:
        text = (
            f"{begins} even but for rare dips, the worst of which leaves "
            f"{wording.percent(worst)} of the mean."
        )
        return Sentence("feels_even_but_for_dips", text + ends)
    text = (
        f"{begins} uneven: about one second in {round(1 / last.below_half_median_share)} "
        f"delivers less than half the usual rate, the worst {wording.percent(worst)} of the mean."
    )
    return Sentence("feels_uneven", text + ends)

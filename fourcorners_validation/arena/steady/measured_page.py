"""docs/steady-state-measured.md: the judge on drives that somebody else measured."""

from collections.abc import Sequence

from fourcorners_validation.arena.steady.document import percent
from fourcorners_validation.arena.steady.measured import (
    CUTS,
    NEAR,
    JudgedSeries,
    MeasuredScore,
    score_measured,
)
from fourcorners_validation.arena.steady.truth import STEADY_WITHIN
from fourcorners_validation.arena.tables import markdown_table

NAME = "steady-state-measured.md"

_TEXT = """# Steady state of real drives

*This document is written by `fourcorners arena series FOLDER --write docs`; FOLDER has the series
of SSD-iq (PVLDB 18(11), 2025), which are not part of this project.*

Nobody here made these drives, ran these tests or looked at the series while the
[judge of steady state](steady-state.md) was written. Each series is cut after every tenth of its
bytes, as if the test had been stopped there, and the judge says of each cut whether the drive is in
its steady state, and at which rate. What it calls steady is held against the rate over the last
fifth of the whole series. It is told the drive's capacity, how much of it was filled before, and
how the writes are spread (`Spread`; of a workload `cold` that part of the places is never written).

{summary}

No number was fitted to these series, and what is said of uniform writes is a prediction. The form
of one rule was chosen with them in view: with how much slower mixing a skewed workload narrows the
margin of the drift. By uniform writes' margin, 2 of 357 cuts were falsely steady (`cold` 60 and
90 %), and 5 more off by 4 to 7 % (`cold-0.4`, `zipf-0.8`).

{rows}

*written*: capacities of the drive; *steady from*: the first cut that is called steady; *error*: its
rate over that of the last fifth, less 1; *largest*: the same of the worst cut; *cliff*: capacities
written before the rate falls below midway between the first and the last, *found*: where the test
`consistency` puts it. Skewed writes (zipf 0.8 and more, 80 % cold and more) fall slowly, and such a
place says little of them.
"""


def render_measured(judged: Sequence[JudgedSeries]) -> str:
    """The document of some series."""
    return _TEXT.format(
        summary="\n".join(f"- {line}" for line in measured_lines(judged)),
        rows=markdown_table(HEADER, measured_rows(judged)),
    )


HEADER = (
    "drive",
    "workload",
    "written",
    "called steady",
    "steady from",
    "error",
    "largest",
    "cliff",
    "found",
)


def measured_rows(judged: Sequence[JudgedSeries]) -> list[tuple[str, ...]]:
    """The series of random writes, in words."""
    return [_row(one) for one in judged if not one.measured.is_fill]


def measured_lines(judged: Sequence[JudgedSeries]) -> list[str]:
    """The scores, a sentence each."""
    fills = [one for one in judged if one.measured.is_fill]
    other = [one for one in judged if not one.measured.is_fill]
    score = score_measured(other)
    lines = [
        f"{score.series} series of random writes, {score.cuts} cuts: {score.settled} are called "
        f"steady in {_stopped(other)} of the series.",
        *_steady_lines(score),
        f"{score.cliffs} series have a cliff: {score.cliffs_found} are found, {score.cliffs_near} "
        f"of them within an interval of the series or {percent(NEAR)} of the bytes; "
        f"{score.cliffs_false} are found where there is none.",
    ]
    if fills:
        wrong = sum(cut.settled for one in fills for cut in one.cuts)
        lines.append(
            f"{len(fills)} series are fills of an empty drive, {CUTS * len(fills)} cuts: {wrong} "
            "are called steady, as there is free space until the end."
        )
    return lines


def _steady_lines(score: MeasuredScore) -> list[str]:
    if not score.settled:
        return []
    return [
        f"Their rate is off by {percent(score.error_median)} in the median and "
        f"{percent(score.error_95)} at the 95th percentile; {percent(score.falsely_steady)} are "
        f"off by more than {percent(STEADY_WITHIN)} and falsely steady; "
        f"{percent(score.covered)} of the intervals hold it.",
    ]


def _stopped(judged: Sequence[JudgedSeries]) -> int:
    return sum(any(cut.settled for cut in one.cuts) for one in judged)


def _row(one: JudgedSeries) -> tuple[str, ...]:
    settled = [cut for cut in one.cuts if cut.settled]
    return (
        one.measured.device,
        one.measured.workload,
        f"{one.measured.capacities:.1f}",
        f"{len(settled)} of {len(one.cuts)}",
        f"{settled[0].share * one.measured.capacities:.1f}" if settled else "",
        percent(settled[0].error, sign=True) if settled else "",
        percent(max((cut.error for cut in settled), key=abs), sign=True) if settled else "",
        "" if one.cliff is None else f"{one.cliff:.2f}",
        "" if one.found is None else f"{one.found:.2f}",
    )

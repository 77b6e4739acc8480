"""Whether the flash of two subjects is the same, by the times that ``explain`` found.

A drive may be sold under one name with several kinds of NAND. Times of a page read, of programs and
of an erasure belong to the NAND, while rates also depend on how many dies there are. Each time has
an interval; two subjects have different flash if one of their times differs by more than the
intervals allow, with a chance of :data:`FALSE_ALARM` for all times together (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fourcorners import wording
from fourcorners.analysis.estimate import Estimate
from fourcorners.analysis.intervals import two_sided_t
from fourcorners.comparison.difference import change_words
from fourcorners.comparison.significance import DIFFERENCE_MIN
from fourcorners.comparison.subject import ComparedRuns
from fourcorners.finding import Finding

FALSE_ALARM = 0.01
"""The chance that flash which is the same is said to be different, of a pair of subjects."""

TIMES = (
    "page_read_time",
    "program_time",
    "program_time_lower",
    "program_time_upper",
    "program_time_extra",
    "erase_time",
)
"""The findings that are compared."""

_MANY = 1e6
"""Degrees of freedom of an error that is known: Student's t is then the normal distribution."""

SameFlash = Literal["different", "alike", "not shown"]


@dataclass(frozen=True)
class FlashTime:
    """A time of the flash of a subject and of the baseline, in seconds."""

    name: str
    title: str
    value: float
    baseline: float
    ratio: Estimate
    differs: bool
    """Whether more than chance makes the difference."""

    @property
    def words(self) -> str:
        """Program of a page: 1.5 ms against 900 us (+60 to +72 %)."""
        values = [wording.quantity(value, "s") for value in (self.value, self.baseline)]
        return f"{self.title}: {values[0]} against {values[1]} ({self.change})"

    @property
    def change(self) -> str:
        """The interval of the ratio."""
        return change_words(*self.ratio.interval())


@dataclass(frozen=True)
class FlashComparison:
    """The flash of a subject against the baseline's."""

    subject: str
    times: tuple[FlashTime, ...]

    @property
    def verdict(self) -> SameFlash:
        """``alike`` means that no time shows a difference, which is no proof that there is none."""
        if not self.times:
            return "not shown"
        return "different" if any(time.differs for time in self.times) else "alike"

    @property
    def words(self) -> str:
        """The verdict with its reasons, as one sentence."""
        if not self.times:
            return (
                "whether the flash is the same does not show: explain knows no time of it of both"
            )
        if self.verdict == "different":
            told = "; ".join(time.words for time in self.times if time.differs)
            return f"the flash is another one. {told}"
        told = "; ".join(f"{time.title} {time.change}" for time in self.times)
        return f"no difference of the flash is shown. {told}"


def same_flash(subjects: Sequence[ComparedRuns]) -> tuple[FlashComparison, ...]:
    """Compares the flash of every later subject with that of the first; empty if no run was
    asked for its flash (``explain``)."""
    found = {subject.label: _found(subject) for subject in subjects}
    if not any(found.values()):
        return ()
    base = found[subjects[0].label]
    return tuple(
        FlashComparison(subject.label, _times(found[subject.label], base))
        for subject in subjects[1:]
    )


def _found(subject: ComparedRuns) -> dict[str, list[Finding]]:
    findings: dict[str, list[Finding]] = {}
    for run in subject.runs:
        for finding in getattr(run, "findings", ()):
            if finding.name in TIMES:
                findings.setdefault(finding.name, []).append(finding)
    return findings


def _times(own: dict[str, list[Finding]], base: dict[str, list[Finding]]) -> tuple[FlashTime, ...]:
    pairs = [
        (name, mine, theirs)
        for name in TIMES
        if (mine := of_lot(own.get(name, ()))) and (theirs := of_lot(base.get(name, ())))
    ]
    return tuple(
        FlashTime(
            name=name,
            title=own[name][0].title,
            value=mine.value,
            baseline=theirs.value,
            ratio=(ratio := mine.minus(theirs)),
            differs=ratio.chance_of_zero() < FALSE_ALARM / len(pairs)
            and abs(math.expm1(ratio.log)) >= DIFFERENCE_MIN,
        )
        for name, mine, theirs in pairs
    )


def of_lot(findings: Iterable[Finding]) -> Estimate | None:
    """One estimate of a time of the drives of a lot; ``None`` if it is known of none of them.

    Most of an interval is what a method leaves open, which is the same for drives of one design:
    it does not become less with more of them. The drives' own spread does.
    """
    known = [one for one in findings if one.value and one.interval and one.interval[0] > 0]
    if not known:
        return None
    logs = np.array([math.log(one.value or 1.0) for one in known])
    within = max(map(_error, known))
    count = len(known)
    if count == 1:
        return Estimate(float(logs[0]), within, _MANY)
    between = float(logs.std(ddof=1)) / math.sqrt(count)
    error = math.hypot(within, between)
    freedom = (count - 1) * (error / between) ** 4 if between > 0 else _MANY
    return Estimate(float(logs.mean()), error, freedom)


def _error(finding: Finding) -> float:
    """The standard error of the logarithm that has the finding's interval. Bounds count as an
    interval: two that hold the truth always are then never told apart."""
    assert finding.value
    assert finding.interval
    low, high = (math.log(bound / finding.value) for bound in finding.interval)
    return max(-low, high) / two_sided_t(math.inf)

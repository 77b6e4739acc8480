"""Sentences with what they rest on: a number, its interval, a yardstick and recordings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fourcorners.analysis.estimate import Estimate, of_point
from fourcorners.analysis.quantity import Quantity
from fourcorners.analysis.source import Measured
from fourcorners.sentences import Said, say, together


@dataclass(frozen=True)
class Sentence:
    """One sentence. ``name`` says what it claims, in a word that stays when the wording changes: by
    it the check of sentences finds the rule (:mod:`fourcorners_validation.arena.sentences`)."""

    name: str
    said: Said

    @property
    def text(self) -> str:
        """Its words."""
        return self.said.text


def sentences_detail(sentences: Sequence[Sentence]) -> dict[str, Any]:
    """What a finding's ``detail`` holds of the sentences that its text is made of."""
    return {"sentences": [{"name": one.name, "text": one.text} for one in sentences]}


def joined(sentences: Sequence[Sentence]) -> Said:
    """What a finding says that is made of them."""
    return together([sentence.said for sentence in sentences])


@dataclass(frozen=True)
class Remark(Sentence):
    """One sentence with what it rests on. ``value`` and ``interval`` (90 %; ``None`` where the
    recordings cannot tell) carry ``unit``, as in a finding; ``yardstick`` is the code of what the
    value is compared with."""

    yardstick: str
    value: float | None
    unit: str
    interval: tuple[float, float] | None
    evidence: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As a finding's ``detail`` holds it, with the tests that the evidence is of."""
        tests = dict.fromkeys(recording.partition("/")[0] for recording in self.evidence)
        return {
            "name": self.name,
            "text": self.text,
            "yardstick": say(self.yardstick).text,
            "value": self.value,
            "unit": self.unit,
            "interval": self.interval,
            "tests": list(tests),
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True)
class Ratio:
    """One of the drive's numbers over another."""

    value: float
    interval: tuple[float, float] | None
    evidence: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether 1 is outside of the interval; so taken where there is none."""
        return self.interval is None or not self.interval[0] <= 1 <= self.interval[1]

    @property
    def spread(self) -> tuple[float, tuple[float, float] | None]:
        """Value and interval, as a sentence takes them."""
        return self.value, self.interval

    def remark(self, name: str, said: Said, yardstick: str, unit: str) -> Remark:
        """A sentence about it."""
        return Remark(name, said, yardstick, self.value, unit, self.interval, self.evidence)


def ratio_of(
    above: Measured, below: Measured, quantity: Quantity, over: Quantity | None = None
) -> Ratio | None:
    """Of two recordings, taken as independent of each other."""
    over = over or quantity
    top, bottom = quantity.of(above), over.of(below)
    if top is None or bottom is None:
        return None
    evidence = tuple(dict.fromkeys((above.recording, below.recording)))
    one, other = of_point(above, quantity), of_point(below, over)
    if one is None or other is None:
        return Ratio(top / bottom, None, evidence)
    return of_estimate(one.minus(other), evidence)


def of_estimate(estimate: Estimate, evidence: tuple[str, ...]) -> Ratio:
    """An estimate of a ratio, with its recordings."""
    return Ratio(estimate.value, estimate.interval(), evidence)

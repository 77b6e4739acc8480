"""One difference between a subject and the baseline, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fourcorners import wording
from fourcorners.analysis.estimate import Estimate
from fourcorners.analysis.quantity import Quantity
from fourcorners.finding import Finding

# From here on a change is told as a multiple of the baseline.
_TIMES_MIN = 3.0
# Below this, percent without a fraction would say that nothing is left: -100 %.
_PART_MAX = 0.01


@dataclass(frozen=True)
class Difference:
    """One quantity of one recording: a subject against the baseline."""

    subject: str
    recording: str
    operation: str
    label: str
    quantity: Quantity
    value: float
    baseline: float
    ratio: Estimate | None
    """Value over baseline; ``None`` where neither has an error that could be told."""
    told: bool = False
    """Whether the runs show it: sure enough, and large enough to matter."""

    @property
    def is_better(self) -> bool:
        """Whether the subject does better than the baseline."""
        return (self.value > self.baseline) == self.quantity.more_is_better

    @property
    def finding(self) -> Finding:
        """The same as a finding: the value over the baseline, where the runs show a difference."""
        title = f"{wording.at_start(self.quantity.words)} of {self.subject}"
        what = f"{title} in {self.label}"
        shown = "" if self.told else ", which the runs do not show to be different"
        return Finding(
            name=f"difference_{self.quantity.name}",
            title=title,
            verdict="measured" if self.told else "not identifiable",
            text=f"{what}, against the baseline: {change(self)}{shown}.",
            value=self.value / self.baseline,
            unit="1",
            interval=None if self.ratio is None else self.ratio.interval(),
            evidence=(self.recording,),
            detail={
                "subject": self.subject,
                "operation": self.operation,
                "value": self.value,
                "baseline": self.baseline,
                "unit": self.quantity.unit,
                "verdict": self.verdict,
            },
        )

    @property
    def verdict(self) -> Literal["better", "worse", "not shown"]:
        """Of the subject, where the runs show it."""
        if not self.told:
            return "not shown"
        return "better" if self.is_better else "worse"


def change(difference: Difference) -> str:
    """A difference as a share of the baseline: ``+12 to +15 %``, ``4.81 to 5.02 times``, or
    ``1/620 to 1/480``."""
    if difference.ratio is None:
        ratio = difference.value / difference.baseline
        return f"{change_words(ratio, ratio)}, no interval"
    return change_words(*difference.ratio.interval())


def change_words(low: float, high: float) -> str:
    """Changes in percent with signs, or multiples or parts where a percentage would be hard to
    read."""
    if 0 < low < _PART_MAX:
        texts, unit = [_part(low), _part(high)], " times" if high >= 1 else ""
    elif high >= _TIMES_MIN:
        texts, unit = [wording.number(low), wording.number(high)], " times"
    else:
        texts, unit = [_percent(low), _percent(high)], " %"
    return f"{texts[0] if texts[0] == texts[1] else ' to '.join(texts)}{unit}"


def _part(ratio: float) -> str:
    """A ratio as a part of the baseline, or as a multiple of it."""
    return f"1/{wording.number(1 / ratio)}" if ratio < 1 else wording.number(ratio)


def _percent(ratio: float) -> str:
    return wording.change(ratio - 1).removesuffix(" %")

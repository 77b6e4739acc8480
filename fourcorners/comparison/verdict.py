"""What a comparison says, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners import wording
from fourcorners.analysis.quantity import P99_LATENCY, THROUGHPUT, Quantity
from fourcorners.comparison.comparison import Comparison, Difference
from fourcorners.comparison.ranking import Group

NOTHING_SHOWN = "No difference that these runs can show."

# From here on a change is told as a multiple of the baseline.
_TIMES_MIN = 3.0

# In a closed loop the mean latency repeats the throughput. Better, worse:
_HEADINGS = {
    THROUGHPUT: ("Faster in", "Slower in"),
    P99_LATENCY: ("Lower p99 latency in", "Higher p99 latency in"),
}


@dataclass(frozen=True)
class ComparisonVerdict:
    """One subject against the baseline: what is better or worse, and by how much."""

    subject: str
    baseline: str
    statements: tuple[tuple[str, tuple[str, ...]], ...]
    """Heading and phrases; empty where no difference is shown."""

    @property
    def title(self) -> str:
        """B against A."""
        return f"{self.subject} against {self.baseline}"

    @property
    def text(self) -> str:
        """Everything as one paragraph."""
        if not self.statements:
            return f"{self.title}: {NOTHING_SHOWN[0].lower()}{NOTHING_SHOWN[1:]}"
        parts = [f"{heading.lower()} {'; '.join(phrases)}" for heading, phrases in self.statements]
        return f"{self.title}: {'. '.join(parts)}."


def verdicts(comparison: Comparison) -> list[ComparisonVerdict]:
    """A verdict for each subject but the first."""
    return [
        ComparisonVerdict(
            subject.label,
            comparison.baseline.label,
            tuple(
                (heading, tuple(phrases))
                for quantity, headings in _HEADINGS.items()
                for heading, is_better in zip(headings, (True, False), strict=True)
                if (phrases := _phrases(comparison, subject.label, quantity, is_better))
            ),
        )
        for subject in comparison.subjects[1:]
    ]


def change(difference: Difference) -> str:
    """A difference as a share of the baseline: ``+12 to +15 %``, or ``4.81 to 5.02 times``."""
    if difference.ratio is None:
        ratio = difference.value / difference.baseline
        return f"{_range(ratio, ratio)}, no interval"
    return _range(*difference.ratio.interval())


def _phrases(
    comparison: Comparison, subject: str, quantity: Quantity, is_better: bool
) -> list[str]:
    phrases = []
    for group in comparison.groups:
        differences = comparison.of(group, subject, quantity)
        chosen = [d for d in differences if d.told and d.is_better == is_better]
        if chosen:
            phrases.append(f"{_where(group, chosen, differences)}: {extent(chosen)}")
    return phrases


def _where(group: Group, chosen: Sequence[Difference], all_of_it: Sequence[Difference]) -> str:
    if len(all_of_it) == 1:
        return group.words
    return f"{group.words}, {len(chosen)} of {len(all_of_it)} points"


def extent(chosen: Sequence[Difference]) -> str:
    """The interval of a single difference, the least and the largest change of several."""
    if len(chosen) == 1:
        return change(chosen[0])
    ratios = [difference.value / difference.baseline for difference in chosen]
    return _range(min(ratios), max(ratios))


def _range(low: float, high: float) -> str:
    """Changes in percent with signs, or multiples where a percentage would be hard to read."""
    write, unit = (wording.number, "times") if high >= _TIMES_MIN else (_percent, "%")
    texts = [write(low), write(high)]
    return f"{texts[0] if texts[0] == texts[1] else ' to '.join(texts)} {unit}"


def _percent(ratio: float) -> str:
    """A change in percent with its sign; two digits below ten."""
    value = 100 * (ratio - 1)
    text = f"{value:+.0f}" if abs(value) >= 9.95 else f"{value:+.1f}"
    return "0" if text in ("+0.0", "-0.0") else text.replace("-", "\N{MINUS SIGN}")

"""What a comparison says, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorners.analysis.quantity import MEAN_LATENCY, P99_LATENCY, THROUGHPUT, Quantity
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.difference import Difference, change, change_words
from fourcorners.comparison.ranking import Group

NOTHING_SHOWN = "No difference that these runs can show."

# Better, worse:
_HEADINGS = {
    THROUGHPUT: ("Faster in", "Slower in"),
    MEAN_LATENCY: ("Lower mean latency in", "Higher mean latency in"),
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


def _phrases(
    comparison: Comparison, subject: str, quantity: Quantity, is_better: bool
) -> list[str]:
    phrases = []
    for group in comparison.groups:
        differences = comparison.of(group, subject, quantity)
        chosen = [d for d in differences if d.told and d.is_better == is_better]
        if quantity is MEAN_LATENCY:
            # In a closed loop it repeats the throughput, which is shown then. Where I/Os come at
            # times of their own it is what differs, and flushes have no throughput.
            rates = comparison.of(group, subject, THROUGHPUT)
            said = {(d.recording, d.operation) for d in rates if d.told}
            chosen = [d for d in chosen if (d.recording, d.operation) not in said]
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
    return change_words(min(ratios), max(ratios))

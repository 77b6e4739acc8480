"""Who is how fast in a test: places by throughput, shared by those that cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fourcorners.analysis.estimate import Estimate, averaged
from fourcorners.analysis.quantity import THROUGHPUT
from fourcorners.analysis.source import Measured
from fourcorners.comparison.significance import DIFFERENCE_MIN, surely_differ, values
from fourcorners.comparison.subject import Key

Found = Mapping[str, Mapping[Key, list[Measured]]]
"""What the runs of each subject measured, by its label."""


@dataclass(frozen=True)
class Group:
    """Recordings of one test that belong together: an operation and a pattern."""

    test: str
    title: str
    operation: str
    pattern: str
    keys: tuple[Key, ...]

    @property
    def words(self) -> str:
        """Random reads (four corners)."""
        pattern = f"{self.pattern} " if self.pattern else ""
        plurals = {"flush": "flushes", "write-zeroes": "write-zeroes"}
        noun = plurals.get(self.operation, f"{self.operation}s")
        return f"{pattern}{noun} ({self.title[:1].lower()}{self.title[1:]})"


@dataclass(frozen=True)
class Rank:
    """A subject's place in a group by throughput; equal places cannot be told apart."""

    place: int
    subject: str
    relative: float
    """Geometric mean of its throughput over the first baseline's."""


def rank(groups: Sequence[Group], found: Found) -> dict[Group, tuple[Rank, ...]]:
    """The places in each group; none where a subject has no error that could be told.

    All pairs of all groups are judged together, so that few of the places are chance.
    """
    means = {group: _means(group, found) for group in groups}
    pairs = {
        (group, better, worse): of_group[better].minus(of_group[worse])
        for group, of_group in means.items()
        for better, worse in combinations(_order(of_group), 2)
    }
    sure = dict(zip(pairs, surely_differ(list(pairs.values())), strict=True))
    apart = {
        pair for pair, ratio in pairs.items() if sure[pair] and ratio.value >= 1 + DIFFERENCE_MIN
    }
    return {
        group: _places(
            _order(of_group),
            {(better, worse) for own, better, worse in apart if own is group},
            of_group,
        )
        for group, of_group in means.items()
    }


def _means(group: Group, found: Found) -> dict[str, Estimate]:
    """Throughput over the group's points, by subject; empty where one has no error."""
    means = {}
    for label, measured in found.items():
        estimates = [values(measured[key], THROUGHPUT) for key in group.keys]
        known = [pair[1] for pair in estimates if pair is not None and pair[1] is not None]
        if len(known) < len(group.keys):
            return {}
        means[label] = averaged(known)
    return means


def _order(means: Mapping[str, Estimate]) -> list[str]:
    """The fastest first; of equal ones, the one that was named first."""
    return sorted(means, key=lambda label: -means[label].log)


def _places(
    order: Sequence[str], apart: set[tuple[str, str]], means: Mapping[str, Estimate]
) -> tuple[Rank, ...]:
    """Whoever cannot be told from the leader of a place shares it."""
    ranks: list[Rank] = []
    leader, place = None, 0
    for index, label in enumerate(order, start=1):
        if leader is None or (leader, label) in apart:
            leader, place = label, index
        base = next(iter(means.values()))
        ranks.append(Rank(place, label, means[label].minus(base).value))
    named = list(means)
    return tuple(sorted(ranks, key=lambda rank: (rank.place, named.index(rank.subject))))

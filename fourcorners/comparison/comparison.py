"""Differences between subjects, recording by recording, and their ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fourcorners.analysis.quantity import COMPARED, Quantity
from fourcorners.analysis.source import Measured, RunData
from fourcorners.analysis.spec_sheet import left_out
from fourcorners.comparison.check import Check
from fourcorners.comparison.claimed import Claimed, claimed
from fourcorners.comparison.difference import Difference
from fourcorners.comparison.flash import FlashComparison, same_flash
from fourcorners.comparison.pace import paces
from fourcorners.comparison.ranking import Group, Rank, rank
from fourcorners.comparison.setting import Setting, differing
from fourcorners.comparison.significance import DIFFERENCE_MIN, surely_differ, values
from fourcorners.comparison.subject import ComparedRuns, Key, parse_subject, unique_labels
from fourcorners.errors import UserError
from fourcorners.finding import Finding
from fourcorners.reporting.chart_data import PLURALS
from fourcorners.wording import sentence_list

ONE_RUN = "There is only one run of "
"""How the caution begins about subjects that were not repeated."""


UNLIKE = (
    "rates and latencies at different paces say something of the pace and nothing of what else "
    "differs; replay it at the same pace on each"
)
"""Why replays at different paces are not compared."""


@dataclass(frozen=True)
class Comparison:
    """Everything that the runs show about each other. The first subject is the baseline."""

    subjects: tuple[ComparedRuns, ...]
    groups: tuple[Group, ...]
    differences: tuple[Difference, ...]
    ranking: Mapping[Group, tuple[Rank, ...]]
    left_out: tuple[str, ...]
    """Recordings that not all subjects have, or that hold different workloads."""
    cautions: tuple[str, ...]
    settings: tuple[Setting, ...]
    """What differs between the runs besides what they measured."""
    claims: tuple[Claimed, ...]
    """What is claimed of each subject's drive, and how much of it its runs reach."""
    flash: tuple[FlashComparison, ...]
    """Whether the subjects have the baseline's flash, where ``explain`` was asked for it."""
    measured: Mapping[str, Mapping[Key, list[Measured]]] = field(repr=False)
    checks: tuple[Check, ...] = ()
    """How the conditions ended that it was held against."""

    @property
    def baseline(self) -> ComparedRuns:
        """The subject that the others are compared with."""
        return self.subjects[0]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The differences, as findings."""
        return tuple(difference.finding for difference in self.differences)

    def of(self, group: Group, subject: str, quantity: Quantity) -> list[Difference]:
        """Differences of one group in one quantity."""
        return [
            difference
            for difference in self.differences
            if difference.subject == subject
            and difference.quantity is quantity
            and (difference.recording, difference.operation) in group.keys
        ]


def compared(sides: Sequence[ComparedRuns | str]) -> Comparison:
    """Compares every later side with the first, in every recording that all have; see
    :func:`fourcorners.comparison.comparing.compare`."""
    if len(sides) < 2:
        raise UserError("one run has nothing to be compared with: name two or more")
    subjects = unique_labels([parse_subject(s) if isinstance(s, str) else s for s in sides])
    found = {subject.label: subject.measured() for subject in subjects}
    first = found[subjects[0].label]
    shared, left_out, unlike = [], [], []
    for key in dict.fromkeys(key for of_subject in found.values() for key in of_subject):
        points = [point for one in found.values() for point in one.get(key, [])]
        if not all(key in of_subject for of_subject in found.values()) or not _alike(points):
            left_out.append(" ".join(key))
        elif len(different := paces(points)) > 1:
            left_out.append(f"{' '.join(key)}, replayed {' and '.join(different)}")
            unlike.append(f"{points[0].of.label} was replayed {' and '.join(different)}")
        else:
            shared.append(key)
    other_paces = [f"{one}: {UNLIKE}" for one in dict.fromkeys(unlike)]
    if not shared:
        raise UserError("; ".join(other_paces) or _nothing_shared(subjects, found))
    groups = _groups(shared, first, subjects[0].runs)
    differences = [
        difference
        for subject in subjects[1:]
        for key in shared
        for quantity in COMPARED
        if (
            difference := _difference(
                subject.label, found[subject.label][key], first[key], quantity
            )
        )
    ]
    return Comparison(
        subjects=tuple(subjects),
        groups=groups,
        differences=_tell(differences),
        ranking=rank(groups, found),
        left_out=tuple(sorted(left_out)),
        cautions=(*_cautions(subjects), *(f"{one}." for one in other_paces)),
        settings=differing(subjects),
        claims=claimed(subjects),
        flash=same_flash(subjects),
        measured=found,
    )


def _nothing_shared(
    subjects: Sequence[ComparedRuns], found: Mapping[str, Mapping[Key, list[Measured]]]
) -> str:
    """Why there is nothing to compare; of several subjects, which of them have nothing."""
    first = subjects[0].label
    apart = [one.label for one in subjects[1:] if not found[one.label].keys() & found[first].keys()]
    who = sentence_list([first, *apart]) if apart else "these runs"
    return f"{who} have no recording in common: run the same tests on each"


def _label(point: Measured) -> str:
    """What was measured, with the operation where there are several."""
    several = len(point.of.operations) > 1
    return f"{point.of.label}: {PLURALS[point.operation]}" if several else point.of.label


def _difference(
    subject: str,
    own: Sequence[Measured],
    base: Sequence[Measured],
    quantity: Quantity,
) -> Difference | None:
    mine, theirs = values(own, quantity), values(base, quantity)
    if mine is None or theirs is None:
        return None
    point = base[0]
    both = mine[1] is not None and theirs[1] is not None
    return Difference(
        subject=subject,
        recording=point.recording,
        operation=point.operation,
        label=_label(point),
        quantity=quantity,
        value=mine[0],
        baseline=theirs[0],
        ratio=mine[1].minus(theirs[1]) if both and mine[1] and theirs[1] else None,
    )


def _tell(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Marks the differences that the runs show, with few false ones among them."""
    sure = surely_differ([difference.ratio for difference in differences])
    return tuple(
        replace(
            difference,
            told=known and abs(difference.value / difference.baseline - 1) >= DIFFERENCE_MIN,
        )
        for difference, known in zip(differences, sure, strict=True)
    )


def _groups(
    keys: Sequence[Key], found: Mapping[Key, list[Measured]], runs: Sequence[RunData]
) -> tuple[Group, ...]:
    titles = {
        test.name: test.title or test.name for run in reversed(runs) for test in run.manifest.tests
    }
    members: dict[tuple[str, str, str, str], list[Key]] = {}
    for key in keys:
        point = found[key][0]
        pattern = str(point.point.get("pattern") or "")
        title = titles.get(point.test, point.test)
        members.setdefault((point.test, title, key[1], pattern), []).append(key)
    return tuple(Group(*name, tuple(own)) for name, own in members.items())


def _alike(points: Sequence[Measured]) -> bool:
    """Whether recordings of one name have the same point: the same request, queue and content."""
    return all(point.point == points[0].point for point in points)


def _cautions(subjects: Sequence[ComparedRuns]) -> list[str]:
    """What stands between the runs and the conclusion that the subject made the difference."""
    cautions = []
    alone = [subject.label for subject in subjects if len(subject.runs) == 1]
    if alone:
        cautions.append(
            f"{ONE_RUN}{sentence_list(alone)}: the intervals do not include how much the target "
            "differs from run to run."
        )
    for what in ("suite", "profile"):
        seen = {getattr(run.manifest, what) for subject in subjects for run in subject.runs}
        if len(seen) > 1:
            cautions.append(f"The runs differ in their {what}: {', '.join(sorted(seen))}.")
    if any(run.manifest.suite == "served" for subject in subjects for run in subject.runs):
        cautions.append(
            "Programs chose what the served drives did: unless the same ones ran in the same way, "
            "they may have made the difference."
        )
    for subject in subjects:
        said = dict.fromkeys(left_out(run.manifest) for run in subject.runs)
        cautions += [f"{subject.label}: {sentence}" for sentence in said if sentence]
    misled = [
        f"{subject.label}: {finding.title}"
        for subject in subjects
        for run in subject.runs
        for finding in getattr(run, "findings", [])
        if finding.name.startswith("artefact_") and finding.detail.get("severity") == "severe"
    ]
    if misled:
        cautions.append(f"May mislead: {'; '.join(dict.fromkeys(misled))}.")
    return cautions

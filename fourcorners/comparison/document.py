"""What ``fourcorners compare --json`` prints, as classes."""

from __future__ import annotations

from typing import Literal

import msgspec

from fourcorners.comparison.check import Check, Outcome
from fourcorners.comparison.claimed import Claimed
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.difference import Difference
from fourcorners.comparison.flash import FlashComparison, SameFlash
from fourcorners.comparison.verdict import verdicts

Pair = tuple[float, float]


class SubjectRow(msgspec.Struct):
    """A side of the comparison, and the ids of its runs."""

    label: str
    runs: list[str]


class SubjectValues(msgspec.Struct):
    """What a setting is of a subject."""

    subject: str
    values: tuple[str, ...]


class SettingRow(msgspec.Struct):
    """What differs between the runs besides what they measured."""

    name: str
    values: list[SubjectValues]


class ClaimedRow(msgspec.Struct):
    """How much of a claim the runs of a subject reach."""

    subject: str
    quantity: str
    claimed: float
    source: str
    shares: tuple[float, ...]
    share_intervals: list[Pair | None]
    outcome: str


class FlashTimeRow(msgspec.Struct):
    """A time of the flash, in seconds, against the baseline's."""

    name: str
    value: float
    baseline: float
    interval: Pair
    differs: bool


class FlashRow(msgspec.Struct):
    """Whether a subject has the baseline's flash."""

    subject: str
    verdict: SameFlash
    text: str
    times: list[FlashTimeRow]


class PlaceRow(msgspec.Struct):
    """The place of a subject; ``relative`` is its throughput over the first subject's."""

    place: int
    subject: str
    relative: float


class RankingRow(msgspec.Struct):
    """The places in one group of recordings."""

    test: str
    operation: str
    pattern: str | None
    places: list[PlaceRow]


class DifferenceRow(msgspec.Struct):
    """One quantity of one recording, against the baseline."""

    subject: str
    recording: str
    operation: str
    label: str
    quantity: str
    unit: str
    value: float
    baseline: float
    ratio: float
    interval: Pair | None
    verdict: Literal["better", "worse", "not shown"]


class GateRow(msgspec.Struct):
    """A gate tried on one recording of one subject."""

    gate: str
    subject: str
    recording: str
    operation: str
    quantity: str
    unit: str
    value: float
    limit: float
    interval: Pair
    outcome: Outcome


class ComparisonDocument(msgspec.Struct, tag_field="schema", tag="fourcorners/compare"):
    """A comparison: the first subject is the baseline."""

    schema_version: Literal[1]
    baseline: str
    subjects: list[SubjectRow]
    verdicts: list[str]
    cautions: tuple[str, ...]
    settings: list[SettingRow]
    claims: list[ClaimedRow]
    flash: list[FlashRow]
    ranking: list[RankingRow]
    differences: list[DifferenceRow]
    left_out: tuple[str, ...]
    gates: list[GateRow]


def document(comparison: Comparison) -> ComparisonDocument:
    """The comparison as it is printed."""
    return ComparisonDocument(
        schema_version=1,
        baseline=comparison.baseline.label,
        subjects=[
            SubjectRow(one.label, [run.manifest.id for run in one.runs])
            for one in comparison.subjects
        ],
        verdicts=[verdict.text for verdict in verdicts(comparison)],
        cautions=comparison.cautions,
        settings=[
            SettingRow(one.name, [SubjectValues(*pair) for pair in one.values.items()])
            for one in comparison.settings
        ],
        claims=[_claimed(one) for one in comparison.claims],
        flash=[_flash(one) for one in comparison.flash],
        ranking=[
            RankingRow(
                group.test,
                group.operation,
                group.pattern or None,
                [PlaceRow(rank.place, rank.subject, rank.relative) for rank in ranks],
            )
            for group, ranks in comparison.ranking.items()
        ],
        differences=[_difference(one) for one in comparison.differences],
        left_out=comparison.left_out,
        gates=[_check(one) for one in comparison.checks],
    )


def _claimed(one: Claimed) -> ClaimedRow:
    return ClaimedRow(
        subject=one.subject,
        quantity=one.claim.quantity,
        claimed=one.claim.value,
        source=one.claim.source,
        shares=one.shares,
        share_intervals=[row.share_interval for row in one.rows if row.share is not None],
        outcome=one.outcome,
    )


def _flash(one: FlashComparison) -> FlashRow:
    times = [
        FlashTimeRow(time.name, time.value, time.baseline, time.ratio.interval(), time.differs)
        for time in one.times
    ]
    return FlashRow(one.subject, one.verdict, one.words, times)


def _difference(one: Difference) -> DifferenceRow:
    return DifferenceRow(
        subject=one.subject,
        recording=one.recording,
        operation=one.operation,
        label=one.label,
        quantity=one.quantity.name,
        unit=one.quantity.unit,
        value=one.value,
        baseline=one.baseline,
        ratio=one.value / one.baseline,
        interval=None if one.ratio is None else one.ratio.interval(),
        verdict=one.verdict,
    )


def _check(one: Check) -> GateRow:
    return GateRow(
        gate=one.gate.text,
        subject=one.subject,
        recording=one.recording,
        operation=one.gate.operation,
        quantity=one.gate.quantity.name,
        unit=one.gate.quantity.unit,
        value=one.value,
        limit=one.limit,
        interval=one.interval,
        outcome=one.outcome,
    )

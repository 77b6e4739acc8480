"""The honest spec sheet: what a vendor would print of the drive, as the run measured it.

Finding ``spec_sheet`` has a row for each figure that the run's recordings carry, with its interval
and conditions: rates at their best, as vendors state them, and what remains of them with data
that cannot be compressed, in the steady state, in the worst second. :func:`lay_beside` holds a
vendor's claims against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from fourcorners import wording
from fourcorners.analysis.consistency import full_seconds
from fourcorners.analysis.estimate import of_few
from fourcorners.analysis.highest import highest
from fourcorners.analysis.quantity import (
    IOPS,
    MEAN_LATENCY,
    P99_LATENCY,
    QUANTILES,
    THROUGHPUT,
    Quantity,
)
from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.analysis.traits import (
    SMALL_BYTES,
    alone,
    busiest,
    is_of_first_writes,
    large,
    of_the_whole,
    outlasting_standstills,
    small_random,
)
from fourcorners.catalog.claims import Claim, claims_of
from fourcorners.finding import Finding, worded
from fourcorners.manifest import Manifest
from fourcorners.patterns import INCOMPRESSIBLE
from fourcorners.sentences import Said, say

REACHED = 0.98
"""Share of a claim from which it counts as reached: vendors round to two digits."""

TAIL_IOS_MIN = 5000
"""I/Os, for each that is outstanding, of which five queues full are the slowest thousandth: what
waits together is slow together, and of fewer a percentile of 99.9 is one wait. Where it has an
interval that counts instead."""

FLUSHES_MIN = 500
"""Flushes of which five are the slowest hundredth; see :data:`TAIL_IOS_MIN`."""

UNSTEADY_RATIO = 2.0
"""Fastest over slowest second, from which a rate without an interval comes with both: readers take
a bare figure for good within a factor of two, as the arena of sentences does."""

TELLING_MAX = 10.0
"""Bounds this many times a figure, or more, tell nothing of it: one second of reads, the fastest of
a hundred places, would lie between kilobytes and gigabytes a second."""

TITLES = {
    "sequential_read": "Large reads",
    "sequential_write": "Large writes",
    "sequential_write_incompressible": "incompressible data",
    "random_read": "Random 4 KiB reads",
    "random_write": "Random 4 KiB writes",
    "random_write_steady": "in the steady state",
    "random_write_last": "at the end of the run",
    "worst_second": "worst second",
    "below_half_median": "below half the median",
    "variation": "variation",
    "longest_stall": "whole seconds without I/O",
    "read_access": "One random 4 KiB read",
    "read_p999": "99.9 % of busy reads",
    "write_access": "One random 4 KiB write",
    "partial_sector": "more for a partly covered sector",
    "write_p999": "99.9 % of busy writes",
    "flush": "One flush after a 4 KiB write",
    "flush_p99": "99 % of them",
}
"""A title in lower case belongs to the figure above it."""

_OF_SECTORS = ("partial_sector_penalty", "physical_sector_bytes")

_P999 = next(one for one in QUANTILES if one.percentile == 99.9)


@dataclass(frozen=True)
class Row:
    """One measured figure; ``value`` and ``interval`` carry ``unit``. ``interval`` is ``None``
    where the recordings cannot tell; ``seconds`` are then the least and the greatest rate of a
    second, where it is these that differ so much."""

    quantity: str
    title: str
    value: float
    unit: str
    interval: tuple[float, float] | None
    conditions: str
    evidence: tuple[str, ...]
    seconds: tuple[float, float] | None = None


Outcome = Literal["reached", "not reached", "not measured", ""]


@dataclass(frozen=True)
class Beside:
    """A row of the sheet and the claim about it; one of the two may be missing.

    ``share`` is how much of the claim is reached: measured over claimed of rates, claimed over
    measured of times; of a claimed range its lower end counts.
    """

    quantity: str
    title: str
    row: Mapping[str, Any] | None
    claim: Claim | None
    share: float | None
    share_interval: tuple[float, float] | None
    outcome: Outcome

    @property
    def ratio_words(self) -> str:
        """Measured over claimed, with its interval where it has one that shows: "76.3 %" of a
        rate, "1.32 times" of a time; empty without both."""
        return ratio_words([self])

    @property
    def words(self) -> str:
        """What stands after the figure: "claimed below 350 µs: 1.32 times, not reached"."""
        return claim_words([self], self.outcome)


def ratio_words(rows: Sequence[Beside]) -> str:
    """Measured over claimed of one or several runs; see :attr:`Beside.ratio_words`."""
    shares = [bound for row in rows for bound in row.share_interval or ()]
    shares += [row.share for row in rows if row.share is not None]
    if not shares:
        return ""
    of_time = any(row.row is not None and row.row["unit"] == "s" for row in rows)
    unit = "times" if of_time else "fraction"
    ratios = [1 / share if of_time else share for share in shares]
    spread = wording.interval((min(ratios), max(ratios)), unit)
    if len(rows) > 1:
        return spread
    value = wording.quantity(ratios[-1], unit)
    low, high = (wording.quantity(bound, unit) for bound in (min(ratios), max(ratios)))
    return value if low == high else f"{value} ({spread})"


def claim_words(rows: Sequence[Beside], outcome: str) -> str:
    """What one or several runs have of one claim; see :attr:`Beside.words`."""
    claim = rows[0].claim
    if claim is None:
        return ""
    ratio = ratio_words(rows)
    code = "spec_sheet.claimed_ratio" if ratio else "spec_sheet.claimed"
    return say(code, claim=claim.words, ratio=ratio, outcome=outcome).text


def find(run: RunData, findings: Iterable[Finding]) -> list[Finding]:
    """The sheet of a run; none where nothing that a sheet has was measured."""
    by_name = {finding.name: finding for finding in findings}
    rotation = by_name.get("rotation_rpm")
    turns = rotation is not None and bool(rotation.value)
    rows = [
        *_rates(run, turns),
        *_consistency(by_name.get("consistency_write")),
        *_waits(run, turns),
        *_partial_sector(by_name),
        *_flushes(run),
    ]
    if not rows:
        return []
    order = list(TITLES)
    rows.sort(key=lambda row: order.index(row.quantity))
    return [
        worded(
            "spec_sheet",
            "Spec sheet",
            "measured",
            say("spec_sheet.rows", rows=[_said(row) for row in rows]),
            evidence=tuple(dict.fromkeys(id for row in rows for id in row.evidence)),
            detail={"rows": [asdict(row) for row in rows]},
        )
    ]


def rows_of(findings: Iterable[Finding]) -> list[Mapping[str, Any]]:
    """The rows in the findings of a run."""
    return [
        row
        for finding in findings
        if finding.name == "spec_sheet"
        for row in finding.detail.get("rows", ())
    ]


def lay_beside(rows: Sequence[Mapping[str, Any]], claims: Sequence[Claim]) -> list[Beside]:
    """Measured rows and claims side by side, in the order of the sheet; a claim that nothing was
    measured of stands alone."""
    by_quantity: dict[str, list[Claim]] = {}
    for claim in claims:
        by_quantity.setdefault(claim.quantity, []).append(claim)
    measured_rows = {str(row["quantity"]): row for row in rows}
    table = []
    for quantity, title in TITLES.items():
        row = measured_rows.get(quantity)
        own: Sequence[Claim | None] = by_quantity.get(quantity) or ([] if row is None else [None])
        table += [_beside(quantity, title, row, claim) for claim in own]
    return table


def claims_about(manifest: Manifest) -> list[Claim]:
    """What is claimed of a run's drive: by the catalog, of one of its drives as its file has it,
    and what the run keeps (``claims`` of ``manifest.json``)."""
    return [*([] if manifest.target.settings else _of_catalog(manifest)), *manifest.claims]


def left_out(manifest: Manifest) -> str:
    """Says that the catalog's claims are not about a run's drive, as settings changed it; empty
    where there are no such claims, or no settings."""
    settings = manifest.target.settings
    if not settings or not _of_catalog(manifest):
        return ""
    changed = ", ".join(f"{name}={value}" for name, value in settings.items())
    return f"The vendor's claims are left out: they are not about a drive with {changed}."


def _of_catalog(manifest: Manifest) -> list[Claim]:
    return claims_of(manifest.target.locator.removeprefix("sim:"))


def claims_beside(manifest: Manifest, findings: Iterable[Finding]) -> list[Beside]:
    """The claims about a run's drive, each with what the run measured."""
    rows = lay_beside(rows_of(findings), claims_about(manifest))
    return [row for row in rows if row.claim is not None]


def _beside(
    quantity: str, title: str, row: Mapping[str, Any] | None, claim: Claim | None
) -> Beside:
    if claim is None:
        return Beside(quantity, title, row, None, None, None, "")
    if row is None:
        return Beside(quantity, title, None, claim, None, None, "not measured")

    def of_claim(value: float) -> float:
        return claim.value / value if row["unit"] == "s" else value / claim.value

    share = of_claim(row["value"])
    bounds = row.get("interval")
    interval = None
    if bounds is not None and min(bounds) > 0:
        low, high = sorted(of_claim(bound) for bound in bounds)
        interval = (low, high)
    best = share if interval is None else interval[1]
    return Beside(
        quantity=quantity,
        title=title,
        row=row,
        claim=claim,
        share=share,
        share_interval=interval,
        outcome="reached" if best >= REACHED else "not reached",
    )


def _said(row: Row) -> Said:
    value = (row.value, row.interval)
    return say("spec_sheet.row", title=row.title, value=value, unit=row.unit)


def _row(
    run: RunData,
    quantity: str,
    one: Measured,
    column: Quantity,
    unit: str,
    conditions: str = "",
    *,
    highest_of: Sequence[Measured] = (),
) -> Row | None:
    value = column.of(one)
    if value is None:
        return None
    alike = [other for other in highest_of if other.test == one.test]
    estimate = None if is_of_first_writes(one) else of_few(one, alike, column)
    bounds = None if estimate is None else estimate.interval(max(1, len(highest_of)))
    return Row(
        quantity=quantity,
        title=TITLES[quantity],
        value=value,
        unit=unit,
        interval=_telling(bounds, value),
        conditions=conditions or _conditions(one),
        evidence=(one.recording,),
    )


def _telling(interval: tuple[float, float] | None, value: float) -> tuple[float, float] | None:
    """The interval, unless it is so wide that the recordings cannot tell."""
    if interval is None or interval[1] >= TELLING_MAX * value:
        return None
    return interval


def _with_seconds(row: Row, one: Measured) -> Row:
    """A row of IOPS without an interval, with what its seconds say of it: a mean over a few that
    differ, as while a write buffer fills and empties, need not come again."""
    rates = full_seconds(np.asarray(one.second_ios, np.float64), one.elapsed_s)
    if len(rates) < 2 or rates.max() <= UNSTEADY_RATIO * rates.min():
        return row
    seconds = (float(rates.min()), float(rates.max()))
    unsteady = say("spec_sheet.unsteady", slowest=seconds[0], fastest=seconds[1])
    return replace(row, seconds=seconds, conditions=f"{row.conditions}; {unsteady.text}")


def _conditions(one: Measured) -> str:
    parts = []
    if one.block_bytes is not None and one.block_bytes != SMALL_BYTES:
        parts.append(say("spec_sheet.block", bytes=one.block_bytes))
    if one.queue_depth is not None:
        parts.append(say("spec_sheet.depth", depth=one.queue_depth))
    content = one.point.get("content")
    if content and one.operation == "write":
        parts.append(say("spec_sheet.content", content=content))
    return say("spec_sheet.conditions", parts=parts).text


def _rates(run: RunData, turns: bool) -> list[Row]:
    """The highest rates of any test, as a vendor's "up to" has them."""
    rows: list[Row | None] = []
    for operation in ("read", "write"):
        whole = of_the_whole(run, operation, turns)
        big = large(run, whole)
        # `_waits` has the requests that were alone.
        small = [
            one
            for one in outlasting_standstills(run, small_random(whole))
            if (one.queue_depth or 0) > 1
        ]
        hard = [one for one in big if one.point.get("content") == INCOMPRESSIBLE]
        if big:
            best = max(big, key=lambda one: one.bytes_per_second)
            key = f"sequential_{operation}"
            rows.append(_row(run, key, best, THROUGHPUT, "B/s", highest_of=big))
            if operation == "write" and hard and best not in hard:
                honest = max(hard, key=lambda one: one.bytes_per_second)
                key = "sequential_write_incompressible"
                rows.append(_row(run, key, honest, THROUGHPUT, "B/s", highest_of=hard))
        if small:
            found = highest(small)
            row = _row(run, f"random_{operation}", found.point, IOPS, "IOPS")
            if row is not None:
                told = None if is_of_first_writes(found.point) else found.interval
                row = replace(row, interval=_telling(told, row.value))
                rows.append(row if row.interval else _with_seconds(row, found.point))
    return [row for row in rows if row is not None]


def _waits(run: RunData, turns: bool) -> list[Row]:
    """How long one random request takes alone, and all but one in a thousand of many at once."""
    rows: list[Row | None] = []
    for operation in ("read", "write"):
        small = small_random(of_the_whole(run, operation, turns))
        lone = alone(run, small)
        if lone is not None:
            rows.append(_row(run, f"{operation}_access", lone, MEAN_LATENCY, "s"))
        deepest = busiest(run, operation) or max(
            small, key=lambda one: (one.queue_depth or 0, one.ios), default=None
        )
        if deepest is not None:
            row = _row(run, f"{operation}_p999", deepest, _P999, "s")
            enough = deepest.ios >= TAIL_IOS_MIN * (deepest.queue_depth or 1)
            rows.append(row if enough or (row is not None and row.interval) else None)
    return [row for row in rows if row is not None]


def _partial_sector(by_name: Mapping[str, Finding]) -> list[Row]:
    """What a disk adds to a write that is not aligned to its physical sectors."""
    cost, sector = (by_name.get(name) for name in _OF_SECTORS)
    if cost is None or cost.value is None or sector is None or sector.value is None:
        return []
    return [
        Row(
            quantity="partial_sector",
            title=TITLES["partial_sector"],
            value=cost.value,
            unit="s",
            interval=cost.interval,
            conditions=say("spec_sheet.sectors", bytes=sector.value).text,
            evidence=tuple(cost.evidence),
        )
    ]


def _flushes(run: RunData) -> list[Row]:
    """How long a flush takes after one small write, as a commit of a database waits for it."""
    flushed = [
        one
        for one in measured(run, operation="flush")
        if one.point.get("flush_every_writes") == 1
        and one.block_bytes == SMALL_BYTES
        and one.queue_depth == 1
        and not one.of.interrupted
    ]
    if not flushed:
        return []
    one = flushed[0]
    rows = [
        _row(run, key, one, column, "s", conditions=say("spec_sheet.flush").text)
        for key, column in (("flush", MEAN_LATENCY), ("flush_p99", P99_LATENCY))
        if column is MEAN_LATENCY or one.ios >= FLUSHES_MIN
    ]
    return [row for row in rows if row is not None]


def _consistency(finding: Finding | None) -> list[Row]:
    """The end of the consistency test in numbers a person can use."""
    if finding is None or not finding.detail.get("steady_iops"):
        return []
    seen, evidence = finding.detail, tuple(finding.evidence)
    window = seen["seconds"] - seen["steady_from_s"]
    steady = finding.value is not None
    level = "random_write_steady" if steady else "random_write_last"
    of_level = say("spec_sheet.steady" if steady else "spec_sheet.not_steady", window=window,
                   reason=seen["reason"])  # fmt: skip
    figures: list[tuple[str, float | None, str, Said]] = [
        (level, seen["steady_iops"], "IOPS", of_level),
        (
            "worst_second",
            seen["worst_second_iops"],
            "IOPS",
            say("spec_sheet.of_the_last", window=window),
        ),
        *(
            (quantity, seen[key], unit, say(f"spec_sheet.{quantity}"))
            for quantity, key, unit in (
                ("below_half_median", "below_half_median_share", "fraction"),
                ("variation", "coefficient_of_variation", "fraction"),
                ("longest_stall", "longest_stall_s", "s"),
            )
        ),
    ]
    return [
        Row(
            quantity=key,
            title=TITLES[key],
            value=float(value),
            unit=unit,
            interval=finding.interval if key == level else None,
            conditions=conditions.text,
            evidence=evidence,
        )
        for key, value, unit, conditions in figures
        if value is not None
    ]

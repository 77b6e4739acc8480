"""Rules for sentences that tell figures: the spec sheet, what a small request costs, what a deep
queue gains, and how long the slowest requests take.

A figure is that of its recording. If the drive is known, it is compared with the same suite under
another seed, where a value that came from chance or from one lucky point does not come again.
"""

from __future__ import annotations

from fourcorners.analysis.source import Measured, measured
from fourcorners.recording.columns import PERCENTILES
from fourcorners_validation.arena.sentences.drive import KnownDrive
from fourcorners_validation.arena.sentences.page import Page, PageSentence
from fourcorners_validation.arena.sentences.ruling import (
    TRUE,
    UNTOLD,
    Rule,
    Ruling,
    all_of,
    close,
    require,
)

AGAIN_WITHIN = 0.15
"""Distance of a rate or a mean time from that of another seed, where its interval is narrower: less
than a reader would choose by."""

TAIL_WITHIN = 1.0
"""The same for the slowest thousandth of the I/Os: twice as long, or half."""

BARE_WITHIN = 1.0
"""The same of a figure that has no interval, and so does not say how well it would be met again: it
must at least not be another order, twice as much or half."""

# The small random I/O of the reviews.
_SMALL_BYTES = 4096


def _again(claim: PageSentence, drive: KnownDrive | None, column: str, within: float) -> Ruling:
    """The figure agrees with the repetition of the suite, or the repetition is in its interval, or
    between the slowest and the fastest second that the figure comes with."""
    if drive is None or not claim.evidence:
        return UNTOLD
    row = next((m for (id, _), m in drive.repeated.items() if id == claim.evidence[0]), None)
    true = None if row is None else _figure(row, column)
    if true is None:
        return UNTOLD
    value = claim.numbers["value"]
    interval = claim.numbers.get("interval") or claim.numbers.get("seconds")
    low, high = interval or (value, value)
    wide = 1 + (within if interval else max(within, BARE_WITHIN))
    return require(
        low / wide <= true <= high * wide,
        f"with another seed it is {true:.4g}, and {claim.numbers['value']:.4g} is said",
    )


def _figure(one: Measured, column: str) -> float | None:
    """The recording's value in a column of the totals."""
    percent = PERCENTILES.get(column)
    value: float | None = (
        getattr(one, column) if percent is None else one.latency_percentile_s(percent)
    )
    return value


def _sheet(column: str, within: float = AGAIN_WITHIN) -> Rule:
    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        operation = next(
            (o for o in ("read", "write", "flush") if o in claim.name.removeprefix("sheet_")), None
        )
        row = page.row(claim.evidence[0], operation)
        own = None if row is None else _figure(row, column)
        if own is None:
            return Ruling(False, "its recording has no such figure")
        return all_of(
            close(claim.numbers["value"], own, 0.01, "the recording's figure"),
            _again(claim, drive, column, within),
        )

    return rule


def _cost(operation: str) -> Rule:
    """A sentence whose number is the cost of a small request."""

    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        row = page.row(claim.evidence[0], operation)
        if row is None:
            return Ruling(False, "its recording is not there")
        own = row.latency_mean_s if row.queue_depth == 1 else 1 / row.iops
        column = "latency_mean_s" if row.queue_depth == 1 else "iops"
        return all_of(
            close(claim.numbers["value"], own or 0.0, 0.01, "the recording's figure"),
            _again(claim, drive, column, AGAIN_WITHIN) if column != "iops" else UNTOLD,
        )

    return rule


def _needs_large(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """That only large reads are fast: false where many small ones at once come to an eighth of the
    rate of large ones, which no small number of large pieces is worth."""
    points = measured(page.run, operation="read")
    small = [one for one in points if one.block_bytes == _SMALL_BYTES]
    most = max((one.bytes_per_second for one in points), default=0.0)
    best = max((row.bytes_per_second for row in small), default=0.0)
    if drive is not None:
        best = max(best, _SMALL_BYTES * drive.reads(_SMALL_BYTES, 32))
    return all_of(
        require(best < most / 8, f"4 KiB reads reach {best / most:.0%} of the highest rate"),
        _cost("read")(claim, page, drive),
    )


def _cheap(operation: str) -> Rule:
    """Half the rate of large requests at 256 KiB at most, one at a time."""

    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        rulings = [_cost(operation)(claim, page, drive)]
        if operation == "read" and drive is not None:
            half, whole = drive.reads(2**18, 1) * 2**18, drive.reads(2**26, 1, 8.0) * 2**26
            rulings.append(
                require(half > 0.4 * whole, f"256 KiB reach {half / whole:.0%} of large reads")
            )
        if operation == "write":
            fell = page.named("sustained_writes_fall") is not None
            rulings.append(require(not fell, "the same page says that they fall"))
        return all_of(*rulings)

    return rule


def _small_writes(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    rulings = [_cost("write")(claim, page, None)]
    if drive is not None:
        rulings.append(
            require(
                drive.rewrites_blocks,
                f"a {drive.kind} rewrites nothing large for a small write",
            )
        )
    return all_of(*rulings)


def _written_before(page: Page, last: Measured) -> float:
    """Bytes that the other recordings of a sweep wrote."""
    sweep = measured(page.run, operation="write")
    return sum(
        float(one.bytes)
        for one in sweep
        if one.test == last.test and one.recording != last.recording
    )


def _queueing(operation: str, gains: bool) -> Rule:
    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        deep, shallow = (page.row(id, operation) for id in claim.evidence[:2])
        if deep is None or shallow is None:
            return Ruling(False, "its recordings are not there")
        rulings = [close(claim.numbers["value"], deep.iops / shallow.iops, 0.02, "their ratio")]
        if drive is not None:
            depths = (deep.queue_depth or 1, shallow.queue_depth or 1)
            if operation == "read":
                rates = [drive.reads_when_rested(_SMALL_BYTES, depth) for depth in depths]
            else:
                span, seconds = 8 * 10**9, shallow.elapsed_s
                span = min(span, drive.capacity_bytes)
                # "Nothing is gained" is a statement about the volume that the sweep had written.
                wrote = 0.0 if gains else _written_before(page, deep)
                rates = [drive.writes_when_fresh(depth, span, seconds, wrote) for depth in depths]
            true = rates[0] / rates[1]
            rulings.append(
                require(
                    true > 1.25 if gains else true < 1.25,
                    f"from the same state the deep queue is {true:.3g} times as fast",
                )
            )
        return all_of(*rulings)

    return rule


def _tails(long: bool, operation: str) -> Rule:
    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        row = page.row(claim.evidence[0], operation)
        rows = [row]
        if drive is not None:
            rows.append(drive.repeated.get((claim.evidence[0], operation)))
        for one in rows:
            slow = None if one is None else one.latency_percentile_s(99.9)
            median = None if one is None else one.latency_percentile_s(50)
            if slow and median and not (slow > 5 * median if long else slow < 4 * median):
                return Ruling(False, f"it takes {slow / median:.3g} times the median")
        return TRUE

    return rule


FIGURE_RULES: dict[str, Rule] = {
    "small_writes_cost": _small_writes,
    "avoid_small_writes": _small_writes,
    "avoid_small_reads": _needs_large,
    "dear_reads": _needs_large,
    "dear_writes": _cost("write"),
    "cheap_reads": _cheap("read"),
    "cheap_writes": _cheap("write"),
    **{
        f"{name}_{operation}": rule
        for operation in ("read", "write")
        for name, rule in (
            ("queueing_gains", _queueing(operation, gains=True)),
            ("queueing_gains_nothing", _queueing(operation, gains=False)),
            ("long_waits", _tails(True, operation)),
            ("no_long_waits", _tails(False, operation)),
        )
    },
    "sheet_sequential_read": _sheet("bytes_per_second"),
    "sheet_sequential_write": _sheet("bytes_per_second"),
    "sheet_sequential_write_incompressible": _sheet("bytes_per_second"),
    "sheet_random_read": _sheet("iops"),
    "sheet_random_write": _sheet("iops"),
    "sheet_read_access": _sheet("latency_mean_s"),
    "sheet_write_access": _sheet("latency_mean_s"),
    "sheet_flush": _sheet("latency_mean_s"),
    "sheet_flush_p99": _sheet("latency_p99_s", TAIL_WITHIN),
    "sheet_read_p999": _sheet("latency_p999_s", TAIL_WITHIN),
    "sheet_write_p999": _sheet("latency_p999_s", TAIL_WITHIN),
}

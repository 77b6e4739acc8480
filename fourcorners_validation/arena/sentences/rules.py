"""A rule for every sentence: from the recordings that it rests on, and the drive where it is known.

If the drive is known, a rate or a time is compared with the same suite under another seed, where a
value that came from chance or from one lucky point does not come again. A conclusion is compared
with the drive's file, or with a separate measurement (:mod:`.drive`).
"""

from __future__ import annotations

from fourcorners import wording
from fourcorners.analysis import artefacts
from fourcorners.analysis.source import Measured, every_operation, measured
from fourcorners.recording.columns import PERCENTILES
from fourcorners_validation.arena.sentences.course_rules import COURSE_RULES, EXACT, drop
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

_REWRITTEN_MIN_S = 3e-3
"""A little below what the analysis takes for the rewriting of a block."""

_MERGED_AFTER_S = 10.0
"""Seconds after which the logs of a drive that merges them are full."""

_FRESH_S, _AFTER_PAUSE_S, _BACK_SHARE = 10, 4.0, 0.5
"""Seconds of the fresh rate and after a pause, and the share of what was lost that is its return:
as the test of recovery has them."""


def _again(claim: PageSentence, drive: KnownDrive | None, column: str, within: float) -> Ruling:
    """The figure agrees with the repetition of the suite, or the repetition is in its interval."""
    if drive is None or not claim.evidence:
        return UNTOLD
    row = next((m for (id, _), m in drive.repeated.items() if id == claim.evidence[0]), None)
    true = None if row is None else _figure(row, column)
    if true is None:
        return UNTOLD
    value, interval = claim.numbers["value"], claim.numbers.get("interval")
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


def _rewrites_for_each(page: Page) -> Ruling:
    """A small write that rewrites milliseconds' worth does so however many wait: no recording of
    many at once may have served them faster, one after the other."""
    for row in measured(page.run, operation="write"):
        if row.point.get("pattern") != "random" or row.is_apart:
            continue
        if row.block_bytes == _SMALL_BYTES and (row.queue_depth or 0) > 1:
            each_s = (row.queue_depth or 1) / row.iops
            if each_s < _REWRITTEN_MIN_S and row.elapsed_s > _MERGED_AFTER_S:
                return Ruling(False, f"{row.recording} has {row.iops:.4g} a second")
    return TRUE


def _kind(kind: str) -> Rule:
    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        rulings = [drop(claim, page, drive)] if kind == "page-mapped" else []
        if "rewrites a large block for each small write" in claim.text:
            rulings.append(_rewrites_for_each(page))
        if drive is not None:
            of = drive.kind
            is_so = {
                "unknown": True,
                "memory": False,
                "disk": drive.is_disk,
                "block-mapped": drive.rewrites_blocks,
                "page-mapped": drive.maps_pages,
                "solid-state": not drive.is_disk,
            }[kind]
            rulings.append(require(is_so, f"it is a {of}"))
        return all_of(*rulings)

    return rule


def _fastest(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    sheet = page.findings.get("spec_sheet")
    if sheet is None:
        return UNTOLD
    rows = {row["quantity"]: row["value"] for row in sheet.detail["rows"]}
    for operation in ("read", "write"):
        told = [
            wording.rate(rows[key])
            for key in (f"sequential_{operation}", f"sequential_{operation}_incompressible")
            if key in rows
        ]
        if f"{operation}s up to" in claim.text and not any(
            f"{operation}s up to {rate}" in claim.text for rate in told
        ):
            return Ruling(False, f"the sheet has {told}")
    return TRUE


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


def _content(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    if drive is None:
        return UNTOLD
    return require(drive.content_matters, "the drive neither compresses nor deduplicates")


def _straddling(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    if drive is None:
        return UNTOLD
    return require(not drive.is_disk or claim.numbers["value"] < 1, "they are as fast")


def _end_is_slow(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    if drive is None:
        return UNTOLD
    return require(drive.is_disk, "flash is as fast at its end as at its start")


def _pauses(help: bool) -> Rule:
    """Checks the page's own findings on pauses, and the effect of a pause on the drive."""

    def rule(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
        probed, tried = page.value("idle_recovery"), page.findings.get("recovery_time")
        if tried is not None:
            own = tried.value is not None
        elif probed is not None:
            own = bool(probed)
        else:
            return Ruling(False, "nothing measured what a pause gives")
        rulings = [require(own == help, "the page's finding says otherwise")]
        if drive is not None and tried is not None:
            idle = tried.value if help else max(tried.detail["idle_s"])
            rates = drive.around_pause(float(idle or 0.0), _AFTER_PAUSE_S)
            fresh = float(page.iops("recovery/hammer")[:_FRESH_S].mean())
            if rates is not None and rates[0] < fresh:
                share = (rates[1] - rates[0]) / (fresh - rates[0])
                so = share > _BACK_SHARE / 2 if help else share < _BACK_SHARE
                rulings.append(require(so, f"it gives back {share:.0%} of what was lost"))
        return all_of(*rulings)

    return rule


def _recovery(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    if claim.name == "recovery_gain":
        after, before = (page.iops(id) for id in reversed(claim.evidence[:2]))
        return close(
            claim.numbers["value"], float(after.mean() / before[-60:].mean()), 0.03, "the ratio"
        )
    return UNTOLD


def _unwritten(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    return all_of(
        require(drive is None, "a simulated drive has no file system"),
        require(
            not any(id.startswith("probe-trim/") for id in claim.evidence),
            "the probe erased what it reads, to see who answers",
        ),
    )


def _preconditioning(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    share = claim.numbers["evidence"]["drive_writes"]
    return require(0 <= share < 1, "a whole drive had been written")


def _write_cache(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    seen = claim.numbers["evidence"]
    if "slow_bytes_per_second" not in seen:
        return UNTOLD
    iops = page.iops(claim.numbers["worst"])
    rate = seen["fast_bytes_per_second"]
    until = max(1, min(len(iops) - 1, round(seen["bytes_until_fall"] / rate)))
    before, after = iops[:until].mean(), iops[until:].mean()
    return require(before > 1.2 * after, f"{before:.4g} before it and {after:.4g} after it")


def _of_a_host(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """Effects of a machine or a volume, which a simulated drive never has."""
    return UNTOLD if drive is None else Ruling(False, "nothing of the kind is simulated")


def _link_limit(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """Nothing on the page is faster, and of a known drive the link leaves as much for data."""
    ceiling = claim.numbers["evidence"]["ceiling"]
    fastest = max(one.bytes_per_second for one in every_operation(page.run.recordings))
    own = None if drive is None else drive.truths["link_ceiling"]
    return all_of(
        require(fastest <= (1 + EXACT) * ceiling, f"a recording has {wording.rate(fastest)}"),
        UNTOLD if own is None else close(ceiling, own, EXACT, "what its link leaves for data"),
    )


def _rate_cap(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    """A simulated drive has no volume, but its host takes its time for every request."""
    seen = claim.numbers["evidence"]
    if drive is None or seen.get("unit") != "IOPS":
        return _of_a_host(claim, page, drive)
    most = 1 / drive.truths["host_overhead"]
    return close(seen["ceiling"], most, AGAIN_WITHIN, "what the host issues in a second")


def _unnamed(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    return Ruling(False, "a sentence without a name")


_HOST = [
    "compressing_storage",
    "copy_on_write",
    "cpu_contention",
    "foreign_load",
    "host_saturated",
    "kernel_workers",
    "page_cache",
    "power_saving",
    "repeated_blocks",
    "sqpoll_starvation",
    "thermal_throttling",
    "unstable_clock",
    "write_buffer",
    "zero_blocks",
]

RULES: dict[str, Rule] = {
    "unnamed": _unnamed,
    **COURSE_RULES,
    **{
        f"kind_{kind}": _kind(kind)
        for kind in ("unknown", "memory", "disk", "block-mapped", "page-mapped", "solid-state")
    },
    "fastest": _fastest,
    "small_writes_cost": _small_writes,
    "avoid_small_writes": _small_writes,
    "avoid_small_reads": _needs_large,
    "dear_reads": _needs_large,
    "dear_writes": _cost("write"),
    "cheap_reads": _cheap("read"),
    "cheap_writes": _cheap("write"),
    "content_matters": _content,
    "straddling_is_slow": _straddling,
    "avoid_straddling": _straddling,
    "end_is_slow": _end_is_slow,
    "avoid_the_end": _end_is_slow,
    "pauses_help": _pauses(help=True),
    "pauses_do_not_help": _pauses(help=False),
    "recovery_gain": _recovery,
    "recovery_time": _recovery,
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
    f"{artefacts.PREFIX}link_limit": _link_limit,
    f"{artefacts.PREFIX}rate_cap": _rate_cap,
    f"{artefacts.PREFIX}unwritten_blocks": _unwritten,
    f"{artefacts.PREFIX}preconditioning": _preconditioning,
    f"{artefacts.PREFIX}write_cache": _write_cache,
    **{f"{artefacts.PREFIX}{name}": _of_a_host for name in _HOST},
}

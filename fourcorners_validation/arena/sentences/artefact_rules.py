"""Rules for sentences about artefacts, which mislead whoever reads the figures."""

from __future__ import annotations

from fourcorners import wording
from fourcorners.analysis import artefacts
from fourcorners.analysis.source import every_operation
from fourcorners_validation.arena.sentences.course_rules import EXACT
from fourcorners_validation.arena.sentences.drive import KnownDrive
from fourcorners_validation.arena.sentences.figure_rules import AGAIN_WITHIN
from fourcorners_validation.arena.sentences.page import Page, PageSentence
from fourcorners_validation.arena.sentences.ruling import (
    UNTOLD,
    Rule,
    Ruling,
    all_of,
    close,
    require,
)


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

ARTEFACT_RULES: dict[str, Rule] = {
    f"{artefacts.PREFIX}link_limit": _link_limit,
    f"{artefacts.PREFIX}rate_cap": _rate_cap,
    f"{artefacts.PREFIX}unwritten_blocks": _unwritten,
    f"{artefacts.PREFIX}preconditioning": _preconditioning,
    f"{artefacts.PREFIX}write_cache": _write_cache,
    **{f"{artefacts.PREFIX}{name}": _of_a_host for name in _HOST},
}

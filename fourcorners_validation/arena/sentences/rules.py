"""The rule of every sentence, by its name, and the rules of sentences about the drive as a whole.

A rule says from the recordings that a sentence rests on whether it is true, and from the drive
where it is known: a conclusion is compared with the drive's file, or with a separate measurement
(:mod:`.drive`). Rules about figures, courses over time and artefacts have files of their own.
"""

from __future__ import annotations

from fourcorners import wording
from fourcorners.analysis.source import measured
from fourcorners_validation.arena.sentences.artefact_rules import ARTEFACT_RULES
from fourcorners_validation.arena.sentences.course_rules import COURSE_RULES, drop
from fourcorners_validation.arena.sentences.drive import KnownDrive
from fourcorners_validation.arena.sentences.figure_rules import FIGURE_RULES
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

# The small random I/O of the reviews.
_SMALL_BYTES = 4096

_REWRITTEN_MIN_S = 3e-3
"""A little below what the analysis takes for the rewriting of a block."""

_MERGED_AFTER_S = 10.0
"""Seconds after which the logs of a drive that merges them are full."""

_FRESH_S, _AFTER_PAUSE_S, _BACK_SHARE = 10, 4.0, 0.5
"""Seconds of the fresh rate and after a pause, and the share of what was lost that is its return:
as the test of recovery has them."""


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


def _unnamed(claim: PageSentence, page: Page, drive: KnownDrive | None) -> Ruling:
    return Ruling(False, "a sentence without a name")


RULES: dict[str, Rule] = {
    "unnamed": _unnamed,
    **COURSE_RULES,
    **FIGURE_RULES,
    **ARTEFACT_RULES,
    **{
        f"kind_{kind}": _kind(kind)
        for kind in ("unknown", "memory", "disk", "block-mapped", "page-mapped", "solid-state")
    },
    "fastest": _fastest,
    "content_matters": _content,
    "straddling_is_slow": _straddling,
    "avoid_straddling": _straddling,
    "end_is_slow": _end_is_slow,
    "avoid_the_end": _end_is_slow,
    "pauses_help": _pauses(help=True),
    "pauses_do_not_help": _pauses(help=False),
    "recovery_gain": _recovery,
    "recovery_time": _recovery,
}

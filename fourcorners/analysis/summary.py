"""Finding ``summary``: what kind of drive the data look like, in plain words and numbers.

Rules for the kind, the first that applies, from the cost of a small random read and write (the
latency of a lone one where it was measured, else time per I/O):

1. ``unknown``: no random reads.
2. ``memory``: a read costs less than 10 µs; flash needs 20 µs and more to read a page.
3. ``disk``: a read costs 3 ms or more; a turn of the fastest disks takes 4 ms, a flash page 0.1 ms.
   ``unknown`` where reads take the same time, which no turning disk allows.
4. ``block-mapped``: a write costs 5 ms or more, at every queue depth, and as much as 20 reads,
   from the first on or once the consistency test has met its cliff: time that only the rewriting of
   much more than was written explains.
5. ``unknown``: a read costs more than flash needs, so that a controller or a network takes most of
   it: a volume that runs out of credits has a cliff like that of the next rule.
6. ``page-mapped``: the consistency test met a cliff, which is spare area running out, and went on
   for twice as long as the drive ever stood still: a single stall shows neither. Only writes that
   are quicker than merges of log blocks show it.
7. ``solid-state``: none of these signs, or slower writes.

A rule says what the data look like, not what is inside: an array or a cache in front of a disk can
pass for something else. Strengths, weaknesses and advice: :mod:`fourcorners.analysis.advice`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from fourcorners.analysis.advice import REWRITE_MIN_S, advise
from fourcorners.analysis.internals.view import ARM_READ_S, FLASH_READ_MAX_S
from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import RunData, measured
from fourcorners.analysis.traits import Traits, gather
from fourcorners.finding import Finding, worded
from fourcorners.sentences import Said, say

# The first three: above. The others are choices: a gain of a third, and writes a fifth faster than
# reads, are more than chance makes of a mean.
MEMORY_READ_MAX_S = 10e-6
DISK_READ_MIN_S = 3e-3
REWRITE_READ_RATIO_MIN = 20
REORDERING_GAIN_MIN = 1.3
CACHED_WRITE_SHARE_MAX = 0.8

SHORTEST_TURN_S = 60 / 15_000
"""Of the fastest spindles."""
ONE_IN_A_HUNDRED = 2.33
"""The standard normal distribution has a hundredth beyond."""

MERGED_MIN_S = 0.45e-3
"""The least time of a small random write of which each has a log block merged: a merge copies a
block of at least 64 pages, each read in 25 us and programmed in 0.2 ms, and at most 32 planes do so
side by side. A drive that is slower may collect garbage or merge log blocks."""

_TESTS = ("four-corners", "queue-depth", "transfer-size", "consistency")


def find(run: RunData, findings: Iterable[Finding]) -> list[Finding]:
    """The summary of a run, from its other findings; none for a run without recordings of the
    reviews' suite, which alone show what kind of drive it is."""
    if not any(one.test in _TESTS for one in measured(run)):
        return []
    traits = gather(run, findings)
    kind, said = classify(traits)
    advice = advise(run, traits, kind)
    sentences = [Sentence(f"kind_{kind}", said), *_measured_sentences(traits)]
    return [
        worded(
            "summary",
            "What kind of drive this is",
            "not identifiable" if kind == "unknown" else "measured",
            joined(sentences),
            evidence=traits.evidence,
            detail={
                "kind": kind,
                **sentences_detail(sentences),
                "remarks": {
                    "strengths": [remark.to_dict() for remark in advice.strengths],
                    "weaknesses": [remark.to_dict() for remark in advice.weaknesses],
                    "avoid": [remark.to_dict() for remark in advice.avoid],
                },
            },
        )
    ]


def classify(traits: Traits) -> tuple[str, Said]:
    """The kind of drive and the sentence that says so, by the rules above."""
    read_s, write_s = traits.read.cost_s, traits.write.cost_s
    lasting_s = traits.lasting_write_s
    if read_s is None:
        return "unknown", say("kind.unknown")
    depth = traits.read.cost_depth
    read = say("kind.read_cost", seconds=read_s)
    if depth != 1:
        read = say("kind.read_cost_at", seconds=read_s, depth=depth)
    if read_s < MEMORY_READ_MAX_S:
        return "memory", say("kind.memory", read=read)
    if read_s >= DISK_READ_MIN_S and _is_too_even(traits):
        return "unknown", say("kind.even", read=read, spread=traits.read.spread_s)
    if read_s >= DISK_READ_MIN_S and (traits.read.median_s or math.inf) < ARM_READ_S:
        return "unknown", say("kind.quick_half", read=read, half_s=traits.read.median_s)
    if read_s >= DISK_READ_MIN_S:
        return "disk", say("kind.disk", read=read, **_disk_signs(traits))

    def rewrites(seconds: float | None) -> bool:
        return seconds is not None and seconds >= max(
            REWRITE_MIN_S, REWRITE_READ_RATIO_MIN * read_s
        )

    # Every write is rewritten so, however many wait: a lone one may have been held up.
    if (
        write_s is not None
        and rewrites(write_s)
        and (traits.write.quickest_s or write_s) >= REWRITE_MIN_S
    ):
        size = traits.rewritten_block_bytes
        block = [] if size is None else [say("kind.block_copied", size=size)]
        return "block-mapped", say(
            "kind.rewrites", read=read, write_s=write_s, reads=write_s / read_s, block=block
        )
    written = traits.consistency.get("bytes_until_cliff")
    if read_s > FLASH_READ_MAX_S:
        return "unknown", say("kind.far", read=read)
    if traits.cliff_shows_mapping and rewrites(lasting_s):
        return "block-mapped", say(
            "kind.rewrites_later", read=read, write_s=lasting_s, written=written
        )
    if traits.settled_iops and traits.cliff_shows_mapping:
        last = traits.settled_seconds
        told = {
            "read": read,
            "fresh": traits.consistency["fresh_iops"],
            "settled": traits.settled_iops,
            "of": say("kind.all_later") if last is None else say("kind.last_seconds", seconds=last),
            "written": written,
        }
        if traits.settled_iops * MERGED_MIN_S < 1:
            return "solid-state", say("kind.collects_or_merges", **told)
        return "page-mapped", say("kind.page_mapped", **told)
    write = [] if write_s is None else [say("kind.write_cost", seconds=write_s)]
    return "solid-state", say("kind.solid_state", read=read, write=write)


def _is_too_even(traits: Traits) -> bool:
    """Whether lone random reads differ by less than the turns of a disk make them differ.

    A read waits for any part of a turn alike, and what the arm takes adds to the spread. So the
    middle half of ``n`` reads differs by half a turn, with a standard error of a turn over twice
    the root of ``n``; less happens in one of a hundred cases.
    """
    spread_s, ios = traits.read.spread_s, traits.read.spread_ios
    if spread_s is None or not ios:
        return False
    return spread_s < SHORTEST_TURN_S / 2 * (1 - ONE_IN_A_HUNDRED / math.sqrt(ios))


def _disk_signs(traits: Traits) -> dict[str, list[Said]]:
    """What besides its access time looks like a disk's."""
    reorders, caches = [], []
    gain = traits.read.queue_gain
    if traits.read.queue_effect == "gain" and gain is not None and gain >= REORDERING_GAIN_MIN:
        reorders.append(say("kind.reorders", gain=gain, depth=traits.read.queue_deepest))
    read_s, write_s = traits.read.cost_s, traits.write.cost_s
    if read_s and write_s and write_s <= CACHED_WRITE_SHARE_MAX * read_s:
        caches.append(say("kind.caches_writes", write_s=write_s))
    return {"reorders": reorders, "caches": caches}


def _measured_sentences(traits: Traits) -> list[Sentence]:
    """Highest rates, and how even the writes are."""
    sentences = []
    rates = [
        say("fastest.rate", operation=operation, rate=rate)
        for operation, rate in (
            ("read", traits.read.fastest_bytes_per_second),
            ("write", traits.write.fastest_bytes_per_second),
        )
        if rate is not None
    ]
    if rates:
        hard = traits.compression and len(rates) > 1
        code = "fastest.incompressible" if hard else "fastest.measured"
        sentences.append(Sentence("fastest", say(code, rates=rates)))
    if traits.felt is not None:
        sentences.append(traits.felt)
    return sentences

"""Finding ``summary``: what kind of drive the data look like, in plain words and numbers.

Rules for the kind, the first that applies, from the cost of a small random read and write (the
latency of a lone one where it was measured, else time per I/O):

1. ``unknown``: no random reads.
2. ``memory``: a read costs less than 10 µs; flash needs 20 µs and more to read a page.
3. ``disk``: a read costs 3 ms or more; a turn of the fastest disks takes 4 ms, a flash page 0.1 ms.
4. ``cluster-mapped``: a write costs 5 ms or more, at every queue depth, and as much as 20 reads,
   from the first on or once the consistency test has met its cliff: time that only the rewriting of
   much more than was written explains.
5. ``page-mapped``: the consistency test met a cliff, which is spare area running out, and went on
   for twice as long as the drive ever stood still: a single standstill tells neither.
6. ``solid-state``: none of these signs.

A rule says what the data look like, not what is inside: an array or a cache in front of a disk can
pass for something else. Strengths, weaknesses and advice: :mod:`fourcorners.analysis.advice`.
"""

from __future__ import annotations

from collections.abc import Iterable

from fourcorners import wording
from fourcorners.analysis.advice import CLUSTER_WRITE_MIN_S, advise
from fourcorners.analysis.finding import Finding
from fourcorners.analysis.remark import Sentence, joined, sentences_detail
from fourcorners.analysis.source import RunData, measured
from fourcorners.analysis.traits import Traits, gather

# The first three: above. The others are choices: a gain of a third, and writes a fifth faster than
# reads, are more than chance makes of a mean.
MEMORY_READ_MAX_S = 10e-6
DISK_READ_MIN_S = 3e-3
CLUSTER_WRITE_READ_RATIO_MIN = 20
REORDERING_GAIN_MIN = 1.3
CACHED_WRITE_SHARE_MAX = 0.8
_TESTS = ("four-corners", "queue-depth", "transfer-size", "consistency")


def find(run: RunData, findings: Iterable[Finding]) -> list[Finding]:
    """The summary of a run, from its other findings; none for a run without recordings of the
    reviews' suite, which alone show what kind of drive it is."""
    if not any(one.test in _TESTS for one in measured(run)):
        return []
    traits = gather(run, findings)
    kind, verdict_sentence = classify(traits)
    advice = advise(run, traits, kind)
    sentences = [Sentence(f"kind_{kind}", verdict_sentence), *_measured_sentences(traits)]
    return [
        Finding(
            name="summary",
            title="What kind of drive this is",
            verdict="not identifiable" if kind == "unknown" else "measured",
            text=joined(sentences),
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


def classify(traits: Traits) -> tuple[str, str]:
    """The kind of drive and the sentence that says so, by the rules above."""
    read_s, write_s = traits.read.cost_s, traits.write.cost_s
    lasting_s = traits.lasting_write_s
    if read_s is None:
        return "unknown", (
            "What kind of drive this is cannot be said: no random reads were measured."
        )
    at = f" at queue depth {traits.read.cost_depth}" if traits.read.cost_depth != 1 else ""
    read = f"a random read costs {wording.duration(read_s)}{at}"
    if read_s < MEMORY_READ_MAX_S:
        return "memory", (
            f"This looks like memory or a cache rather than a drive: {read}, less than flash "
            "needs to read a page."
        )
    if read_s >= DISK_READ_MIN_S:
        return "disk", f"This looks like a mechanical disk: {read}{_disk_signs(traits)}."
    if (
        write_s is not None
        and write_s >= CLUSTER_WRITE_MIN_S
        and write_s >= CLUSTER_WRITE_READ_RATIO_MIN * read_s
        # Every write is rewritten so, however many wait: a lone one may have been held up.
        and (traits.write.quickest_s or write_s) >= CLUSTER_WRITE_MIN_S
    ):
        return "cluster-mapped", (
            "This looks like a solid-state drive that rewrites a large cluster for each small "
            f"write: {read}, a random write {wording.duration(write_s)}, as much as "
            f"{write_s / read_s:,.0f} reads{_cluster_signs(traits)}."
        )
    if (
        lasting_s is not None
        and traits.cliff_shows_mapping
        and lasting_s >= CLUSTER_WRITE_MIN_S
        and lasting_s >= CLUSTER_WRITE_READ_RATIO_MIN * read_s
    ):
        written = wording.amount(traits.consistency["bytes_until_cliff"])
        return "cluster-mapped", (
            "This looks like a solid-state drive that rewrites much more than a small write has, "
            f"once {written} have been written: {read}, and a random write then "
            f"{wording.duration(lasting_s)}, even with many outstanding."
        )
    if traits.settled_iops and traits.cliff_shows_mapping:
        settled, last = wording.number(traits.settled_iops), traits.settled_seconds
        of = "all later seconds" if last is None else f"the last {wording.count(last, 'second')}"
        return "page-mapped", (
            "This looks like a solid-state drive with page mapping and garbage collection: "
            f"{read}, and random writes drop from "
            f"{wording.number(traits.consistency['fresh_iops'])} a second to "
            f"{settled}, the mean of {of}, once "
            f"{wording.amount(traits.consistency['bytes_until_cliff'])} have been written."
        )
    buffered = f", and a random write {wording.duration(write_s)}" if write_s is not None else ""
    return "solid-state", (
        f"This looks like a solid-state drive: {read}{buffered}. How it maps writes did not show."
    )


def _disk_signs(traits: Traits) -> str:
    signs = ""
    gain = traits.read.queue_gain
    if traits.read.queue_effect == "gain" and gain is not None and gain >= REORDERING_GAIN_MIN:
        signs += (
            f", and queueing makes reads {wording.times(gain)} as fast at queue depth "
            f"{traits.read.queue_deepest}, as reordering does"
        )
    read_s, write_s = traits.read.cost_s, traits.write.cost_s
    if read_s and write_s and write_s <= CACHED_WRITE_SHARE_MAX * read_s:
        signs += (
            f"; a random write costs only {wording.duration(write_s)}, as a write cache that "
            "reorders makes it"
        )
    return signs


def _cluster_signs(traits: Traits) -> str:
    if traits.cluster_bytes is None:
        return ""
    return f" (a cluster of at most about {wording.size(traits.cluster_bytes)})"


def _measured_sentences(traits: Traits) -> list[Sentence]:
    """Highest rates, and how even the writes are."""
    sentences = []
    rates = [
        f"{operation}s up to {wording.rate(rate)}"
        for operation, rate in (
            ("read", traits.read.fastest_bytes_per_second),
            ("write", traits.write.fastest_bytes_per_second),
        )
        if rate is not None
    ]
    if rates:
        hard = " of incompressible data" if traits.compression and len(rates) > 1 else ""
        text = f"With large or sequential requests it {wording.sentence_list(rates)}{hard}."
        sentences.append(Sentence("fastest", text))
    if traits.consistency_level:
        felt = traits.consistency["feels_like"]
        sentences.append(Sentence(felt["name"], felt["text"]))
    return sentences

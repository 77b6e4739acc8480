"""Strengths, weaknesses and what to avoid, each a sentence with its numbers."""

from __future__ import annotations

from fourcorners import wording
from fourcorners.analysis.traits import Traits

HALF_SPEED_GOOD_BYTES = 256 * 2**10
"""Requests that ordinary programs make: half speed at or below it is a strength."""

HALF_SPEED_BAD_BYTES = 2**20

QUEUE_GAIN_GOOD = 1.5
QUEUE_GAIN_NONE = 1.1
EVEN_WORST_SHARE = 0.7
UNEVEN_WORST_SHARE = 0.25
CLIFF_LEFT_BAD = 0.5
WRITE_TO_READ_BAD = 20


def advise(traits: Traits, kind: str) -> tuple[list[str], list[str], list[str]]:
    """Strengths, weaknesses and advice, the most important first.

    Thresholds are the constants above; an operation that no test measured is not mentioned.
    """
    strengths: list[str] = []
    weaknesses: list[str] = []
    avoid: list[str] = []
    _small_writes(traits, kind, strengths, weaknesses, avoid)
    _small_reads(traits, strengths, weaknesses, avoid)
    _consistency(traits, strengths, weaknesses, avoid)
    _queueing(traits, strengths, weaknesses)
    _content(traits, weaknesses)
    return strengths, weaknesses, avoid


def _small_writes(
    traits: Traits, kind: str, strengths: list[str], weaknesses: list[str], avoid: list[str]
) -> None:
    write, read_s = traits.write, traits.read.cost_s
    if write.cost_s is None:
        return
    if kind == "cluster-mapped" and read_s is not None:
        weaknesses.append(
            f"Small random writes: {wording.number(1 / write.cost_s)} a second, each as long as "
            f"{write.cost_s / read_s:,.0f} reads."
        )
        half = (
            f" Half the write rate takes requests of {wording.size(write.half_speed_bytes)}."
            if write.half_speed_bytes is not None
            else ""
        )
        avoid.append(
            "Avoid small random writes, as databases, mail and system files make them; collect "
            f"them into large, aligned ones.{half}"
        )
    elif write.half_speed_bytes is not None and write.half_speed_bytes <= HALF_SPEED_GOOD_BYTES:
        strengths.append(
            f"Random writes are cheap: {wording.duration(write.cost_s)} each, and requests of "
            f"{wording.size(write.half_speed_bytes)} reach half the write rate."
        )
    elif write.half_speed_bytes is not None and write.half_speed_bytes >= HALF_SPEED_BAD_BYTES:
        weaknesses.append(
            f"Random writes cost {wording.duration(write.cost_s)} each; half the write rate takes "
            f"requests of {wording.size(write.half_speed_bytes)}."
        )


def _small_reads(
    traits: Traits, strengths: list[str], weaknesses: list[str], avoid: list[str]
) -> None:
    read = traits.read
    if read.cost_s is None or read.half_speed_bytes is None:
        return
    if read.half_speed_bytes <= HALF_SPEED_GOOD_BYTES:
        strengths.append(
            f"Random reads are cheap: {wording.duration(read.cost_s)} each, and requests of "
            f"{wording.size(read.half_speed_bytes)} reach half the read rate."
        )
    elif read.half_speed_bytes >= HALF_SPEED_BAD_BYTES:
        weaknesses.append(
            f"Random reads cost {wording.duration(read.cost_s)} each; half the read rate takes "
            f"requests of {wording.size(read.half_speed_bytes)}."
        )
        avoid.append(
            f"Avoid scattered small reads; read pieces well above "
            f"{wording.size(read.half_speed_bytes)}."
        )


def _consistency(
    traits: Traits, strengths: list[str], weaknesses: list[str], avoid: list[str]
) -> None:
    seen = traits.consistency
    if seen.get("cliff_s") is not None and seen["fresh_iops"] > 0:
        left = (traits.settled_iops or 0.0) / seen["fresh_iops"]
        if left < CLIFF_LEFT_BAD:
            amount = wording.amount(seen["bytes_until_cliff"])
            weaknesses.append(
                f"Sustained random writes fall to {wording.percent(left)} of the fresh rate after "
                f"{amount}."
            )
            avoid.append(
                f"Avoid more than {amount} of random writes at a stretch; free space and pauses "
                "may let the drive recover."
            )
    if not traits.consistency_level or not seen.get("steady_iops"):
        return
    worst = seen["worst_second_iops"] / seen["steady_iops"]
    if worst >= EVEN_WORST_SHARE:
        strengths.append(
            f"Even under load: the worst of the last seconds delivers "
            f"{wording.percent(worst)} of its mean."
        )
    elif worst < UNEVEN_WORST_SHARE:
        stall = seen["longest_stall_s"]
        stalled = f", and it stood still for {wording.count(stall, 'second')}" if stall else ""
        weaknesses.append(
            f"Uneven under load: the worst of the last seconds delivers "
            f"{wording.percent(worst)} of its mean{stalled}."
        )
        avoid.append(
            "Avoid programs that wait for each write while others keep the drive busy: they meet "
            "its worst seconds."
        )


def _queueing(traits: Traits, strengths: list[str], weaknesses: list[str]) -> None:
    for operation, seen in (("reads", traits.read), ("writes", traits.write)):
        gain, depth = seen.queue_gain, seen.queue_deepest
        if gain is None:
            continue
        if gain >= QUEUE_GAIN_GOOD:
            strengths.append(
                f"Random {operation} become {wording.times(gain)} as fast with {depth} outstanding "
                "requests."
            )
        elif gain < QUEUE_GAIN_NONE:
            weaknesses.append(
                f"Random {operation} gain nothing from {depth} outstanding requests: "
                f"{gain:.2f} times the rate of one."
            )


def _content(traits: Traits, weaknesses: list[str]) -> None:
    if traits.compression is not None and traits.compression > 1:
        weaknesses.append(
            "Data that does not compress, such as pictures, films and encrypted files, is written "
            f"at {wording.percent(1 / traits.compression)} of the rate of repeated data."
        )

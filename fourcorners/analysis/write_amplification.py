"""Finding ``write_amplification``: bytes programmed into flash for each byte that the host wrote.

It is known if the target reports what it programs, as simulated drives do. It counts what the dies
program in the measured time: data of the host, valid pages that GC relocates, padding, and the
drive's own tables. Of several recordings of one kind the last that was written stands for it: the
drive is then furthest from new.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fourcorners.analysis.source import Measured, RunData, measured
from fourcorners.analysis.traits import SMALL_BYTES
from fourcorners.finding import Finding, worded
from fourcorners.sentences import say


def find(run: RunData) -> list[Finding]:
    """The finding, from recordings that only write; none where no target reported it."""
    told = [
        one
        for one in measured(run, operation="write")
        if one.of.write_amplification is not None and one.point.get("operation") == "write"
    ]
    kinds = {
        _kind(one): one
        for one in [*_of_usual_size(_alone(told, "sequential")), *_of_small(_alone(told, "random"))]
    }
    kinds |= {_kind(one): one for one in told if one.point.get("flush_every_writes")}
    if not kinds:
        return []
    rows: list[dict[str, Any]] = [
        {
            "recording": one.recording,
            "writes": kind,
            "write_amplification": one.of.write_amplification,
            "flash_programmed_bytes": one.of.flash_programmed_bytes,
            "host_bytes": one.bytes,
        }
        for kind, one in kinds.items()
    ]
    return [
        worded(
            "write_amplification",
            "Write amplification",
            "measured",
            say(
                "write_amplification_of.measured",
                kinds=[say("write_amplification_of.kind", **row) for row in rows],
            ),
            value=max(row["write_amplification"] for row in rows),
            unit="1",
            evidence=[row["recording"] for row in rows],
            detail={"recordings": rows},
        )
    ]


def _alone(told: list[Measured], pattern: str) -> list[Measured]:
    """Writes of one pattern without flushes between them, which make the drive program part of a
    row."""
    return [
        one
        for one in told
        if one.point.get("pattern") == pattern and not one.point.get("flush_every_writes")
    ]


def _of_small(writes: list[Measured]) -> list[Measured]:
    """Those of 4 KiB, the reviews' size; where there are none, of the usual size."""
    small = [one for one in writes if one.block_bytes == SMALL_BYTES]
    return small or _of_usual_size(writes)


def _of_usual_size(writes: list[Measured]) -> list[Measured]:
    """Those of the size that most bytes were written in."""
    bytes_by_size: Counter[int | None] = Counter()
    for one in writes:
        bytes_by_size[one.block_bytes] += one.bytes
    if not bytes_by_size:
        return []
    [(usual, _)] = bytes_by_size.most_common(1)
    return [one for one in writes if one.block_bytes == usual]


def _kind(one: Measured) -> str:
    """What is written, as a person says it: "sequential writes of 128 KiB"."""
    content = one.point.get("content")
    parts = []
    if one.block_bytes:
        parts.append(say("writes.size", bytes=one.block_bytes))
    if content and content != "incompressible":
        parts.append(say("writes.content", content=content))
    if one.point.get("flush_every_writes") == 1:
        parts.append(say("writes.flushed"))
    return say("writes.kind", pattern=one.point["pattern"], parts=parts).text

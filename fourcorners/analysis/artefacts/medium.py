"""Reads and writes that stop short of the medium, or that it need not do in full."""

from __future__ import annotations

from collections.abc import Iterator

from fourcorners import wording
from fourcorners.analysis.artefacts.artefact import Artefact
from fourcorners.analysis.artefacts.case import Case

REACHED_SHARE_MIN = 0.95
"""Reads of which the kernel passed less on to a device were answered before it. Direct reads are
passed on to the byte; five percent cover what happens while counters are read."""

HOLE_SHARE_MIN = 0.01
"""A file that was filled has none. From a hundredth on the mean of its reads moves."""

ZERO_SHARE_MIN = 0.05
REPEATED_SHARE_MIN = 0.05
"""Of 64 sampled blocks four are more than that, so that one block of zeros, as file systems and
partition tables have them, is no alarm."""

FLUSH_S_MIN = 0.5
FLUSH_SHARE_MIN = 0.1
"""A flush that takes a tenth of the time that the writes took says that a tenth of them were not
done. Below half a second a busy disk or a journal explains it."""

_MEMORY_FILE_SYSTEMS = frozenset(["ramfs", "tmpfs"])
_MEMORY_TRANSPORTS = frozenset(["RAM disk", "zram"])


_READS_ERASED = ("probe-trim/",)
"""How the ids of recordings begin of tests that read what they have erased, to see who answers: the
probe's finding says what came out of it."""


def detect(case: Case) -> Iterator[Artefact]:
    """What lay between the workload and the medium."""
    cache = _page_cache(case)
    erased = case.id.startswith(_READS_ERASED)
    holes = None if erased else _unwritten(case)
    # Zeros that a hole or the cache answers with are explained.
    content = [] if holes or erased else list(_content(case))
    yield from (artefact for artefact in (cache, holes) if artefact is not None)
    yield from content
    yield from _file_system(case)
    if cache is None:
        yield from _write_buffer(case)


def _page_cache(case: Case) -> Artefact | None:
    at = case.conditions
    reached = _reached_share(case)
    evidence = {
        "direct": at.direct,
        "file_system": at.file_system,
        "loop_direct": at.loop_direct,
        "reached_share": reached,
    }
    if at.file_system in _MEMORY_FILE_SYSTEMS or at.transport in _MEMORY_TRANSPORTS:
        where = at.file_system or at.transport
        seen = f"{where} keeps its data in memory: no drive was asked."
    elif at.direct is False:
        seen = "I/O went through the page cache"
        seen += (
            f"; {wording.percent(1 - reached)} of what was read came from there."
            if (reached is not None and reached < 1)
            else "."
        )
    elif at.loop_direct is False:
        seen = "The loop device reads and writes its file through the page cache."
    elif (
        reached is not None
        and reached < REACHED_SHARE_MIN
        and (at.hole_share or 0.0) < HOLE_SHARE_MIN
    ):
        seen = (
            f"The kernel passed {wording.percent(reached)} of what was read on to a device: the "
            "rest was answered from memory."
        )
    else:
        return None
    return Artefact(
        name="page_cache",
        title="Page cache in the way",
        severity="severe",
        seen=seen,
        effect="The figures are memory's, not the drive's.",
        mend=(
            "Measure a block device, or a file on a file system with direct I/O; attach loop "
            "devices with --direct-io=on."
        ),
        evidence=evidence,
    )


def _reached_share(case: Case) -> float | None:
    """Bytes that were passed on to a device, of the bytes read; at most 1.

    What was passed on in the ramp counts with it: how much that was is not known, and under other
    load the ramp may be far slower than what follows.
    """
    own, read = case.conditions.own_read_bytes, case.bytes.get("read", 0)
    if own is None or not read:
        return None
    return min(own / read, 1.0)


def _unwritten(case: Case) -> Artefact | None:
    share = case.conditions.hole_share
    if share is None or share < HOLE_SHARE_MIN or not case.bytes.get("read"):
        return None
    return Artefact(
        name="unwritten_blocks",
        title="Blocks that were never written",
        severity="severe",
        seen=f"{wording.percent(share)} of the span that was read has no written blocks.",
        effect="Reads of them return zeros without asking the drive, and are far too fast.",
        mend="Write the whole file before it is read.",
        evidence={"hole_share": share, "reached_share": _reached_share(case)},
    )


def _content(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if not case.bytes.get("read") or at.zero_share is None or at.repeated_share is None:
        return
    evidence = {
        "sampled_blocks": at.sampled_blocks,
        "zero_share": at.zero_share,
        "repeated_share": at.repeated_share,
    }
    if at.zero_share >= ZERO_SHARE_MIN:
        yield Artefact(
            name="zero_blocks",
            title="Trimmed blocks or zeros",
            severity="severe",
            seen=(
                f"{wording.percent(at.zero_share)} of {at.sampled_blocks} sampled blocks hold "
                "nothing but zeros."
            ),
            effect=(
                "A drive answers for trimmed and never-written blocks, and many for zeros, from "
                "its tables without reading the medium."
            ),
            mend="Write the whole span with incompressible data before it is read.",
            evidence=evidence,
        )
    if at.repeated_share >= REPEATED_SHARE_MIN:
        yield Artefact(
            name="repeated_blocks",
            title="Repeated data",
            severity="moderate",
            seen=(
                f"{wording.percent(at.repeated_share)} of {at.sampled_blocks} sampled blocks "
                "repeat others or a pattern."
            ),
            effect=(
                "A drive or layer that compresses or stores repeats once reads less than it "
                "delivers."
            ),
            mend="Write the whole span with incompressible data before it is read.",
            evidence=evidence,
        )


def _file_system(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    evidence = {
        "file_system": at.file_system,
        "mount_options": at.mount_options,
        "transport": at.transport,
    }
    if at.compressed or at.transport == "zram":
        yield Artefact(
            name="compressing_storage",
            title="Data is compressed on its way",
            severity="severe",
            seen=f"{at.file_system or at.transport} compresses what is written to this target.",
            effect="The CPU's speed and the data's content set the figures, as much as the drive.",
            mend="Measure the block device, or a file without compression.",
            evidence=evidence,
        )
    if at.copy_on_write:
        yield Artefact(
            name="copy_on_write",
            title="File system that copies on write",
            severity="moderate",
            seen=f"{at.file_system} writes changed blocks of this file to new places.",
            effect=(
                "Random writes become sequential ones with metadata, and later sequential reads "
                "are scattered."
            ),
            mend="Measure the block device, or a file that is exempt (on btrfs: chattr +C).",
            evidence=evidence,
        )


def _write_buffer(case: Case) -> Iterator[Artefact]:
    flush_s = case.conditions.flush_s
    if flush_s is None or flush_s < max(FLUSH_S_MIN, FLUSH_SHARE_MIN * case.elapsed_s):
        return
    yield Artefact(
        name="write_buffer",
        title="Writes that had only reached a buffer",
        severity="moderate",
        seen=(
            f"The flush after {wording.duration(case.elapsed_s)} of writes took "
            f"{wording.duration(flush_s)}."
        ),
        effect="Part of the writes was acknowledged before it was stored: the rate is too high.",
        mend="Write for longer, with flushes (flush_every_writes) or forced writes (fua).",
        evidence={"flush_s": flush_s, "elapsed_s": case.elapsed_s},
    )

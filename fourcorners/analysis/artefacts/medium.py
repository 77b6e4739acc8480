"""Reads and writes that stop short of the medium, or that it need not do in full."""

from __future__ import annotations

from collections.abc import Iterator

from fourcorners.analysis.artefacts.artefact import SHARE_NOTED, Artefact
from fourcorners.analysis.artefacts.case import Case
from fourcorners.sentences import say

REACHED_SHARE_MIN = 0.95
"""Reads of which the kernel passed less on to a device were answered before it. Direct reads are
passed on to the byte; five percent cover what happens while counters are read."""

HOLE_SHARE_MIN = 0.01
"""A file that was filled has none. From a hundredth on the mean of its reads moves."""

FLUSH_S_MIN, FLUSH_SHARE_MIN = 0.5, 0.1
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
        said = say("artefact_page_cache.in_memory", where=at.file_system or at.transport)
    elif at.direct is False:
        said = say("artefact_page_cache.buffered")
        if reached is not None and reached < 1:
            said = say("artefact_page_cache.buffered_share", cached=1 - reached)
    elif at.loop_direct is False:
        said = say("artefact_page_cache.loop")
    elif (
        reached is not None
        and reached < REACHED_SHARE_MIN
        and (at.hole_share or 0.0) < HOLE_SHARE_MIN
    ):
        said = say("artefact_page_cache.not_passed_on")
    else:
        return None
    return Artefact("page_cache", "severe", said, evidence)


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
    evidence = {"hole_share": share, "reached_share": _reached_share(case)}
    return Artefact("unwritten_blocks", "severe", say("artefact_unwritten_blocks.seen"), evidence)


def _content(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    if not case.bytes.get("read") or at.zero_share is None or at.repeated_share is None:
        return
    evidence = {
        "sampled_blocks": at.sampled_blocks,
        "zero_share": at.zero_share,
        "repeated_share": at.repeated_share,
    }
    # Of 64 sampled blocks four are more than that: a block of zeros, as file systems and partition
    # tables have one, is no alarm.
    if at.zero_share >= SHARE_NOTED:
        yield Artefact("zero_blocks", "severe", say("artefact_zero_blocks.seen"), evidence)
    if at.repeated_share >= SHARE_NOTED:
        said = say("artefact_repeated_blocks.seen")
        yield Artefact("repeated_blocks", "moderate", said, evidence)


def _file_system(case: Case) -> Iterator[Artefact]:
    at = case.conditions
    evidence = {
        "file_system": at.file_system,
        "mount_options": at.mount_options,
        "transport": at.transport,
    }
    if at.compressed or at.transport == "zram":
        said = say("artefact_compressing_storage.seen", by=at.file_system or at.transport)
        yield Artefact("compressing_storage", "severe", said, evidence)
    if at.copy_on_write:
        yield Artefact("copy_on_write", "moderate", say("artefact_copy_on_write.seen"), evidence)


def _write_buffer(case: Case) -> Iterator[Artefact]:
    flush_s = case.conditions.flush_s
    if flush_s is None or flush_s < max(FLUSH_S_MIN, FLUSH_SHARE_MIN * case.elapsed_s):
        return
    evidence = {"flush_s": flush_s, "elapsed_s": case.elapsed_s}
    yield Artefact("write_buffer", "moderate", say("artefact_write_buffer.seen"), evidence)

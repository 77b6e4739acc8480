"""The same trace as another file system would issue it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Unpack

from fourcorners.errors import UserError
from fourcorners.trace.changing import TraceOptions, WrittenTrace, transformed
from fourcorners.units import parse_bytes

JournalMode = Literal["none", "ordered", "data"]

_CACHE_BYTES = 64 << 20
"""What a small machine keeps of files for a while."""
_JOURNAL_BYTES = 128 << 20
"""Of ext4 on volumes of 32 GB to 512 GB (mke2fs)."""
_METADATA_BLOCKS = 3
"""What ext4 changes for an appending write: a block of inodes, a bitmap, the group's descriptor."""
_LOG_SPARE_SHARE = 0.1
"""Of F2FS by default, near enough: it depends on the volume's size."""


def trace_layout(
    file: Path | str,
    out: Path | str,
    *,
    cluster: int | str = 4096,
    shift: int | str = 0,
    journal: JournalMode = "none",
    log_structured: bool = False,
    cache: int | str = _CACHE_BYTES,
    journal_size: int | str | None = None,
    metadata_blocks: int | None = None,
    log_spare: float | None = None,
    without_journal_at: str | None = None,
    **options: Unpack[TraceOptions],
) -> WrittenTrace:
    """Writes a trace as a file system with other clusters, a journal or a log would issue it.

    docs/file-systems.md says what is modelled. Sizes are in bytes or such as "16KiB".

    Args:
        file: the trace, of one volume.
        out: the new file; its origin says how many I/Os came and went.
        cluster: what is read and written whole: a power of two of 512 B to 2 MiB.
        shift: by how much everything lies further behind, such as "31.5KiB" for a partition that
            begins at sector 63.
        journal: none, ordered (metadata go through a journal) or data (all writes do).
        log_structured: everything is written where a log ends, and segments of it are emptied.
        cache: what memory keeps of clusters that were read or written in part.
        journal_size: how long the journal is; 128 MiB unless given.
        metadata_blocks: blocks of metadata that a transaction changes for each group of blocks; 3
            unless given.
        log_spare: space of the log beyond what the trace uses, as a share of it; 0.1 unless given.
        without_journal_at: "START:LENGTH" of a journal that the trace has, to leave it out.
        options: see :class:`fourcorners.trace.changing.TraceOptions`.

    Raises :class:`UserError` as well for a layout that contradicts itself, and for a trace of
    several volumes.
    """
    if journal not in ("none", "ordered", "data"):
        raise UserError(f'a journal of "{journal}" is not known: use none, ordered or data')
    if metadata_blocks is not None and metadata_blocks < 1:
        raise UserError(f"a transaction changes 1 block of metadata or more, not {metadata_blocks}")
    for name, value, is_of_use, needed in (
        ("journal-size", journal_size, journal != "none", "journal ordered or data"),
        ("metadata-blocks", metadata_blocks, journal != "none", "journal ordered or data"),
        ("log-spare", log_spare, log_structured, "log-structured"),
    ):
        if value is not None and not is_of_use:
            raise UserError(f"--{name} changes nothing: add --{needed}, or leave it out")
    spare = _LOG_SPARE_SHARE if log_spare is None else log_spare
    step: dict[str, Any] = {
        "layout": {
            "cluster_bytes": _bytes(cluster),
            "shift_bytes": _bytes(shift),
            "cache_bytes": _bytes(cache),
            "journal": None if journal == "none" else journal,
            "journal_bytes": _bytes(_JOURNAL_BYTES if journal_size is None else journal_size),
            "metadata_blocks": metadata_blocks or _METADATA_BLOCKS,
            "without": None if without_journal_at is None else _region(without_journal_at),
            "log_spare_share": spare if log_structured else None,
        }
    }
    return transformed([file], out, step, **options)


def _bytes(size: int | str) -> int:
    return size if isinstance(size, int) else 0 if size.strip() == "0" else parse_bytes(size)


def _region(text: str) -> list[int]:
    parts = text.split(":")
    if len(parts) != 2:
        raise UserError(f'a journal at "{text}" is no place: write START:LENGTH, as in 1GiB:64MiB')
    return [_bytes(one) for one in parts]

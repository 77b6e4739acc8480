"""What clusters make of files: slack, and the number and size of the I/Os that read them.

A file takes whole clusters; what its last one has beyond it is slack. Read from its start, in I/Os
of up to ``io_bytes_max`` that are whole clusters, it takes one I/O for each full transfer and one
for the rest; lying in single clusters, one for each cluster.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fourcorners.documents import Part
from fourcorners.errors import UserError, os_reason
from fourcorners.input_files import check_regular

CLUSTERS = tuple(512 << doubled for doubled in range(13))
"""512 B to 2 MiB."""
IO_BYTES_MAX = 128 << 10
"""What Linux reads ahead by default, and the most that many file systems ask for at once."""
_FILES_MAX = 50_000_000
"""400 MB of sizes."""

Sizes = npt.NDArray[np.int64]


class ClusterFigures(Part):
    """What a cluster size makes of files."""

    cluster_bytes: int
    allocated_bytes: int
    slack_bytes: int
    ios: int
    """That read every file once, where files lie in one piece."""
    io_mean_bytes: float
    ios_in_pieces: int
    """Where no two clusters of a file lie together."""


def sizes_of(place: Path | str) -> Sizes:
    """The sizes of files, in bytes: of a tree of folders, or from a list with a size a line.

    Of a tree regular files count, those with several names once; links are not followed.

    Raises :class:`UserError` for what cannot be read, what is no list of sizes, and no files.
    """
    path = Path(place)
    sizes = _of_tree(path) if path.is_dir() else _of_list(path)
    if len(sizes) == 0:
        raise UserError(f"{path} has no files: name a tree of folders, or a list of sizes")
    return np.asarray(sizes, dtype=np.int64)


def _of_tree(root: Path) -> list[int]:
    def refuse(error: OSError) -> None:
        raise UserError(f"cannot read {error.filename}: {os_reason(error)}") from error

    sizes: list[int] = []
    seen: set[tuple[int, int]] = set()
    for folder, _, names in os.walk(root, onerror=refuse):
        for name in names:
            try:
                found = (Path(folder) / name).lstat()
            except FileNotFoundError:
                # Gone since the folder was read.
                continue
            if not stat.S_ISREG(found.st_mode):
                continue
            if found.st_nlink > 1:
                if (found.st_dev, found.st_ino) in seen:
                    continue
                seen.add((found.st_dev, found.st_ino))
            sizes.append(found.st_size)
            if len(sizes) > _FILES_MAX:
                raise UserError(f"{root} has more than {_FILES_MAX:,} files: name a part of it")
    return sizes


def _of_list(path: Path) -> list[int]:
    check_regular(path, "the list of sizes")
    sizes: list[int] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.strip()
            if not text:
                continue
            # Fifteen digits are a petabyte.
            if not text.isdigit() or len(text) > 15:
                shown = text[:20].decode(errors="replace")
                raise UserError(f'{path}, line {number}: "{shown}" is no size in bytes')
            sizes.append(int(text))
            if len(sizes) > _FILES_MAX:
                raise UserError(f"{path} has more than {_FILES_MAX:,} sizes: name a part of them")
    return sizes


def figures_of(
    sizes: Sizes, cluster_bytes: int, io_bytes_max: int = IO_BYTES_MAX
) -> ClusterFigures:
    """What clusters of ``cluster_bytes`` make of files of ``sizes`` (shape (files,), bytes)."""
    clusters = -(-sizes // cluster_bytes)
    each = max(io_bytes_max // cluster_bytes, 1)
    ios = int((-(-clusters // each)).sum())
    allocated = int(clusters.sum()) * cluster_bytes
    return ClusterFigures(
        cluster_bytes=cluster_bytes,
        allocated_bytes=allocated,
        slack_bytes=allocated - int(sizes.sum()),
        ios=ios,
        io_mean_bytes=allocated / ios if ios else 0.0,
        ios_in_pieces=int(clusters.sum()),
    )


def io_sizes(
    sizes: Sizes, cluster_bytes: int, io_bytes_max: int = IO_BYTES_MAX, most: int = 24
) -> list[tuple[int, float]]:
    """The sizes of the I/Os that read every file once, and their shares; at most ``most`` of them:
    neighbours are taken together, at their mean in whole clusters."""
    clusters = -(-sizes // cluster_bytes)
    each = max(io_bytes_max // cluster_bytes, 1)
    full = int((clusters // each).sum())
    rests = clusters % each
    counts = np.bincount(rests[rests > 0], minlength=each + 1).astype(np.float64)
    counts[each] += full
    present = np.flatnonzero(counts)
    total = counts.sum()
    # Groups of about equal shares; a group's size keeps the bytes, nearly.
    shares = counts[present] / total
    group = np.minimum((np.cumsum(shares) - shares / 2) * most, most - 1).astype(int)
    found: dict[int, float] = {}
    for number in np.unique(group):
        of = present[group == number]
        weight = counts[of].sum()
        size = max(round(float((of * counts[of]).sum() / weight)), 1) * cluster_bytes
        found[size] = found.get(size, 0.0) + float(weight / total)
    return sorted(found.items())

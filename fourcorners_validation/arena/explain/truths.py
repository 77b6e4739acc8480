"""The truth about a hidden drive for each finding, as the drive itself states it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fourcorners.analysis.internals.catalog import CATALOG, ValueKind
from fourcorners.analysis.internals.collection.stalls import window_mean
from fourcorners.finding import Finding
from fourcorners.suites import Subject
from fourcorners.suites.probes import burst
from fourcorners.suites.probes.common import probed_bytes
from fourcorners.suites.probes.overwrite import (
    BATCH,
    CHUNKS,
    CLIFFS_WATCHED,
    DEPTH,
    FILL_BLOCK_BYTES,
    OVERWRITE_BLOCK_BYTES,
    Parameters,
)
from fourcorners.target.simulated import SimulatedTarget, Treatment
from fourcorners.workload import Stream, Workload
from fourcorners_validation.arena.explain.drives import Hidden


def _value(finding: Finding) -> float | None:
    return finding.value


@dataclass(frozen=True)
class Truth:
    """The right answer of a finding, which the drive has under the finding's name.

    ``discrete`` values are right or wrong, the others are off by some percent. ``said`` gives the
    answer of the finding, which is its value unless the answer is in words.
    """

    finding: str
    discrete: bool
    said: Callable[[Finding], float | None] = _value


KINDS_TOLD = ("disk", "page-mapped", "block-mapped", "log-block")
"""Kinds of drives as the explanation names them, numbered from 1."""

_FLUSHED_BYTES = 4096
"""Bytes that the probe of durability writes between two flushes."""

_PIECES_OF_DISTANCE = 4
"""The distance of two stalls is written in so many pieces, so that none has two stalls."""

_LONGEST_S = 1e5
"""Longest time of a write; the number of bytes ends it earlier."""


def true_of(hidden: Hidden) -> dict[str, float]:
    """Values in the units of the findings by their names: 0 where the drive does not have the
    thing, so that finding it is a false discovery. What does not apply to the drive is missing."""
    target = SimulatedTarget(hidden.drive.id, hidden.drive, {}, hidden.seed)
    treatment = Treatment(
        burst_bytes=int(probed_bytes(Subject("simulated", target.capacity_bytes))),
        rest_s=burst.Parameters().rest_s,
        flushed_bytes=_FLUSHED_BYTES,
        overwrite_block_bytes=OVERWRITE_BLOCK_BYTES,
    )
    truths = target.truths(treatment)
    if truths.get("stalls_as_one"):
        truths = target.truths(treatment, _valid_share(target, truths, hidden.seed))
    return {"explanation": _kind(hidden.drive.kind)} | truths


def _kind(kind: str) -> float:
    told = {
        "disk": "disk",
        "block-mapped-ssd": "block-mapped",
        "log-block-ssd": "log-block",
    }.get(kind, "page-mapped")
    return 1.0 + KINDS_TOLD.index(told)


def _kind_told(explanation: Finding) -> float | None:
    """Not of a drive of which it does not show how it maps."""
    kind = explanation.detail["kind"]
    return 1.0 + KINDS_TOLD.index(kind) if kind in KINDS_TOLD else None


def _valid_share(target: SimulatedTarget, truths: Mapping[str, float], seed: int) -> float | None:
    """What is valid of the blocks that a stall collects, from the first stall until the probe ends,
    as the simulated drive counts what it moves when it is filled and overwritten as the probe does.
    ``None`` where nothing is collected until then.

    Stalls become shorter while more of the fill is overwritten, so that their mean is that of a
    window: see :func:`window_mean`.
    """
    share, freed = truths["over_provisioning"], truths["collection_stall_spacing"]
    user = target.capacity_bytes
    batches = min(Parameters().in_all, CLIFFS_WATCHED * share) * CHUNKS / BATCH
    end = math.ceil(batches) * BATCH / CHUNKS

    def write(pattern: str, block: int, count: float, seed: int) -> float:
        """Writes so many bytes, and says how many were moved meanwhile."""
        before = target.counters()["units_moved"]
        volume = max(int(count) // block, 1) * block
        stream = Stream.write(pattern, block, queue_depth_per_worker=DEPTH)
        target.run(Workload([stream], duration_s=_LONGEST_S, volume_bytes=volume, seed=seed))
        return (target.counters()["units_moved"] - before) * truths["mapping_unit"]

    write("sequential", FILL_BLOCK_BYTES, user, seed)
    pieces = math.ceil(end * user * _PIECES_OF_DISTANCE / freed)
    piece = end * user / pieces
    moved = [write("random", OVERWRITE_BLOCK_BYTES, piece, seed + 1 + n) for n in range(pieces)]
    # A stall that is on when a piece ends goes on in the next.
    for n in range(pieces - 1, 0, -1):
        if moved[n - 1]:
            moved[n - 1], moved[n] = moved[n - 1] + moved[n], 0.0
    moved_bytes = window_mean(moved, [piece] * pieces)
    return moved_bytes / (moved_bytes + freed) if moved_bytes else None


_OFF_BY_SOME = "parallel_units"
"""A whole number that is read from a curve, with an error of some percent."""

TRUTHS = (
    Truth("explanation", True, _kind_told),
    *(
        Truth(row.name, row.kind is not ValueKind.CONTINUOUS and row.name != _OFF_BY_SOME)
        for row in CATALOG
        if row.kind is not ValueKind.ODD
    ),
)
"""What is asked: the kind of drive, and all findings of the catalog that say how much."""

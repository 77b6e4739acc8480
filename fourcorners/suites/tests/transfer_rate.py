"""The transfer-rate profile over the span with access-time dots, as HD Tune draws it (the OCZ Core
study)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fourcorners.manifest import Chart
from fourcorners.suites.common import KIB, MIB, OPERATIONS, Operation, access
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SIZE, parameter
from fourcorners.suites.steps import Fill, Purge, settle
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Stream, Workload

# HD Tune's graph has as many points as it has room for, in its own block size.
PLACES = 64
BLOCK_BYTES = 64 * KIB
# Fitted to the blog: random writes beat the profile's mean from 64 MB on, so a piece pays the
# penalties of 64 MB.
PIECE_BYTES = 64 * MIB
# The accesses of a disk scatter by a third; this many give their mean to 2 %.
ACCESSES = 400
ACCESS_BYTES = 512
_PLACE_GRID_BYTES = 4096


@dataclass(frozen=True)
class Parameters:
    """Of the test."""

    places: int = parameter(COUNT, PLACES, "places at equal distances")
    piece_bytes: int = parameter(SIZE, PIECE_BYTES, "what is transferred at each place")
    block_bytes: int = parameter(SIZE, BLOCK_BYTES, "block size")
    accesses: int = parameter(COUNT, ACCESSES, "single reads at random places")


def offset_bytes(place: int, places: int, piece_bytes: int, capacity_bytes: int) -> int:
    """Where a place begins: the first at the start, the last ends with the drive."""
    return _placed(place / max(places - 1, 1), capacity_bytes - piece_bytes, _PLACE_GRID_BYTES)


def _placed(share: float, room_bytes: int, grid_bytes: int) -> int:
    """The place of the grid nearest to a share of the room."""
    return min(round(share * room_bytes / grid_bytes), room_bytes // grid_bytes) * grid_bytes


def profile(
    operation: Operation,
    capacity_bytes: int,
    *,
    places: int = PLACES,
    piece_bytes: int = PIECE_BYTES,
    block_bytes: int = BLOCK_BYTES,
    seed: int = 1,
) -> tuple[Measurement, ...]:
    """A sequential piece at each place, whose time includes the seek to that place."""
    piece = min(piece_bytes, capacity_bytes // block_bytes * block_bytes)

    def measure(place: int) -> Measurement:
        offset = offset_bytes(place, places, piece, capacity_bytes)
        stream = access(operation, "sequential", block_bytes, offset_bytes=offset, span_bytes=piece)
        return Measurement(
            f"{operation}/{place}",
            f"{chosen_size(block_bytes)} sequential {operation} at {chosen_size(offset)}",
            Workload([stream], volume_bytes=piece, seed=seed),
            {"position_bytes": offset},
        )

    return tuple(measure(place) for place in range(places))


def single_reads(
    shares: Sequence[float], capacity_bytes: int, *, access_bytes: int = ACCESS_BYTES, seed: int = 1
) -> tuple[Measurement, ...]:
    """One read at each of the places, which are shares of the drive."""

    def measure(index: int) -> Measurement:
        grid = max(_PLACE_GRID_BYTES, access_bytes)
        offset = _placed(shares[index], capacity_bytes - grid, grid)
        stream = Stream.read("random", access_bytes, offset_bytes=offset, span_bytes=access_bytes)
        return Measurement(
            f"access/{index}",
            f"one read at {chosen_size(offset)}",
            Workload([stream], ios=1, seed=seed),
            {"access_position_bytes": offset},
        )

    return tuple(measure(index) for index in range(len(shares)))


def access_shares(count: int) -> list[float]:
    """The places of single reads: random ones, as their mean is used as a mean access time."""
    shares: list[float] = np.random.default_rng(1).random(count).tolist()
    return shares


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """Pieces read, then written, in order at places across the drive, with single reads at random
    places in between."""
    area = subject.area_bytes
    piece = subject.rounded(min(parameters.piece_bytes, area // 4))
    reads, writes = (
        profile(
            operation,
            area,
            places=parameters.places,
            piece_bytes=piece,
            block_bytes=parameters.block_bytes,
            seed=seed,
        )
        for operation in OPERATIONS
    )
    accesses = single_reads(
        access_shares(parameters.accesses),
        area,
        access_bytes=max(ACCESS_BYTES, subject.request_alignment_bytes),
        seed=seed,
    )
    return Plan(
        parameters={
            "places": f"{parameters.places} across {subject.extent(area)}",
            "at each": f"{chosen_size(piece)} in blocks of "
            f"{chosen_size(parameters.block_bytes)}, queue depth 1",
            "access time": f"{parameters.accesses} single reads at random places",
        },
        phases=(
            Phase((Purge(), Fill(area), settle()), (*reads, *accesses)),
            Phase((), writes),
        ),
        charts=(
            Chart("lines", "Transfer rate", "mbps", "position_bytes", series=("operation",)),
            Chart("dots", "Access time of single reads", "latency_mean", "access_position_bytes"),
        ),
        skip_reason=None if piece >= parameters.block_bytes else "the target is too small",
    )


DEFINITION = Definition(
    name="transfer-rate",
    title="Transfer rate",
    source="core",
    purpose="How fast the drive is at its start, middle and end: a disk slows down towards its "
    "inner tracks, an SSD does not.",
    plan=plan,
    parameters=Parameters,
)

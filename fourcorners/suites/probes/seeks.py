"""Reads that take an arm from place to place: rotation and seeks of a disk."""

from dataclasses import dataclass

from fourcorners.manifest import Chart
from fourcorners.patterns import strided
from fourcorners.suites.common import KIB, MIB, access
from fourcorners.suites.definition import Definition, Plan
from fourcorners.suites.parameters import COUNT, SECONDS, parameter
from fourcorners.suites.probes.common import fresh, interleaved, preparation, prepares, probed_bytes
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Measurement, Phase
from fourcorners.wording import chosen_size
from fourcorners.workload import Workload

BLOCK_BYTES = 4 * KIB
# Less than half a track, so that most reads stay on one; as long as many commands.
STRIDE_BYTES = 128 * KIB
# Hundreds of tracks, whose ends are of two kinds.
FOLLOWED_BYTES = 512 * MIB
# So small that seeks within it are short, so large that a cache holds little of it.
REGION_BYTES = 64 * MIB
# Shares of the drive; more of them small, where seeks rise steeply.
DISTANCES = (0.002, 0.01, 0.03, 0.07, 0.13, 0.2, 0.3, 0.45, 0.65, 0.85, 1.0)
# Shares of the drive from its start: the first of the 8 to 24 zones of a disk is no longer than the
# latter, and not much shorter than the former.
WITHIN = (0.08, 0.16)


@dataclass(frozen=True)
class Parameters:
    """Of the probe."""

    turns: int = parameter(COUNT, 2000, "reads that show the rotation")
    reads: int = parameter(COUNT, 800, "reads at each distance")
    followed: int = parameter(COUNT, 3000, "reads that follow the head")
    within: int = parameter(COUNT, 500, "single reads within each share of the drive")
    time_s: float = parameter(SECONDS, 11.5, "each, at most")
    within_time_s: float = parameter(SECONDS, 4.2, "within each share of the drive, at most")
    preparation: str = preparation()


def plan(subject: Subject, parameters: Parameters, seed: int) -> Plan:
    """4 KiB random reads, one at a time, within one small region; and in turns of two regions some
    distance apart, one outstanding in each; and at equal short distances, one at a time."""
    area = subject.area_bytes // MIB * MIB
    region = min(REGION_BYTES, area // 4)
    block = max(BLOCK_BYTES, subject.request_alignment_bytes)

    def reads(id: str, label: str, offsets: tuple[int, ...], ios: int, **axes: int) -> Measurement:
        streams = [
            access("read", "random", block, offset_bytes=offset, span_bytes=region)
            for offset in offsets
        ]
        # Other places for each distance: chance that all share would look like the arm.
        workload = Workload(
            streams, duration_s=parameters.time_s, ios=ios, seed=seed + offsets[-1] // MIB
        )
        return Measurement(id, label, workload, axes)

    def apart(distance: int) -> Measurement:
        label = f"in turns, {chosen_size(distance)} apart"
        return reads(
            f"apart/{distance}", label, (0, distance), parameters.reads, distance_bytes=distance
        )

    # Reads that follow the head, which reads ahead; one by one, as ends of tracks come in turn.
    stream = access("read", strided(STRIDE_BYTES), block, span_bytes=min(FOLLOWED_BYTES, area))
    following = Measurement(
        "following",
        f"every {chosen_size(STRIDE_BYTES)}",
        Workload(
            [stream],
            duration_s=parameters.time_s,
            ios=parameters.followed,
            seed=seed,
            log_ios=parameters.followed,
        ),
        {"stride_bytes": STRIDE_BYTES},
    )

    def within(span: int) -> Measurement:
        # One by one, as the way to a place depends on the place before.
        stream = access("read", "random", block, span_bytes=span)
        workload = Workload(
            [stream],
            duration_s=parameters.within_time_s,
            ios=parameters.within,
            seed=seed + span // MIB,
            log_ios=parameters.within,
        )
        label = f"within {chosen_size(span)}"
        return Measurement(f"within/{span}", label, workload, {"region_bytes": span})

    # Of a small target the shortest distances are the same.
    distances = dict.fromkeys(
        subject.rounded(int((area - region) * share) // MIB * MIB) for share in DISTANCES
    )
    spans = dict.fromkeys(max(MIB, int(area * share) // MIB * MIB) for share in WITHIN)
    points = [
        reads("near", "within a small region", (0,), parameters.turns),
        *map(apart, distances),
        following,
        *map(within, spans),
    ]
    enough = area >= 4 * MIB
    return Plan(
        {
            "reads": f"{chosen_size(block)}, random within regions of {chosen_size(region)}",
            "distances": f"{DISTANCES[0]:.2g} to all of {subject.extent(area)}",
        },
        (
            Phase(
                fresh(subject) if prepares(subject, parameters.preparation) else (),
                interleaved(points, span_bytes=probed_bytes(subject), seed=seed),
            ),
        )
        if enough
        else (),
        (Chart("lines", "Reads in turns", "iops", "distance_bytes", ids="apart"),),
        skip_reason=None if enough else "the target is smaller than 4 MiB",
    )


DEFINITION = Definition(
    name="probe-seeks",
    title="Probe: reads from place to place",
    source="Worthington, Ganger, Patt and Wilkes 1995; Ruemmler and Wilkes 1994",
    purpose="How fast a disk turns, its tracks, and what its arm needs for a distance.",
    plan=plan,
    parameters=Parameters,
)

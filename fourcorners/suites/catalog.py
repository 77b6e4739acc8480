"""The tests of the program, by name."""

from fourcorners.suites.probes import PROBES
from fourcorners.suites.snia import rounds, saturation
from fourcorners.suites.tests import (
    consistency,
    four_corners,
    latency,
    matrix,
    queue_depth,
    random_access,
    sequential,
    transfer_rate,
    transfer_size,
)

TESTS = {
    definition.name: definition
    for definition in (
        four_corners.DEFINITION,
        queue_depth.DEFINITION,
        transfer_size.DEFINITION,
        consistency.DEFINITION,
        transfer_rate.DEFINITION,
        queue_depth.OUTSTANDING,
        sequential.ATTO,
        random_access.WRITE_CACHE,
        random_access.ACCESS_TIME,
        random_access.ALIGNED_WRITES,
        random_access.RANDOM_WRITES,
        random_access.RANDOM_READS,
        sequential.SEQUENTIAL,
        sequential.FILL,
        matrix.MATRIX,
        matrix.MIX,
        consistency.HOUR,
        consistency.PART_FILLED,
        consistency.FILL_DATA,
        consistency.RECOVERY,
        latency.LATENCY,
        latency.UNDER_LOAD,
        latency.SYNC_WRITES,
        rounds.IOPS,
        rounds.THROUGHPUT,
        rounds.LATENCY,
        saturation.SATURATION,
        saturation.IDLE,
        saturation.CROSS,
        *PROBES,
    )
}

"""The computations of the OCZ Core study and of the consistency reviews."""

from typing import Any

import numpy as np

from fourcorners.analysis import access_model, consistency
from fourcorners.analysis.access_model import AccessModel
from fourcorners.recording.arrays import Floats
from fourcorners_validation.reproduction.recorded import MIB, Recorded

TAIL_S, RUN_S = 1400, 2000
"""Where the second and third plots of the Vector's review begin, and how long its run is."""
RUN = "consistency/write"


def seconds_per_io(recorded: Recorded, experiment: str, operation: str) -> Floats:
    """Elapsed time per request of the transfer-size sweep, by size."""
    times: Floats = 1 / recorded.iops(experiment, f"size/{operation}/{{sizes}}")
    return times


def sizes(recorded: Recorded) -> Floats:
    """Of the transfer-size sweep, in bytes."""
    return np.array(recorded.names.texts["sizes"], dtype=np.float64)


def model(recorded: Recorded, experiment: str, operation: str) -> AccessModel:
    """The blog's model: the rate of the largest requests, and the time left to the smallest."""
    return access_model.two_point_model(
        sizes(recorded), seconds_per_io(recorded, experiment, operation)
    )


def misfit(recorded: Recorded, experiment: str, operation: str) -> Floats:
    """Measured over predicted throughput, less one, by size."""
    return _misfit(recorded, experiment, operation, model(recorded, experiment, operation))


def profile_misfit(recorded: Recorded, experiment: str, operation: str) -> Floats:
    """The same of a model made of a profile's mean rate and a mean access time, as HD Tune gives
    them."""
    rate = float(recorded.mbps(experiment, f"profile/{operation}/{{0..63}}").mean()) * 1e6
    predicted = AccessModel(access_s(recorded, experiment), rate)
    return _misfit(recorded, experiment, operation, predicted)


def _misfit(recorded: Recorded, experiment: str, operation: str, predicted: AccessModel) -> Floats:
    measured = sizes(recorded) / seconds_per_io(recorded, experiment, operation)
    return measured / predicted.bytes_per_second(sizes(recorded)) - 1


def access_s(recorded: Recorded, experiment: str) -> float:
    """Mean time of a single read, at any queue's end: HD Tune's access time."""
    return float(recorded.latency_s(experiment, "profile/access/{0..399}").mean())


def freed_rate(recorded: Recorded, experiment: str, count: int) -> float:
    """The rate of the largest writes without so many penalties, in bytes per second."""
    return access_model.rate_without_penalties(
        int(sizes(recorded)[-1]),
        float(seconds_per_io(recorded, experiment, "write")[-1]),
        model(recorded, experiment, "write").access_penalty_s,
        count,
    )


def penalties(recorded: Recorded, experiment: str) -> Floats:
    """Access penalties per write by size, with the rate freed of the two that the largest pays."""
    return access_model.penalties_per_io(
        sizes(recorded),
        seconds_per_io(recorded, experiment, "write"),
        model(recorded, experiment, "write").access_penalty_s,
        freed_rate(recorded, experiment, 2),
    )


def block_mib(recorded: Recorded, experiment: str) -> float:
    """The block whose copying costs the penalty of a write."""
    reads, writes = (model(recorded, experiment, operation) for operation in ("read", "write"))
    block_bytes = access_model.rewritten_block_bytes(
        writes.access_penalty_s,
        writes.sequential_rate_bytes_per_second,
        reads.sequential_rate_bytes_per_second,
    )
    return block_bytes / MIB


def tail(recorded: Recorded, experiment: str) -> Floats:
    """IOPS from 1400 s of 2000 s on, or of the same share of a shorter run."""
    iops = recorded.seconds(experiment, RUN)
    return iops[min(TAIL_S, round(len(iops) * TAIL_S / RUN_S)) :]


def spread(recorded: Recorded, experiment: str) -> Any:
    """Standard deviation over mean of the tail: the spread that a log axis shows."""
    iops = tail(recorded, experiment)
    return iops.std() / iops.mean()


def plateau_ratio(recorded: Recorded, experiment: str) -> Any:
    """Median of the first ten seconds over the mean of the tail."""
    return _plateau(recorded.seconds(experiment, RUN)) / tail(recorded, experiment).mean()


def sharpness_s(recorded: Recorded, experiment: str) -> float:
    """Seconds between the last one near the plateau (three quarters) and the first one at half."""
    iops = recorded.seconds(experiment, RUN)
    first = _first_below_half(iops)
    near = np.flatnonzero(iops[:first] >= 0.75 * _plateau(iops))
    return float(first - near[-1]) if first < len(iops) and len(near) else float("inf")


def plateau_s(recorded: Recorded, experiment: str, recording: str) -> float:
    """Seconds until the rate first falls below half of that of the first ten."""
    return float(_first_below_half(recorded.seconds(experiment, recording)))


def steady_iops(recorded: Recorded, experiment: str, recording: str) -> Any:
    """Mean of the last 400 s."""
    return np.float64(consistency.steady(recorded.seconds(experiment, recording)).mean_iops)


def _plateau(iops: Floats) -> Any:
    return np.median(iops[:10])


def _first_below_half(iops: Floats) -> int:
    below = np.flatnonzero(iops < _plateau(iops) / 2)
    return int(below[0]) if len(below) else len(iops)


FUNCTIONS = (
    model, misfit, profile_misfit, access_s, freed_rate, penalties, block_mib,
    tail, spread, plateau_ratio, sharpness_s, plateau_s, steady_iops,
)  # fmt: skip
"""What expressions may call, without their first argument."""

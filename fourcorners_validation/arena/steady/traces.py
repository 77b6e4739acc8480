"""Traces: the rates that a host would measure on a drive, and the truth about the drive."""

from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from fourcorners.analysis.steady_state import SPARE_SHARE_MAX, Series, Spread
from fourcorners.recording.arrays import Floats
from fourcorners.suites.steps import Fill
from fourcorners.suites.subject import filled_bytes
from fourcorners.target.target import Target
from fourcorners.workload import Workload
from fourcorners_validation.arena.steady.drives import TraceCase

NOISE_SHARES = (0.0, 0.01, 0.03, 0.08)
"""Standard deviations of a host's noise in a second's rate; a trace has one of them."""

ROUNDS_PER_FILL = (10, 30, 60)
"""Rounds, for the rules that know rounds, in the time that the drive takes to be filled: so many of
SNIA's minutes it takes to fill 256 GB at 400 MB/s, 4 TB at 2 GB/s and 15 TB at 4 GB/s."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One test, second by second.

    ``rate`` is what the host sees, in bytes per second of reads and writes together; ``clean`` is
    the same without the host's noise. Shapes: (seconds,).
    """

    kind: str
    noise_share: float
    capacity_bytes: int
    spare_bytes_max: float
    unwritten_bytes: float
    """Both are what anyone can know who knows the preparation; see :func:`judge`."""
    spread: Spread
    """Of the writes, which anyone knows who runs the test."""
    round_s: int
    rate: Floats
    clean: Floats
    written_bytes: Floats

    @property
    def series(self) -> Series:
        """The input of the judge."""
        return Series.of_seconds(self.rate, self.written_bytes)


def simulate(case: TraceCase) -> Trace:
    """Runs the case's drive through its preparation and its test."""
    with case.opened() as drive:
        return _simulated(case, drive)


def _simulated(case: TraceCase, drive: Target) -> Trace:
    capacity = drive.capacity_bytes
    chance = np.random.default_rng([case.seed, 1])
    filled = filled_bytes(capacity, case.filled_share) if case.filled_share else 0
    fill_s = 0.0
    # An empty drive's rate comes from the first bytes that are written to it.
    for workload in Fill(filled or capacity // 16).workloads(case.seed):
        fill_s += drive.run(workload).elapsed_s
    fill_s *= capacity / (filled or capacity // 16)
    if not filled:
        drive.purge()
    write_share = 1 - case.stream.read_share
    if case.used_capacities:
        count = int(case.used_capacities * capacity / write_share)
        drive.run(Workload([case.stream], volume_bytes=count, seed=case.seed))
    count = int(case.test_capacities * capacity / write_share)
    recording = drive.run(Workload([case.stream], volume_bytes=count, seed=case.seed + 1))
    # The last second is not a whole one.
    written = recording.write.second_bytes[:-1].astype(np.float64)
    clean = written.copy()
    if "read" in recording.operations:
        read = recording.read.second_bytes.astype(np.float64)
        clean += np.pad(read, (0, max(0, len(written) - len(read))))[: len(written)]
    share = float(NOISE_SHARES[int(chance.integers(len(NOISE_SHARES)))])
    factor = _noise(chance, len(clean), share)
    return Trace(
        kind=case.kind,
        noise_share=share,
        capacity_bytes=capacity,
        spare_bytes_max=0.0 if case.used_capacities else SPARE_SHARE_MAX * capacity,
        unwritten_bytes=0.0 if case.used_capacities else float(capacity - filled),
        spread=Spread.of_streams([case.stream], capacity),
        round_s=max(1, round(fill_s / int(chance.choice(ROUNDS_PER_FILL)))),
        rate=clean * factor,
        clean=clean,
        written_bytes=written * factor,
    )


def _noise(chance: np.random.Generator, seconds: int, share: float) -> Floats:
    """Factors of mean 1: noise correlated over some seconds, with occasional stalls."""
    if share == 0.0:
        return np.ones(seconds)
    memory = float(chance.choice([0.0, 0.7, 0.95]))
    white = chance.standard_normal(seconds) * share * np.sqrt(1 - memory**2)
    factor = np.exp(lfilter([1.0], [1.0, -memory], white))
    stalls = chance.random(seconds) < 0.002
    factor[stalls] *= chance.uniform(0.05, 0.6, int(stalls.sum()))
    return np.asarray(factor / factor.mean(), dtype=np.float64)

"""What SNIA's tests share: the two editions, preconditioning, and rounds until a steady state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorners.recording import Recording
from fourcorners.suites.common import KIB
from fourcorners.suites.parameters import COUNT, SECONDS, choice, parameter
from fourcorners.suites.steps import FILL_BLOCK_BYTES, Fill, Purge, Step
from fourcorners.suites.subject import Subject
from fourcorners.suites.test import Adaptive, MeasuredSoFar, Measurement
from fourcorners.workload import Stream, Workload

SOURCE = "SNIA SSS PTS 2.0.2"
# Of the specification: at most 25 rounds, the capacity twice before them, and 20 minutes of
# histograms.
ROUNDS_MAX = 25
PRECONDITIONING_CAPACITIES = 2
MINUTE_S = 60.0
HISTOGRAM_S = 1200.0


@dataclass(frozen=True)
class Edition:
    """What the enterprise and client editions differ in.

    ``cache`` off is what the specification calls WCD: here every write is forced to the medium
    (FUA), which a drive treats as it does all writes when its cache is off.
    """

    name: str
    active_share: float
    depth: int
    threads: int
    cache: bool


ENDS = ("snia", "judge")
"""Who says that rounds are steady: the specification, or the judge of docs/steady-state.md."""

EDITIONS = {
    "enterprise": Edition("enterprise", 1.0, 32, 4, cache=False),
    "client": Edition("client", 0.75, 16, 2, cache=True),
}


@dataclass(frozen=True)
class EditionParameters:
    """The edition, and what it recommends to have outstanding."""

    edition: str = parameter(choice(*EDITIONS), "enterprise", "PTS-E or PTS-C")
    depth: int | None = parameter(COUNT, None, "queue depth of a thread, recommended by edition")
    threads: int | None = parameter(COUNT, None, "threads, recommended by edition")


@dataclass(frozen=True)
class SniaParameters(EditionParameters):
    """Of the tests that run rounds until a steady state."""

    time_s: float = parameter(SECONDS, MINUTE_S, "each measurement of a round")
    rounds: int = parameter(COUNT, ROUNDS_MAX, "rounds at most")
    until: str = parameter(choice(*ENDS), "snia", "what ends the rounds: SNIA's rule or the judge")


class SniaSetting:
    """An edition with its parameters on a target."""

    def __init__(self, subject: Subject, parameters: Any) -> None:
        """Of a test's parameters those that it has."""
        self.subject = subject
        self.edition = EDITIONS[parameters.edition]
        self.depth = getattr(parameters, "depth", None) or self.edition.depth
        self.threads = getattr(parameters, "threads", None) or self.edition.threads
        self.active_bytes = subject.share_bytes(self.edition.active_share)

    def stream(
        self,
        reads: float,
        pattern: str,
        block_bytes: int,
        depth: int | None = None,
        threads: int | None = None,
    ) -> Stream:
        """Random data over the active range, at the edition's depth and threads."""
        return Stream(
            read_share=reads,
            pattern=pattern,
            block_bytes=block_bytes,
            span_bytes=self.active_bytes,
            queue_depth_per_worker=depth or self.depth,
            workers=threads or self.threads,
            fua=not self.edition.cache and reads < 1,
        )

    def preconditioning(self, block_bytes: int = FILL_BLOCK_BYTES) -> tuple[Step, ...]:
        """Purge, and twice the capacity in sequence: the workload-independent part."""
        times = PRECONDITIONING_CAPACITIES * self.subject.area_bytes / self.active_bytes
        return (Purge(), Fill(self.active_bytes, times=times, block_bytes=block_bytes))

    def fitting(self, blocks: Sequence[int]) -> list[int]:
        """The block sizes that the target can address."""
        alignment = self.subject.request_alignment_bytes
        return [b for b in blocks if b % alignment == 0 and b <= self.active_bytes]

    def shown(self, **more: str) -> dict[str, str]:
        """The parameters that are printed."""
        cache = "on" if self.edition.cache else "off: every write is forced to the medium (FUA)"
        return {
            "edition": self.edition.name,
            "active range": self.subject.extent(self.active_bytes),
            "write cache": cache,
            "data": "random",
            **more,
        }

    @property
    def outstanding(self) -> str:
        """Depth and threads in words."""
        if self.threads == 1:
            return f"{self.depth}, one thread"
        return f"{self.depth} each of {self.threads} threads"


def rounds(
    preparation: tuple[Step, ...],
    batch: Callable[[int], tuple[Measurement, ...]],
    value: Callable[[Recording], float],
    rounds_max: int,
    *,
    judged_bytes: int | None = None,
    number: int = 1,
) -> Adaptive:
    """Rounds until every tracked variable is steady by SNIA's rule, or there are enough.

    With ``judged_bytes``, the size of the written span, the judge of steady state decides instead.
    ``batch`` gives the measurements of a round, from 1; those with a metric decide. ``number`` is
    the first round's.
    """
    first = batch(number)
    tracked = [index for index, one in enumerate(first) if one.axes.get("tracked")]

    def following(measured: MeasuredSoFar) -> tuple[Measurement, ...]:
        # Loaded here, as what it brings along takes the command half a second to start.
        from fourcorners.analysis.steady_state import Series, judge, snia_window

        recordings = list(measured.values())
        if judged_bytes is not None:
            parts = [
                recordings[at : at + len(first)] for at in range(0, len(recordings), len(first))
            ]
            duration = np.array([sum(one.elapsed_s for one in part) for part in parts])
            written = np.array([sum(map(_written_bytes, part)) for part in parts])
            verdicts = [
                judge(
                    Series(np.array([value(part[index]) for part in parts]), duration, written),
                    judged_bytes,
                )
                for index in tracked
            ]
            if all(verdict.settled for verdict in verdicts):
                return ()
            return batch(number + len(parts))
        windows = [
            snia_window(np.array([value(one) for one in recordings[index :: len(first)]]))
            for index in tracked
        ]
        if all(window is not None and window.steady for window in windows):
            return ()
        return batch(number + len(measured) // len(first))

    def from_round(later: int) -> Adaptive:
        return rounds(
            preparation, batch, value, rounds_max, judged_bytes=judged_bytes, number=later
        )

    return Adaptive(
        preparation,
        first,
        following,
        batches_max=rounds_max,
        what="rounds",
        from_round=from_round,
    )


def _written_bytes(recording: Recording) -> float:
    return float(recording.write.bytes) if "write" in recording.operations else 0.0


def in_round(
    number: int,
    id: str,
    label: str,
    stream: Stream,
    seconds: float,
    seed: int,
    *,
    metric: str | None = None,
    **axes: Any,
) -> Measurement:
    """One measurement of a round. A ``metric`` makes it one that the steady state is judged by.
    Rounds have seeds of their own: who writes the same places again
    in the same order leaves whole blocks without valid data."""
    # Far enough apart that no two rounds' measurements share one.
    own_seed = seed + 1000 * number
    place: dict[str, Any] = {"round": number, "variable": label}
    # What SNIA's plots of convergence show, beside the tracked variables.
    if stream.read_share == 0:
        place["round_of_writes"] = number
    if stream.read_share == 1:
        place["round_of_reads"] = number
    return Measurement(
        f"round-{number}/{id}",
        f"round {number}: {label}",
        Workload([stream], duration_s=seconds, seed=own_seed),
        {**place, "tracked": metric is not None, "metric": metric, **axes},
    )


BLOCK_4K = 4 * KIB

"""Preconditioning by the workload itself, until the judge says that the drive is in its steady
state: on any target, by writes alone."""

from collections.abc import Callable
from dataclasses import dataclass

from fourcorners.errors import EXIT_FAILED, UserError
from fourcorners.recording import Recording
from fourcorners.workload import Stream, Workload

ROUNDS_PER_CAPACITY = 100
"""Rounds in which the stream writes its span once: fine against what a drive goes through, and long
enough that the pause between two rounds is nothing."""

CAPACITIES_MIN = 1.0
"""Times that the span is written at least: until then blocks of the sequential fill are still being
mixed in, which no rate shows."""

CAPACITIES_MAX = 8.0
"""Times that the span is written, at most: after that a drive is as it is."""


@dataclass(frozen=True)
class Outcome:
    """What was written, and whether the judge ended it; otherwise it had been enough."""

    steady: bool
    written_bytes: int


def write_until_steady(
    run: Callable[[Workload], Recording],
    stream: Stream,
    *,
    span_bytes: int,
    capacity_bytes: int,
    unwritten_bytes: int = 0,
    capacities_max: float = CAPACITIES_MAX,
    seed: int = 1,
) -> Outcome:
    """Runs a stream that only writes, round by round, until the drive is in its steady state.

    Before it the drive is filled once in sequence, no more: a second fill changes nothing that
    random writes do not undo. Rounds have seeds of their own, because writing the same places in
    the same order leaves whole blocks without valid data.

    Args:
        run: carries out a workload, such as :meth:`Target.run`.
        stream: what the test will do, over its span.
        span_bytes: of the stream.
        capacity_bytes: of the target; what is not in the span may be spare area.
        unwritten_bytes: part of the span that holds no data.
        capacities_max: times that the span is written, at most.
        seed: of the first round.

    Raises:
        UserError: a round failed or was interrupted.
    """
    # Loaded when first used, as it brings scipy along.
    from fourcorners.analysis.steady_state import SPARE_SHARE_MAX, OnlineJudge, Spread

    judge = OnlineJudge(
        span_bytes,
        spare_bytes_max=SPARE_SHARE_MAX * capacity_bytes + capacity_bytes - span_bytes,
        unwritten_bytes=unwritten_bytes,
        spread=Spread.of_streams([stream], span_bytes),
    )
    block = stream.block_bytes
    count = max(1, span_bytes // ROUNDS_PER_CAPACITY // block) * block
    written = 0
    for number in range(round(capacities_max * span_bytes / count)):
        workload = Workload([stream], volume_bytes=count, seed=seed + number)
        recording = run(workload)
        if recording.failure is not None or recording.interrupted:
            reason = recording.failure or "it was interrupted"
            raise UserError(f"preconditioning did not end: {reason}", EXIT_FAILED)
        done = recording.write
        written += done.bytes
        verdict = judge.add(done.bytes_per_second, recording.elapsed_s, float(done.bytes))
        mixed = written >= CAPACITIES_MIN * span_bytes
        if mixed and verdict is not None and verdict.prepared:
            return Outcome(steady=True, written_bytes=written)
    return Outcome(steady=False, written_bytes=written)

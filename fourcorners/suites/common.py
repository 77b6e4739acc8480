"""Shared by many tests: sizes, spans, and a measurement of some seconds."""

from collections.abc import Sequence
from typing import Any, Literal

from fourcorners.suites.test import Measurement
from fourcorners.workload import Stream, Workload

KIB, MIB = 2**10, 2**20
# The 8 GB that the reviews' random tests stay in.
SPAN_BYTES = 8 * 10**9
POWERS_TO_256 = tuple(2**step for step in range(9))

Operation = Literal["read", "write"]
OPERATIONS: tuple[Operation, ...] = ("read", "write")


def access(operation: Operation, pattern: str, block_bytes: int, **fields: Any) -> Stream:
    """A stream that only reads or only writes."""
    read_share = 1.0 if operation == "read" else 0.0
    return Stream(read_share=read_share, pattern=pattern, block_bytes=block_bytes, **fields)


def timed(
    id: str,
    label: str,
    stream: Stream,
    duration_s: float,
    *,
    seed: int = 1,
    ramp_s: float = 0.0,
    log_ios: int = 0,
    **axes: Any,
) -> Measurement:
    """One stream for some seconds."""
    workload = Workload([stream], duration_s=duration_s, ramp_s=ramp_s, seed=seed, log_ios=log_ios)
    return Measurement(id, label, workload, axes)


def listed(values: Sequence[Any]) -> str:
    """Values in words: all of a few, else the first three and the last."""
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 4 else [*texts[:3], f"... {texts[-1]}"])

"""Bursts of writes as they were recorded, made of pieces with a rate each."""

import numpy as np
from analysis_fixture import FakeRun

from fourcorners.analysis.internals.caches.burst_curve import Curve

OF_FLASH = {"link_ceiling": 3.3e9, "page_bytes": 16384.0}


def curve_of(*pieces: tuple[float, float]) -> Curve:
    """Amounts, each with its rate."""
    amounts, rates = np.array(pieces).T
    ends = np.cumsum(amounts)
    times = np.append(0.0, np.cumsum(amounts / rates))
    count = np.linspace(0, ends[-1], 2001)[1:]
    return Curve(np.interp(count, np.append(0.0, ends), times), count)


def filled(*pieces: tuple[float, float]) -> FakeRun:
    """A run that only filled its drive: such amounts at such rates."""
    run = FakeRun(capacity_bytes=2 * 2**30)
    add_burst(run, "probe-overwrite/fill", curve_of(*pieces), "fill")
    return run


def add_burst(run: FakeRun, recording: str, curve: Curve, stage: str) -> None:
    at_ns = np.rint(curve.seconds * 1e9).astype(np.int64)
    count = np.full(len(at_ns), 16)
    block = round(curve.count_bytes[-1] / count.sum())
    run.add(
        recording,
        "write",
        iops=count.sum() / float(curve.seconds[-1]),
        elapsed_s=float(curve.seconds[-1]),
        block_bytes=block,
        stage=stage,
    )
    run.histograms[recording, "write"] = (at_ns, at_ns, count)

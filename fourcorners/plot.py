"""Pictures for notebooks, through matplotlib where it is installed."""

from typing import TYPE_CHECKING

import numpy as np

from fourcorners.errors import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fourcorners.recording import Recording


def plot_recording(recording: "Recording") -> "Figure":
    """IOPS by second on the left, the share of I/Os slower than a latency on the right."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError('plots need matplotlib: pip install "fourcorners[plot]"') from None
    figure = Figure(figsize=(10, 4), layout="constrained")
    by_second, by_latency = figure.subplots(1, 2)
    for name, operation in recording.operations.items():
        # The last second is usually cut short; as a rate it would read as a drop.
        whole_seconds = int(recording.elapsed_s)
        by_second.plot(operation.second_ios[: max(whole_seconds, 1)], ".", label=name)
        slower = 1 - np.cumsum(operation.bucket_count) / max(operation.ios, 1)
        latency_ms = operation.bucket_high_ns / 1e6
        by_latency.step(latency_ms[:-1], slower[:-1], where="post", label=name)
    by_second.set(xlabel="time (s)", ylabel="IOPS", ylim=(0, None))
    by_latency.set(xscale="log", yscale="log", xlabel="latency (ms)", ylabel="share slower")
    by_latency.legend()
    return figure

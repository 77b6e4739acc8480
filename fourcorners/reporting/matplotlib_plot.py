"""Pictures for notebooks, through matplotlib where it is installed."""

from typing import TYPE_CHECKING

import numpy as np

from fourcorners.analysis import latency_over_time
from fourcorners.errors import UserError
from fourcorners.recording import LatencyOverTime, Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(recording: Recording) -> "Figure":
    """IOPS by second, the share of I/Os slower than a latency, and below them latency over time: a
    map for each operation, where it took more than a second.

    Raises :class:`UserError` where matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UserError('plots need matplotlib: pip install "fourcorners[plot]"') from None
    # The last second is usually cut short; as a rate it would read as a drop.
    whole_seconds = int(recording.elapsed_s)
    latencies = {name: one.latency_over_time for name, one in recording.operations.items()}
    whole = {name: rows.chosen(rows.second < whole_seconds) for name, rows in latencies.items()}
    maps = {name: rows for name, rows in whole.items() if rows.second.any()}
    figure = Figure(figsize=(10, 4 + 3 * len(maps)), layout="constrained")
    grid = figure.add_gridspec(1 + len(maps), 2)
    by_second, by_latency = (figure.add_subplot(grid[0, column]) for column in (0, 1))
    for name, operation in recording.operations.items():
        by_second.plot(operation.second_ios[: max(whole_seconds, 1)], ".", label=name)
        slower = 1 - np.cumsum(operation.histogram.count) / max(operation.ios, 1)
        latency_ms = operation.histogram.high_ns / 1e6
        by_latency.step(latency_ms[:-1], slower[:-1], where="post", label=name)
    by_second.set(xlabel="time (s)", ylabel="IOPS", ylim=(0, None))
    by_latency.set(xscale="log", yscale="log", xlabel="latency (ms)", ylabel="share slower")
    by_latency.legend()
    for row, (name, rows) in enumerate(maps.items(), 1):
        plot_latency_over_time(figure.add_subplot(grid[row, :]), rows, name)
    return figure


def plot_latency_over_time(axes: "Axes", latencies: LatencyOverTime, name: str) -> None:
    """The shares of the I/Os of a time that took so long, under their median and 99th percentile.

    Args:
        axes: what to draw on.
        latencies: of a recording; at least one second of it has I/Os.
        name: of the operation.
    """
    from matplotlib.colors import LogNorm

    width_s = latency_over_time.column_seconds(float(latencies.second[-1] + 1))
    made = latency_over_time.map_of([(0.0, latencies)], width_s)
    edges_ns = np.unique(np.concatenate([made.low_ns, made.high_ns + 1]))
    shares = np.full((len(edges_ns) - 1, int(made.column[-1]) + 1), np.nan)
    ios = np.bincount(made.column, weights=made.count)
    shares[np.searchsorted(edges_ns, made.low_ns), made.column] = made.count / ios[made.column]
    image = axes.pcolormesh(
        np.arange(shares.shape[1] + 1) * width_s,
        np.maximum(edges_ns, 1) / 1e6,
        shares,
        norm=LogNorm(1e-4, 1),
        cmap="Blues",
    )
    for (label, percent), style in zip(
        latency_over_time.MAP_PERCENTILES.items(), ("k-", "k--"), strict=True
    ):
        columns, latency_s = made.percentile_s(percent)
        axes.plot((columns + 0.5) * width_s, latency_s * 1e3, style, linewidth=1, label=label)
    axes.set(yscale="log", xlabel="time (s)", ylabel=f"{name} latency (ms)")
    axes.legend(loc="upper right")
    axes.figure.colorbar(image, ax=axes, label=f"share of the I/Os of {width_s} s")

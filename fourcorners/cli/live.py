"""The live view of a run in a terminal: where it stands, and rate and latency as plots."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Self

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fourcorners import wording
from fourcorners.cli.output import new_console
from fourcorners.reporting.terminal_plots import dots
from fourcorners.running.progress import Progress, Status

# Drawing takes some 10 ms of a processor that the measurement may want.
_DRAWN_PER_SECOND = 2
# What the plots show, in wall-clock time.
_WINDOW_S = 120.0
_POINTS_MAX = 1200
_PLOT_ROWS = 5
# Frame and labels beside a plot: "| 1,234 MB/s".
_PLOT_MARGIN = 13
# Below that the plots would push what was told out of sight.
_ROWS_MIN, _COLUMNS_MIN = 18, 70


class LiveView(Progress):
    """Current test, share, times, rate and latency, drawn anew twice a second; what is told scrolls
    above it. A context manager."""

    def __init__(self, console: Console | None = None) -> None:
        """Draws nothing until entered."""
        self._console = console or new_console(stderr=True)
        self._status: Status | None = None
        self._seconds: deque[float] = deque(maxlen=_POINTS_MAX)
        self._rates: deque[float] = deque(maxlen=_POINTS_MAX)
        self._latencies: deque[float] = deque(maxlen=_POINTS_MAX)
        self._live = Live(
            self,
            console=self._console,
            refresh_per_second=_DRAWN_PER_SECOND,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def message(self, text: str) -> None:
        self._console.print(text, highlight=False)

    def update(self, status: Status) -> None:
        if self._status is not None and status.elapsed_s < self._status.elapsed_s:
            # The next run of the same command.
            for one in (self._seconds, self._rates, self._latencies):
                one.clear()
        self._status = status
        if status.current_bytes_per_second is None:
            return
        self._seconds.append(status.elapsed_s)
        self._rates.append(status.current_bytes_per_second / 1e6)
        self._latencies.append(1e3 * (status.current_latency_s or float("nan")))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self._status is not None:
            yield self._drawn(self._status, options.max_width, console.height)

    def _drawn(self, status: Status, columns: int, rows: int) -> Group:
        head = Table.grid(padding=(0, 1))
        head.add_row(
            ProgressBar(total=1.0, completed=status.fraction, width=20),
            Text(f"{100 * status.fraction:3.0f} %  {_times(status)}"),
        )
        parts: list[RenderableType] = [
            Text(
                f"{status.test}: {status.activity}", style="bold", no_wrap=True, overflow="ellipsis"
            ),
            head,
            Text(_rates(status), no_wrap=True, overflow="ellipsis"),
        ]
        if rows >= _ROWS_MIN and columns >= _COLUMNS_MIN and len(self._seconds) > 1:
            width = columns // 2 - _PLOT_MARGIN - 2
            plots = [_plot("rate", self._seconds, self._rates, " MB/s", width)]
            if any(latency == latency for latency in self._latencies):  # not NaN
                plots.append(_plot("mean latency", self._seconds, self._latencies, " ms", width))
            parts.append(Columns(plots, padding=(0, 1)))
        return Group(*parts)


def _times(status: Status) -> str:
    end = time.localtime(time.time() + status.remaining_s)
    # Another day than today is told as well.
    form = "%H:%M" if status.remaining_s < 12 * 3600 else "%a %H:%M"
    elapsed, left = wording.clock(status.elapsed_s), wording.clock(status.remaining_s)
    return f"{elapsed} elapsed, {left} to go, ends about {time.strftime(form, end)}"


def _rates(status: Status) -> str:
    if status.current_bytes_per_second is None:
        return ""
    parts = [wording.rate(status.current_bytes_per_second)]
    if status.current_iops is not None:
        parts.append(f"{wording.number(status.current_iops)} IOPS")
    if status.current_latency_s is not None:
        parts.append(f"mean latency {wording.duration(status.current_latency_s)}")
    return ", ".join(parts)


def _plot(
    title: str, seconds: Sequence[float], values: Sequence[float], unit: str, width: int
) -> Text:
    """One curve over the last minutes."""
    first = seconds[-1] - _WINDOW_S
    return dots(title, seconds, values, unit, width=width, rows=_PLOT_ROWS, first=first, lines=True)

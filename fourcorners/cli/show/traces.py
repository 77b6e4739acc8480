"""Traces in the terminal."""

from rich.table import Table
from rich.text import Text

from fourcorners import wording
from fourcorners.cli.output import new_console, say
from fourcorners.recording import NS
from fourcorners.reporting.terminal_plots import ROWS, dots
from fourcorners.trace.changing import WrittenTrace
from fourcorners.trace.facts import facts
from fourcorners.trace.figures import TraceInformation
from fourcorners.wording import count

# Frame and labels beside a plot of 80 columns.
_PLOT_COLUMNS = 80 - 18
# Of more volumes the rest is in --json.
_VOLUMES_SHOWN = 20


def show_information(found: TraceInformation) -> None:
    """A line for each thing, the volumes, and I/Os and blocks over time."""
    console = new_console()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, text in facts(found):
        table.add_row(Text(name), Text(text))
    console.print(table)
    if len(found.volumes) > 1:
        console.print(_volumes(found))
    intervals = found.over_time.intervals
    if len(intervals) < 2:
        return
    interval_s = found.over_time.interval_ns * NS
    seconds = [number * interval_s for number in range(len(intervals))]
    rates = [(one.reads + one.writes + one.others) / interval_s for one in intervals]
    sets = [one.working_set_bytes / 1e6 for one in intervals]
    within = wording.duration(interval_s)
    for title, values, unit in (
        ("I/Os a second", rates, " IOPS"),
        (f"Blocks that are used within {within}", sets, " MB"),
    ):
        console.print(dots(title, seconds, values, unit, width=_PLOT_COLUMNS, rows=ROWS))


def _volumes(found: TraceInformation) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("volume", overflow="fold")
    for column in ("I/Os", "read", "written", "used up to"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in found.volumes[:_VOLUMES_SHOWN]:
        table.add_row(
            Text(one.name),
            f"{sum(one.ios.values()):,}",
            *(wording.amount(size) for size in (one.read_bytes, one.written_bytes, one.end_bytes)),
        )
    hidden = len(found.header.volumes) - _VOLUMES_SHOWN
    if hidden > 0:
        table.add_row(f"and {hidden} more")
    return table


def show_written(written: WrittenTrace) -> None:
    """What was written, where it comes from, and what could not be carried."""
    say(f"{written.path}: {count(written.ios, 'I/O')}, {written.format}")
    for sentence in written.header.origin:
        say(f"  {sentence}")
    if written.header.lost_events:
        say(f"  the recorder lost {count(written.header.lost_events, 'event')}")
    for what, ios in written.lost.items():
        say(f"  not carried by {written.format}: {what} ({count(ios, 'I/O')})")

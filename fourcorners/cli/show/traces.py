"""Traces in the terminal."""

from pathlib import Path

from rich.table import Table
from rich.text import Text

from fourcorners import wording
from fourcorners.cli.output import new_console, say
from fourcorners.recording import NS
from fourcorners.reporting.terminal_plots import ROWS, dots
from fourcorners.trace.capturing import Capture
from fourcorners.trace.changing import WrittenTrace
from fourcorners.trace.facts import facts
from fourcorners.trace.figures import TraceInformation
from fourcorners.trace.fitting import FitAgreement, TraceFit
from fourcorners.wording import count

# Frame and labels beside a plot of 80 columns.
_PLOT_COLUMNS = 80 - 18
# The unit of a plot's times is the largest that its time has twice.
_TIME_UNITS = ((1.0, " s"), (1e-3, " ms"), (1e-6, " µs"))
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
    unit_s, time_unit = next(
        (one for one in _TIME_UNITS if len(intervals) * interval_s >= 2 * one[0]), _TIME_UNITS[-1]
    )
    intervals = found.over_time.whole(found.length_ns)
    times = [number * interval_s / unit_s for number in range(len(intervals))]
    rates = [(one.reads + one.writes + one.others) / interval_s for one in intervals]
    sets = [one.working_set_bytes / 1e6 for one in intervals]
    within = wording.duration(interval_s)
    for title, values, unit in (
        ("I/Os a second", rates, " IOPS"),
        (f"Blocks that are used within {within}", sets, " MB"),
    ):
        console.print(
            dots(title, times, values, unit, width=_PLOT_COLUMNS, rows=ROWS, time_unit=time_unit)
        )


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


def show_capture(done: Capture) -> None:
    """What was captured, what was lost, and what it took."""
    show_written(done.trace)
    say(
        f"  {wording.duration(done.duration_s)}"
        f"{' (stopped before its time)' if done.interrupted else ''}; "
        f"lost: {count(done.trace.header.lost_events, 'event')}; its own load: "
        f"{wording.percent(done.cpu_s / done.duration_s if done.duration_s else 0, 2)} of a "
        f"processor, and {wording.amount(done.noted_bytes)} of notes"
    )


def show_fit(fit: TraceFit, out: Path | None) -> None:
    """The workload, or where it is; what the streams stand for, and what they cannot say."""
    if out is None:
        say(fit.suite.rstrip())
        _show_agreement(fit.agreement)
        return
    say(f"{out}: {count(len(fit.streams), 'stream')} for {count(fit.ios, 'I/O')}")
    for one in fit.streams:
        time = f", from {wording.duration(one.start_s)} on" if one.start_s else ""
        time += f", until {wording.duration(one.stop_s)}" if one.stop_s is not None else ""
        say(
            f"  {count(one.ios, one.operation)} {'in order' if one.sequential else 'at random'}, "
            f"{wording.amount(one.bytes)}: {one.pattern}, {one.arrival}, on "
            f"{wording.amount(one.span_bytes)}{time}"
        )
    for what, ios in fit.left_out.items():
        say(f"  not said by streams: {what} ({count(ios, 'I/O')})")
    _show_agreement(fit.agreement)


def _show_agreement(agreement: FitAgreement | None) -> None:
    if agreement is None:
        return
    table = Table(box=None, pad_edge=False)
    table.add_column(agreement.drive, no_wrap=True)
    for column in ("trace", "streams", f"of {agreement.seeds} seeds", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in agreement.figures:
        table.add_row(
            one.name,
            wording.quantity(one.trace, one.unit),
            wording.quantity(one.streams, one.unit),
            wording.interval((one.streams_low, one.streams_high), one.unit),
            wording.number(one.streams / one.trace) if one.trace and one.streams else "-",
        )
    new_console().print(table)


def show_written(written: WrittenTrace) -> None:
    """What was written, where it comes from, and what could not be carried."""
    say(f"{written.path}: {count(written.ios, 'I/O')}, {written.format}")
    for sentence in written.header.origin:
        say(f"  {sentence}")
    if not written.ios:
        say("  there is no I/O in it: trace info says when and on what volumes the trace has them")
    if written.header.lost_events:
        say(f"  the recorder lost {count(written.header.lost_events, 'event')}")
    for what, ios in written.lost.items():
        say(f"  not carried by {written.format}: {what} ({count(ios, 'I/O')})")

"""Cluster sizes in the terminal."""

from rich.table import Table
from rich.text import Text

from fourcorners import wording
from fourcorners.cli.output import new_console, say
from fourcorners.trace.cluster_study import ClusterStudy, DriveClusters, Interval


def show_clusters(study: ClusterStudy) -> None:
    """What each size makes of the files, and of each drive; which one to take."""
    console = new_console()
    say(
        f"{wording.count(study.files, 'file')}, {wording.amount(study.bytes)}, "
        f"{wording.amount(study.mean_bytes)} in the mean, {wording.amount(study.median_bytes)} in "
        f"the median; read in I/Os of up to {wording.size(study.io_bytes_max)}"
    )
    table = _table("cluster", "slack", "of the files", "I/Os", "of", "I/Os in single clusters")
    for one in study.sizes:
        table.add_row(
            wording.size(one.cluster_bytes),
            wording.amount(one.slack_bytes),
            wording.percent(one.slack_bytes / study.bytes if study.bytes else 0),
            f"{one.ios:,}",
            wording.size(one.io_mean_bytes),
            f"{one.ios_in_pieces:,}",
        )
    console.print(table)
    for drive in study.drives:
        _show_drive(drive)


def _show_drive(drive: DriveClusters) -> None:
    console = new_console()
    files = _table("cluster", "files read MB/s", "p99", "files written MB/s", "WA")
    changes = _table("cluster", "changes/s", "p99", "WA", "write, read, change all")
    for one in drive.clusters:
        files.add_row(
            wording.size(one.cluster_bytes),
            _spread(one.read_bytes_per_second, 1e-6),
            wording.duration(one.read_p99_s.mean),
            _spread(one.write_bytes_per_second, 1e-6),
            _spread(one.write_amplification),
        )
        changes.add_row(
            wording.size(one.cluster_bytes),
            _spread(one.changes_per_second),
            wording.duration(one.change_p99_s.mean),
            _spread(one.change_amplification),
            _spread(one.total_s, unit=" s"),
        )
    console.print(Text(drive.drive, "bold"))
    console.print(files)
    console.print(changes)
    say(
        f"  take {wording.size(drive.taken_bytes)} for these files; for changes of 4 KiB alone "
        f"{wording.size(drive.taken_change_bytes)}"
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _spread(value: Interval | None, scale: float = 1.0, unit: str = "") -> str:
    """The mean, and half the interval's width."""
    if value is None:
        return "-"
    half = (value.high - value.low) / 2
    mean = wording.number(value.mean * scale)
    return f"{mean} ± {wording.number(half * scale, 2)}{unit}"

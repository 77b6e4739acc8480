"""Runs against each other."""

from collections.abc import Sequence

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fourcorners.analysis.quantity import THROUGHPUT
from fourcorners.comparison import Check, Comparison
from fourcorners.comparison.check import by_gate
from fourcorners.comparison.difference import change
from fourcorners.comparison.forest import axis_of
from fourcorners.comparison.ranking import Rank
from fourcorners.comparison.strip import labels, row, span
from fourcorners.comparison.verdict import NOTHING_SHOWN, extent, verdicts
from fourcorners.wording import count, mbps, number

# A sweep of more points than this has one row.
_POINTS_SHOWN_MAX = 8
_NAME_COLUMNS, _BAR_COLUMNS = 34, 30
_OUTCOME_STYLES = {"failed": "bold red", "undecided": "yellow"}


def rendered(comparison: Comparison) -> Group:
    """What differs and how sure that is, and how the gates ended."""
    parts: list[RenderableType] = []
    for verdict in verdicts(comparison):
        parts.append(Text(verdict.title, style="bold"))
        for heading, phrases in verdict.statements:
            parts += [
                Text(heading),
                *map(_indented, map(Text, phrases)),
            ]
        if not verdict.statements:
            parts.append(Text(NOTHING_SHOWN))
        parts.append(Text(""))
    settings = [setting.words for setting in comparison.settings]
    claims = [f"{one.subject}: {one.words}" for one in comparison.claims]
    flash = [f"{one.subject}: {one.words}." for one in comparison.flash]
    for title, lines in (
        ("Whether the flash is the same", flash),
        ("What differs between the runs", settings),
        ("What is claimed", claims),
    ):
        if lines:
            parts += [Text(title, style="bold"), *map(_indented, map(Text, lines)), Text("")]
    parts += [Text(caution, style="yellow") for caution in comparison.cautions]
    if comparison.left_out:
        recordings = count(len(comparison.left_out), "recording")
        parts.append(
            Text(f"Not compared, as not every run has them whole: {recordings} (see --json).")
        )
    parts += [Text(""), _ranking(comparison)]
    parts += [
        part
        for subject in comparison.subjects[1:]
        for part in (Text(""), _throughput(comparison, subject.label))
    ]
    if comparison.checks:
        parts += [Text(""), *_gates(comparison.checks)]
    return Group(*parts)


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _ranking(comparison: Comparison) -> Group:
    parts: list[RenderableType] = [
        Text("Ranking by throughput, as a multiple of the baseline", style="bold")
    ]
    for group, ranks in comparison.ranking.items():
        if ranks:
            parts += [Text(group.words, style="dim"), _places(ranks)]
    return Group(*parts)


def _places(ranks: Sequence[Rank]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True, min_width=6)
    table.add_column(width=_NAME_COLUMNS, overflow="fold")
    table.add_column(justify="right", no_wrap=True, min_width=6)
    table.add_column(no_wrap=True)
    places = [rank.place for rank in ranks]
    top = max(rank.relative for rank in ranks)
    for rank in ranks:
        tied = "tie " if places.count(rank.place) > 1 else ""
        bar = Bar(top, 0, rank.relative, width=_BAR_COLUMNS)
        table.add_row(f"{tied}{rank.place}.", Text(rank.subject), number(rank.relative), bar)
    return table


def _throughput(comparison: Comparison, subject: str) -> Table:
    """Points by themselves, those of a long sweep in one row, on one axis."""
    base = comparison.baseline.label
    axis = axis_of([d for d in comparison.differences if d.quantity is THROUGHPUT])
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title=f"Throughput, MB/s: {subject} against {base}; ● is sure",
        title_justify="left",
        title_style="bold",
    )
    table.add_column("", overflow="fold")
    for column in ("baseline", "this"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column(labels(axis), no_wrap=True)
    table.add_column("90 % interval", justify="right", no_wrap=True)
    for group in comparison.groups:
        differences = comparison.of(group, subject, THROUGHPUT)
        if len(differences) > _POINTS_SHOWN_MAX:
            table.add_row(
                Text(f"{group.words}, {len(differences)} points"),
                "",
                "",
                span(axis, differences),
                Text(extent(differences), style="" if any(d.told for d in differences) else "dim"),
            )
            continue
        for difference in differences:
            table.add_row(
                Text(difference.label),
                mbps(difference.baseline),
                mbps(difference.value),
                row(axis, difference),
                Text(change(difference), style="" if difference.told else "dim"),
            )
    return table


def _gates(checks: Sequence[Check]) -> list[RenderableType]:
    lines: list[RenderableType] = [Text("Gates", style="bold")]
    for tried in by_gate(checks):
        lines.append(Text(f"{tried.gate.text}, {tried.words}"))
        told = [
            Text.assemble(
                (check.outcome, _OUTCOME_STYLES[check.outcome]),
                f"  {check.subject}, {check.recording}: {check.words}",
            )
            for check in tried.worst
        ]
        told += [Text(tried.rest, style="dim")] if tried.rest else []
        lines += map(_indented, told)
    return lines

"""What a person reads in an 80-column terminal when a run has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fourcorners.catalog.claims import Claim
from fourcorners.wording import at_start

from . import charts, terminal_plots
from .payload import LATENCIES
from .run import ReportedRun
from .view import report_view

SHOWN_ABOVE = ("corner_", "access_model_")
# Lines: more would push the summary off a screen.
RECORDINGS_MAX = 24
SEVERITY_STYLES = {"severe": "bold red", "moderate": "yellow", "slight": "dim"}
VERDICT_STYLES = {"holds": "green", "violated": "bold red", "not identifiable": "yellow"}


def render_summary(
    run: ReportedRun, published: Sequence[str] = (), claims: Sequence[Claim] = ()
) -> RenderableType:
    """The verdict, what may mislead, the four corners, the spec sheet beside the vendor's claims
    and those given, the access model and the other findings."""
    view = report_view([run], published, claims)
    drive = view["drives"][0]
    facts = [drive["capacity"], drive["kind"], f"profile {drive['profile']}", drive["date"]]
    parts: list[RenderableType] = [
        Text(drive["name"], style="bold"),
        Text(" · ".join(fact for fact in facts if fact), style="dim"),
    ]
    parts += [
        Text(f"{test['title']}: {test['status']}. {test['reason']}", style="red")
        for test in drive["trouble"]
    ]
    parts += [Text(line, style="red") for line in view["errors"]]
    for sentence in drive["verdict"]:
        parts += [Text(""), Text(sentence)]
    for title, _, lines in drive["sides"]:
        parts += [Text(""), Text(title, style="bold"), *(_remark(line) for line in lines)]
    if drive["verdict"]:
        parts += _caveats(drive)
    if any(corner["blocks"] for corner in view["corners"]):
        parts += [Text(""), _corners(view)]
    if drive["spec"]:
        parts += [Text(""), _spec(drive["spec"], drive["left_out"])]
    maps = {test["name"]: _maps(test) for test in charts.tests([run])}
    for name, title, rows in _own_tables(view):
        for table in maps.get(name) or [_recordings(title, rows)]:
            parts += [Text(""), table]
    if not drive["verdict"]:
        parts += _caveats(drive)
    for plot in (*terminal_plots.curves(run), *terminal_plots.rates_over_time(run)):
        parts += [Text(""), plot]
    if view["models"]:
        parts += [Text(""), _models(view)]
    shown = [row for row in view["findings"] if not row["name"].startswith(SHOWN_ABOVE)]
    if shown:
        parts += [Text(""), _findings(shown)]
    page = run.path / "report.html"
    if page.exists():
        parts += [Text(""), Text(f"Report: {page}")]
    return Group(*parts)


def _own_tables(view: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The tests without figures of their own: name, title and recordings."""
    titles = {test["name"]: test["title"] for test in view["drives"][0]["tests"]}
    return [(name, titles[name], rows) for name, rows in view["tables"].items() if name in titles]


def _maps(test: dict[str, Any]) -> list[Table]:
    """A test's heat maps of its first quantity, as tables."""
    heats = [chart for chart in test["charts"] if chart["kind"] == "heat"]
    tables = []
    for heat in heats:
        if heat["title"].partition(",")[0] != heats[0]["title"].partition(",")[0]:
            continue
        title = f"{test['title']}: {heat['title']} ({heat['corner']})"
        table = _table(title, "", *heat["columns"])
        for row in heat["rows"]:
            table.add_row(Text(f"  {row['name']}", style="dim"), *(c["text"] for c in row["cells"]))
        tables.append(table)
    return tables


def _recordings(title: str, rows: list[dict[str, Any]]) -> Table:
    """A test's recordings; of many, those of its end, as that is where a steady state is."""
    table = _table(title, "", "MB/s", "IOPS", "mean", "p99", "max")
    if len(rows) > RECORDINGS_MAX:
        table.add_row(Text(f"  {len(rows) - RECORDINGS_MAX} more in the report, then", style="dim"))
    for row in rows[-RECORDINGS_MAX:]:
        latency = dict(zip(LATENCIES, row["latency"], strict=True))
        numbers = (row["rate"], row["iops"], *(latency[key] for key in ("mean", "p99", "max")))
        table.add_row(Text(f"  {row['label']}", style="dim"), *numbers)
    return table


def _caveats(drive: dict[str, Any]) -> list[RenderableType]:
    """What stands between the result, which comes first, and a conclusion."""
    parts: list[RenderableType] = []
    if drive["misleading"]:
        parts += [Text(""), _misleading(drive["misleading"])]
    notes = [Text(f"Note: {note}", style="yellow") for note in drive["notes"]]
    return [*parts, *([Text("")] if notes else []), *notes]


def _misleading(rows: list[dict[str, str]]) -> Group:
    lines: list[RenderableType] = [Text("What may mislead", style="bold")]
    for row in rows:
        severity = row["severity"]
        lines.append(
            Text.assemble(row["title"], "  ", (severity, SEVERITY_STYLES.get(severity, "dim")))
        )
        lines.append(_item(row["text"]))
    return Group(*lines)


def _remark(remark: dict[str, str]) -> Padding:
    tests = f"  {remark['tests']}" if remark["tests"] else ""
    return Padding(Text.assemble(remark["text"], (tests, "dim")), (0, 0, 0, 2))


def _item(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))


def _table(title: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    table.add_column(columns[0])
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _corners(view: dict[str, Any]) -> Table:
    table = _table("The four corners", "", "MB/s", "IOPS", "mean", "p99", "max")
    for corner in view["corners"]:
        if corner["blocks"]:
            table.add_row(corner["title"])
        for block in corner["blocks"]:
            for bar in (bar for group in block["groups"] for bar in group["bars"]):
                kind = bar["content"] if len(corner["kinds"]) > 1 else ""
                name = ", ".join(part for part in (block["label"], kind) if part)
                numbers = (bar[key] for key in ("rate", "iops", "mean", "p99", "max"))
                table.add_row(Text(f"  {name}", style="dim"), *numbers)
    return table


def _spec(rows: list[dict[str, str]], left_out: str) -> Group:
    """Figures and intervals, and below them what is claimed of the drive."""
    table = _table("Spec sheet", "", "measured", "90 % interval")
    # A figure stands once, however many claims there are of it.
    for row in {row["quantity"]: row for row in rows}.values():
        title = row["title"] if row["title"][0].isupper() else f"  {row['title']}"
        table.add_row(title, row["measured"], row["interval"])
    claims = [row for row in rows if row["claim"]]
    if not claims and not left_out:
        return Group(table)
    heading = Text("What is claimed", style="bold")
    lines = [Text(left_out, style="dim")] if left_out else []
    lines += [Text(_claimed(row)) for row in claims]
    return Group(table, Text(""), heading, *(Padding(line, (0, 0, 0, 2)) for line in lines))


def _claimed(row: dict[str, str]) -> str:
    figure = "" if row["outcome"] == "not measured" else f"{row['measured']}, "
    return f"{at_start(row['title'])}: {figure}{row['claim']}"


def _models(view: dict[str, Any]) -> Table:
    table = _table(
        "Access model", "", "MB/s", "per\naccess", "half\nspeed at", "block,\nat most", "fails at"
    )
    for row in view["models"]:
        columns = ("operation", "rate", "penalty", "half", "block", "fails")
        table.add_row(*(row[column] for column in columns))
    return table


def _findings(rows: list[dict[str, Any]]) -> Group:
    lines: list[RenderableType] = [Text("Findings", style="bold")]
    for row in rows:
        verdict = row["verdict"]
        lines.append(
            Text.assemble(row["title"], "  ", (verdict, VERDICT_STYLES.get(verdict, "dim")))
        )
        lines.append(_item(row["text"] or row["value"]))
    return Group(*lines)

"""How results show themselves in Jupyter: small tables as HTML, every text escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from fourcorners import wording
from fourcorners.finding import Finding
from fourcorners.recording import Recording
from fourcorners.reporting.run import ReportedRun
from fourcorners.reporting.view import report_view

_HIDDEN = ("averages_",)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """An HTML table; cells are text."""
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    lines.append("<thead><tr>" + "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr></thead>")
    lines.append("<tbody>")
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "\n".join([*lines, "</tbody></table>"])


def findings_html(findings: Iterable[Finding], caption: str = "") -> str:
    """Findings, as ``findings.json`` has them."""
    rows = [
        (
            finding.title,
            finding.shown_value,
            finding.shown_interval,
            finding.verdict,
            finding.text,
        )
        for finding in findings
        if not finding.name.startswith(_HIDDEN)
    ]
    return table(("finding", "value", "90 % interval", "verdict", ""), rows, caption)


def run_html(run: ReportedRun) -> str:
    """A run, as the top of its report has it: which drive, how it ended, what one is getting into,
    the spec sheet; then what was found."""
    manifest = run.manifest
    [drive] = report_view([run])["drives"]
    parts = (manifest.target.name, manifest.suite, manifest.status)
    caption = ", ".join(part for part in parts if part)
    said = "".join(f"<p>{escape(text)}</p>" for text in drive["verdict"])
    sides = "".join(
        f"<h4>{escape(title)}</h4><ul>"
        + "".join(
            f"<li>{escape(line['text'])} <em>{escape(line['tests'])}</em></li>" for line in lines
        )
        + "</ul>"
        for title, _, lines in drive["sides"]
    )
    columns = ("title", "measured", "interval", "claim", "conditions")
    sheet = table(
        ("", "measured", "90 % interval", "", ""),
        [[row[column] for column in columns] for row in drive["spec"]],
        "Spec sheet",
    )
    found = findings_html(
        [f for f in run.findings if f.name not in ("summary", "spec_sheet")], "Findings"
    )
    return f"<h3>{escape(caption)}</h3>{said}{sides}{sheet if drive['spec'] else ''}{found}"


def recording_html(recording: Recording) -> str:
    """A recording: a row for each operation."""
    rows = [
        (
            name,
            wording.number(operation.iops),
            f"{wording.mbps(operation.bytes_per_second)} MB/s",
            *(
                wording.duration(value)
                for value in (
                    operation.latency_mean_s,
                    operation.latency_percentile_s(99),
                    operation.latency_max_s,
                )
            ),
        )
        for name, operation in recording.operations.items()
    ]
    caption = f"{wording.duration(recording.elapsed_s)} measured"
    return table(("", "IOPS", "rate", "mean", "p99", "max"), rows, caption)

"""How results show themselves in Jupyter: small tables as HTML, every text escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fourcorners import wording

if TYPE_CHECKING:
    from fourcorners.recording import Recording

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


def findings_html(findings: Iterable[Mapping[str, Any]], caption: str = "") -> str:
    """Findings, as ``findings.json`` has them."""
    rows = [
        (
            str(finding["title"]),
            wording.finding_value(finding),
            wording.finding_interval(finding),
            str(finding["verdict"]),
            str(finding["text"]),
        )
        for finding in findings
        if not str(finding["name"]).startswith(_HIDDEN)
    ]
    return table(("finding", "value", "90 % interval", "verdict", ""), rows, caption)


def run_html(manifest: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> str:
    """A run: which drive, how it ended, and what was found."""
    target = manifest.get("target") or {}
    caption = ", ".join(
        str(part)
        for part in (target.get("name"), manifest.get("suite"), manifest.get("status"))
        if part
    )
    return findings_html(findings, caption)


def recording_html(recording: "Recording") -> str:
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

"""What a person reads of an explanation in an 80-column terminal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fourcorners.analysis.internals.method import not_probed
from fourcorners.finding import ODD, Finding

STORY = "explanation"
# Findings that the report draws, and that say nothing of what is inside.
MISLEADING = "artefact_"
DRAWN = ("latency_over_time_", "averages_")


def render_explanation(
    name: str, findings: Sequence[Finding], missing: Sequence[tuple[str, str]]
) -> RenderableType:
    """The story and what may mislead about it, a table of values with their intervals, what each
    means and rests on, what is not known, what is no question of this drive, and what does not fit.

    Args:
        name: of the drive.
        findings: what the runs of the drive show together.
        missing: probes that did not run to their end, with the reason.
    """
    misleading = [f for f in findings if f.name.startswith(MISLEADING)]
    # What was not probed is listed last.
    besides = (*ODD, *DRAWN, MISLEADING, not_probed.BEGIN)
    told = [f for f in findings if f.name != STORY and not f.name.startswith(besides)]
    odd = [f for f in findings if f.name.startswith(ODD)]
    measured = [f for f in told if f.verdict == "measured" and f.value is not None]
    parts: list[RenderableType] = [Text(name, style="bold")]
    parts += [Text(f.text) for f in findings if f.name == STORY]
    if misleading:
        parts += [Text(""), Text("What may mislead", style="bold yellow")]
        parts += [_item(f"{f.title} ({f.detail['severity']}): {f.text}") for f in misleading]
    if measured:
        parts += [Text(""), _values(measured), Text(""), Text("Why", style="bold")]
        for finding in measured:
            parts += [_heading([finding]), _item(finding.text)]
    for verdict, title in (
        ("not identifiable", "Not identifiable"),
        ("not applicable", "No question of this drive"),
    ):
        some = [f for f in told if f.verdict == verdict]
        if some:
            parts += [Text(""), Text(title, style="bold yellow")]
        # Several quantities often share one reason.
        for reason, alike in itertools.groupby(some, key=lambda f: f.text):
            parts += [_heading(list(alike)), _item(reason)]
    if odd:
        parts += [Text(""), Text("What does not fit", style="bold yellow")]
        for finding in odd:
            parts += [_heading([finding]), _item(finding.text)]
    if missing:
        parts += [Text(""), Text("Not probed", style="bold yellow")]
        parts += [_item(f"{probe}: {reason}") for probe, reason in missing]
    return Group(*parts)


def _values(measured: Sequence[Finding]) -> Table:
    table = Table(
        box=None, pad_edge=False, title="Findings", title_justify="left", title_style="bold"
    )
    table.add_column("")
    for column in ("value", "90 % interval"):
        table.add_column(column, justify="right")
    for finding in measured:
        table.add_row(
            Text(finding.title),
            finding.shown_value,
            finding.shown_interval,
        )
    return table


def _heading(findings: Sequence[Finding]) -> Text:
    """Titles, and what they rest on: the probes and how many of their recordings."""
    evidence = {str(id): str(id).partition("/")[0] for f in findings for id in f.evidence}
    probes = ", ".join(dict.fromkeys(evidence.values()))
    recordings = f"{len(evidence)} recording{'' if len(evidence) == 1 else 's'}"
    titles = "; ".join(f.title for f in findings)
    return Text(f"{titles} ({probes}: {recordings})" if evidence else titles, style="dim")


def _item(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))

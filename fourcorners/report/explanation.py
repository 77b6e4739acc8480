"""What a person reads of an explanation in an 80-column terminal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from . import formatting

STORY = "explanation"
DRIFT = "drift_"


def render_explanation(
    name: str, findings: Sequence[Mapping[str, Any]], missing: Sequence[tuple[str, str]]
) -> RenderableType:
    """The story, a table of values with their intervals, what each means, and what is not known.

    Args:
        name: of the drive.
        findings: as ``findings.json`` has them.
        missing: probes that did not run to their end, with the reason.
    """
    told = [f for f in findings if f["name"] != STORY and not f["name"].startswith(DRIFT)]
    odd = [f for f in findings if f["name"].startswith(DRIFT)]
    measured = [f for f in told if f["verdict"] == "measured" and f["value"] is not None]
    unknown = [f for f in told if f["verdict"] == "not identifiable"]
    parts: list[RenderableType] = [Text(name, style="bold")]
    parts += [Text(f["text"]) for f in findings if f["name"] == STORY]
    if measured:
        parts += [Text(""), _values(measured), Text(""), Text("Why", style="bold")]
        for finding in measured:
            parts += [Text(finding["title"], style="dim"), _item(finding["text"])]
    if unknown:
        parts += [Text(""), Text("Not identifiable", style="bold yellow")]
        # Several quantities often share one reason.
        for reason, some in itertools.groupby(unknown, key=lambda f: f["text"]):
            titles = "; ".join(f["title"] for f in some)
            parts += [Text(titles, style="dim"), _item(reason)]
    if odd:
        parts += [Text(""), Text("What does not fit", style="bold yellow")]
        parts += [_item(f["text"]) for f in odd]
    if missing:
        parts += [Text(""), Text("Not probed", style="bold yellow")]
        parts += [_item(f"{probe}: {reason}") for probe, reason in missing]
    return Group(*parts)


def _values(measured: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(
        box=None, pad_edge=False, title="Findings", title_justify="left", title_style="bold"
    )
    table.add_column("")
    for column in ("value", "90 % interval"):
        table.add_column(column, justify="right")
    for finding in measured:
        table.add_row(
            Text(finding["title"]),
            _value(finding),
            formatting.interval(finding["interval"], finding["unit"]),
        )
    return table


def _value(finding: Mapping[str, Any]) -> str:
    value, detail = finding["value"], finding["detail"]
    if "label" in detail:
        return str(detail["label"])
    if value == 0:
        return "none"
    if detail.get("discrete") and finding["unit"] == "1":
        return f"{value:,.0f}"
    # Of things that are there or not, there is nothing more to say.
    if finding["unit"] is None and value == 1:
        return "yes"
    return formatting.quantity(value, finding["unit"])


def _item(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 0, 2))

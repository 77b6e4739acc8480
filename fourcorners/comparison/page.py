"""A comparison as one self-contained HTML file in the report's style; it has no script."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fourcorners import wording
from fourcorners.analysis.quantity import COMPARED, Quantity
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.difference import change
from fourcorners.comparison.forest import axis_of
from fourcorners.comparison.verdict import verdicts
from fourcorners.reporting.document import asset

_REPORT = "fourcorners.reporting"
_HEADINGS = {
    "throughput": "Throughput",
    "mean_latency": "Mean latency",
    "p99_latency": "p99 latency",
}


def render_page(comparison: Comparison) -> str:
    """The page's text: verdicts, what differs between the runs, ranking, differences, gates."""
    from importlib.metadata import version

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(asset("page.html.j2", __package__)).render(
        version=version("fourcorners"),
        title=" and ".join(subject.label for subject in comparison.subjects),
        comparison=comparison,
        verdicts=verdicts(comparison),
        rankings=_rankings(comparison),
        figures=[_figure(comparison, quantity) for quantity in COMPARED],
        checks=comparison.checks,
        style=Markup(asset("assets/report.css", _REPORT) + asset("page.css", __package__)),
    )


def _rankings(comparison: Comparison) -> list[dict[str, Any]]:
    """Places of each group, with bars in proportion to the throughput over the baseline's."""
    rankings = []
    for group, ranks in comparison.ranking.items():
        if not ranks:
            continue
        top = max(rank.relative for rank in ranks)
        places = [rank.place for rank in ranks]
        rows = [
            {
                "place": rank.place,
                "tied": places.count(rank.place) > 1,
                "subject": rank.subject,
                "relative": wording.number(rank.relative),
                "share": round(100 * rank.relative / top, 2),
            }
            for rank in ranks
        ]
        rankings.append({"words": group.words, "points": len(group.keys), "rows": rows})
    return rankings


def _figure(comparison: Comparison, quantity: Quantity) -> dict[str, Any]:
    """All differences of one quantity on one axis, by subject and group."""
    chosen = [d for d in comparison.differences if d.quantity is quantity]
    axis = axis_of(chosen)
    parts = []
    for subject in comparison.subjects[1:]:
        for group in comparison.groups:
            rows = [
                {
                    "label": difference.label,
                    "baseline": wording.quantity(difference.baseline, quantity.unit),
                    "value": wording.quantity(difference.value, quantity.unit),
                    "svg": axis.row(difference),
                    "change": change(difference),
                    "verdict": ("better" if difference.is_better else "worse")
                    if difference.told
                    else "not shown",
                }
                for difference in comparison.of(group, subject.label, quantity)
            ]
            if rows:
                parts.append({"subject": subject.label, "words": group.words, "rows": rows})
    return {
        "title": _HEADINGS[quantity.name],
        "less": not quantity.more_is_better,
        "axis": axis.svg(),
        "parts": parts,
    }

"""A trace as one self-contained HTML file in the report's style; it has no script."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from fourcorners import wording
from fourcorners.recording import NS
from fourcorners.reporting.document import asset
from fourcorners.trace.facts import facts
from fourcorners.trace.figures import TraceInformation

# A plot's size in its own units; the page scales it.
_WIDTH, _HEIGHT = 720, 160
# Volumes that the page lists; the rest is in --json.
_VOLUMES_SHOWN = 50


def render_page(found: TraceInformation, title: str) -> str:
    """The page's text: what is said, plots, volumes."""
    from importlib.metadata import version

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(asset("page.html.j2", __package__)).render(
        version=version("fourcorners"),
        title=title,
        facts=facts(found),
        plots=_plots(found),
        volumes=[_volume_row(one) for one in found.volumes[:_VOLUMES_SHOWN]],
        hidden=max(0, len(found.header.volumes) - _VOLUMES_SHOWN),
        style=Markup(
            asset("assets/report.css", "fourcorners.reporting") + asset("page.css", __package__)
        ),
    )


def _volume_row(one: Any) -> tuple[str, ...]:
    return (
        one.name,
        f"{sum(one.ios.values()):,}",
        wording.amount(one.read_bytes),
        wording.amount(one.written_bytes),
        wording.amount(one.end_bytes),
    )


def _plots(found: TraceInformation) -> list[dict[str, Any]]:
    """Titles with what they show: lines over a common axis, and the largest value in words."""
    plots = []
    intervals = found.over_time.intervals
    seconds = found.over_time.interval_ns * NS
    end = wording.duration(len(intervals) * seconds)
    if len(intervals) > 1:
        lines = {
            "reads": [one.reads / seconds for one in intervals],
            "writes": [one.writes / seconds for one in intervals],
            "others": [one.others / seconds for one in intervals],
        }
        top = max(max(values) for values in lines.values())
        plots.append(
            _plot("I/Os a second over time", lines, "0 s", end, f"{wording.number(top)} IOPS")
        )
        sets = [one.working_set_bytes for one in intervals]
        plots.append(
            _plot(
                f"Blocks that are used within {wording.duration(seconds)}",
                {"working set": sets},
                "0 s",
                end,
                wording.amount(max(sets)),
            )
        )
    for title, curve in (
        ("Accesses by the bytes of other blocks since the last one", found.blocks.reuse),
        ("Block writes by the bytes that were written since the last one", found.blocks.rewrite),
    ):
        if len(curve) > 1:
            plots.append(
                _plot(
                    title,
                    {"share": [share for _, share in curve]},
                    wording.size(curve[0][0]),
                    wording.size(curve[-1][0]),
                    wording.percent(curve[-1][1]),
                )
            )
    return plots


def _plot(
    title: str, lines: dict[str, list[float]], first: str, last: str, top: str
) -> dict[str, Any]:
    highest = max(max(values) for values in lines.values())
    shown = {name: values for name, values in lines.items() if max(values) > 0}
    drawn = [_line(values, highest, number) for number, values in enumerate(shown.values())]
    return {
        "title": title,
        "svg": Markup("".join(drawn)),
        "names": list(shown),
        "first": first,
        "last": last,
        "top": top,
        "view": f"0 0 {_WIDTH} {_HEIGHT}",
    }


def _line(values: Sequence[float], highest: float, number: int) -> str:
    step = _WIDTH / max(1, len(values) - 1)
    places = " ".join(
        f"{n * step:.1f},{_HEIGHT - _HEIGHT * (value / highest if highest else 0):.1f}"
        for n, value in enumerate(values)
        if math.isfinite(value)
    )
    return f'<polyline class="line-{number}" points="{places}"/>'

"""A trace as one self-contained HTML file in the report's style; it has no script."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
# Of an axis, beside the one at zero.
_TICKS_MAX = 6
# Of sizes, whose names are long.
_SIZES_MAX = 4
_Tick = tuple[float, str]
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
    """Titles with what they show: lines over a common axis, and both axes' ticks."""
    plots = []
    intervals = found.over_time.intervals
    seconds = found.over_time.interval_ns * NS
    if len(intervals) > 1:
        # Values stand at the middle of their interval.
        end_s = len(intervals) * seconds
        intervals = found.over_time.whole(found.length_ns)
        times = [((number + 0.5) * seconds) / end_s for number in range(len(intervals))]
        under = _ticks(end_s, wording.chosen_time, at_most=True)
        lines = {
            "reads": [one.reads / seconds for one in intervals],
            "writes": [one.writes / seconds for one in intervals],
            "others": [one.others / seconds for one in intervals],
        }
        plots.append(
            _plot(
                f"I/Os a second, in intervals of {wording.duration(seconds)}",
                times,
                lines,
                under,
                wording.number,
            )
        )
        sets = [one.working_set_bytes for one in intervals]
        plots.append(
            _plot(
                f"Blocks that are used within {wording.duration(seconds)}",
                times,
                {"working set": sets},
                under,
                wording.amount,
            )
        )
    for title, curve in (
        ("Reuse: accesses that a cache of this size serves (LRU)", found.blocks.reuse),
        ("Rewrites: block writes that replace one of so many bytes before", found.blocks.rewrite),
    ):
        # Sizes are powers of two, from a block on; where the share does not grow there are none.
        shares = {max(size, found.blocks.block_bytes): share for size, share in curve}
        if len(shares) > 1:
            powers = [math.log2(size) for size in shares]
            first, wide = powers[0], powers[-1] - powers[0]
            step = math.ceil(wide / _SIZES_MAX)
            plots.append(
                _plot(
                    title,
                    [(power - first) / wide for power in powers],
                    {"share": list(shares.values())},
                    [
                        (power / wide, wording.size(2 ** (first + power)))
                        for power in range(0, round(wide) + 1, step)
                    ],
                    wording.percent,
                )
            )
    return plots


def _plot(
    title: str,
    places: Sequence[float],
    lines: dict[str, list[float]],
    under: Sequence[_Tick],
    worded: Callable[[float], str],
) -> dict[str, Any]:
    """``places`` are those of the values, 0 to 1 from the left."""
    highest = max(max(values) for values in lines.values())
    beside = _ticks(highest, worded)
    top = _top(highest)
    shown = {name: values for name, values in lines.items() if max(values) > 0}
    drawn = [
        *(_rule(0, _WIDTH, _HEIGHT * (1 - at), _HEIGHT * (1 - at)) for at, _ in beside),
        *(_rule(_WIDTH * at, _WIDTH * at, 0, _HEIGHT) for at, _ in under),
        *(_line(places, values, top, number) for number, values in enumerate(shown.values())),
    ]
    return {
        "title": title,
        "svg": Markup("".join(drawn)),
        "names": list(shown),
        "top": worded(highest),
        "view": f"0 0 {_WIDTH} {_HEIGHT}",
        "under": [(f"{100 * at:.2f}", text) for at, text in under],
        "beside": [(f"{100 * at:.2f}", text) for at, text in beside],
    }


def _step(highest: float) -> float:
    """Between two ticks: 1, 2 or 5 times a power of ten, so that there are four to ten at most."""
    if highest <= 0:
        return 1.0
    rough = highest / _TICKS_MAX
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * by for by in (1, 2, 5, 10) if power * by >= rough * (1 - 1e-9))


def _top(highest: float) -> float:
    """Where an axis ends: at its last tick."""
    step = _step(highest)
    return step * max(1, math.ceil(highest / step - 1e-9))


def _ticks(highest: float, worded: Callable[[float], str], *, at_most: bool = False) -> list[_Tick]:
    """Places, 0 to 1 of the axis, and texts. With ``at_most`` the axis ends at ``highest``, which
    need not be a tick."""
    step = _step(highest)
    top = highest if at_most else _top(highest)
    count = math.floor(top / step + 1e-9)
    return [(number * step / top, _round(worded(number * step))) for number in range(count + 1)]


def _round(text: str) -> str:
    """A tick is a round number: no zeros at its end."""
    figure, _, unit = text.partition(" ")
    return f"{figure.rstrip('0').rstrip('.') if '.' in figure else figure} {unit}".rstrip()


def _rule(x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _line(places: Sequence[float], values: Sequence[float], top: float, number: int) -> str:
    points = " ".join(
        f"{_WIDTH * place:.1f},{_HEIGHT * (1 - value / top):.1f}"
        for place, value in zip(places, values, strict=True)
        if math.isfinite(value)
    )
    return f'<polyline class="line-{number}" points="{points}"/>'

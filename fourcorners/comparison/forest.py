"""Forest plots: differences with their intervals on one axis, a row each, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fourcorners import wording
from fourcorners.comparison.difference import Difference

# Pixels of a row in a table, and of what is left beside the axis for half a label.
WIDTH, HEIGHT = 300, 20
_EDGE = 10
_LIMIT_MAX = math.log(1000)
"""Ratios beyond are drawn as arrows at the edge: one drive may be a million times as fast."""

# Ratios that a reader knows; those are drawn that have room.
_TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis of ratios with 1 in the middle; ``reach`` is the logarithm at its ends."""

    reach: float

    def share(self, log: float) -> float:
        """How far a logarithm is from the middle: -1 and 1 at the ends, also for what is beyond."""
        return max(-1.0, min(1.0, log / self.reach))

    def x(self, log: float) -> float:
        """Horizontal place of a logarithm, within the drawing."""
        return WIDTH / 2 + self.share(log) * (WIDTH / 2 - _EDGE)

    @property
    def step(self) -> float:
        """The largest round ratio on the axis."""
        return max((t for t in _TICKS if math.log(t) <= self.reach), default=_TICKS[0])

    @property
    def step_words(self) -> tuple[str, str]:
        """That ratio and its inverse, the inverse first, as in "1/2" and "2 times"."""
        if self.step >= 2:
            return f"1/{self.step:g}", f"{self.step:g} times"
        return wording.change(1 / self.step - 1), wording.change(self.step - 1)

    def svg(self) -> Markup:
        """The axis' labels: no change in the middle, a round ratio on either side."""
        log = math.log(self.step)
        low, high = self.step_words
        marks = ((-log, low), (0.0, "same"), (log, high))
        texts = "".join(
            f'<text x="{self.x(at):.1f}" y="14" text-anchor="middle">{text}</text>'
            for at, text in marks
        )
        return Markup(_svg(texts, "Axis of the changes", 'class="axis" '))

    def row(self, difference: Difference) -> Markup:
        """A difference: its interval as a line, its value as a dot, filled where it is told."""
        middle, y = self.x(0.0), HEIGHT / 2
        log = math.log(difference.value / difference.baseline)
        parts = [f'<path class="same" d="M{middle:.1f} 0V{HEIGHT}"/>']
        if difference.ratio is not None:
            low, high = (math.log(bound) for bound in difference.ratio.interval())
            parts.append(f'<path class="range" d="M{self.x(low):.1f} {y}H{self.x(high):.1f}"/>')
        if abs(log) > self.reach:
            side = 1 if log > 0 else -1
            x = self.x(log)
            parts.append(f'<path class="dot" d="M{x - 5 * side:.1f} {y - 5}v10l{7 * side}-5z"/>')
        else:
            parts.append(f'<circle class="dot" cx="{self.x(log):.1f}" cy="{y}" r="4"/>')
        kind = ("better" if difference.is_better else "worse") if difference.told else "open"
        return Markup(_svg("".join(parts), "", f'class="{kind}" aria-hidden="true" '))


def axis_of(differences: Sequence[Difference]) -> Axis:
    """An axis that holds all values, and the intervals of those that have one, within reason."""
    logs = [abs(math.log(d.value / d.baseline)) for d in differences]
    logs += [abs(math.log(bound)) for d in differences if d.ratio for bound in d.ratio.interval()]
    return Axis(min(_LIMIT_MAX, 1.1 * max([*logs, math.log(1.01)])))


def _svg(content: str, label: str, attributes: str) -> str:
    role = f'role="img" aria-label="{label}" ' if label else ""
    return f'<svg {attributes}{role}viewBox="0 0 {WIDTH} {HEIGHT}">{content}</svg>'

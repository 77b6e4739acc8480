"""What the judge answers."""

from dataclasses import dataclass
from enum import StrEnum

CHANGE_TOLD_MIN = 0.05
"""Change of a rate from which it is said to fall or to rise: below it the judge may still refuse to
call it steady, but nobody who looks at the series sees it move. As the judge's DRIFT_MAX."""


class State(StrEnum):
    """Where a series stands."""

    STEADY = "steady"
    FALLING = "falling"
    RISING = "rising"
    OSCILLATING = "oscillating"
    UNDECIDED = "undecided"
    """Nothing moves, and too little was written (or measured) to say that nothing will."""


@dataclass(frozen=True)
class Verdict:
    """The judge's answer about a series.

    ``value`` is the mean over time since ``first_round``, in the series' unit, and ``low`` to
    ``high`` its 90 % interval, what may remain of a decay included; an oscillating series has its
    mean over whole periods. ``settled`` says that measuring on would not change them: so it is for
    every steady series, and for an oscillation that keeps its level. It is the signal to stop.
    """

    state: State
    settled: bool
    prepared: bool
    """The spare area and the order of a fill are used up, and nothing falls or rises any more: the
    drive is near its steady state, though its value is not known well yet, and may still change by
    some percent. Enough to end preconditioning, which measures nothing."""
    value: float
    low: float
    high: float
    first_round: int
    """Round in which what was judged begins: the last change."""
    written_bytes: float
    """Written since then."""
    needed_bytes: float
    """That had to be written since the last change, at least, for a settled answer."""
    period_bytes: float | None
    """Period of an oscillation: bytes written."""
    period_s: float | None
    """Period of an oscillation, in time."""
    reason: str
    """What decided, in a phrase."""
    change: float | None = None
    """Of a rate that falls or rises: by what share it was seen to in the second half of what
    followed the last change; ``None`` where it is not seen to move, and only known that it will."""

    @property
    def is_seen_to_move(self) -> bool:
        """Whether the rate itself falls or rises by so much that it is worth the word."""
        return self.change is not None and abs(self.change) > CHANGE_TOLD_MIN

    @property
    def text(self) -> str:
        """The answer in words."""
        match self.state:
            case State.STEADY:
                return "steady"
            case State.FALLING | State.RISING if self.is_seen_to_move:
                return f"not steady, still {self.state.value}"
            case State.FALLING | State.RISING:
                return f"not known to be steady: {self.reason}"
            case State.OSCILLATING:
                assert self.period_s is not None
                return f"not steady, oscillating with period {_seconds(self.period_s)}"
            case State.UNDECIDED:
                return f"not known to be steady: {self.reason}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 7200 else f"{seconds / 3600:.3g} h"

"""What the judge answers."""

from dataclasses import dataclass
from enum import StrEnum

from fourcorners.sentences import Said, say

CHANGE_TOLD_MIN = 0.05
"""Change of a rate from which it falls or rises: below it the judge may still refuse to
call it steady, but nobody who looks at the series sees it move. As the judge's DRIFT_MAX."""

_SLOW_S = 7200
"""Period from which on it is worded in hours: a reader would divide by more than 120 minutes."""


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
    reason: Said
    """What decided."""
    change: float | None = None
    """Of a rate that falls or rises: by what share it was seen to in the second half of what
    followed the last change; ``None`` where it is not seen to move, and only known that it will."""

    @property
    def is_seen_to_move(self) -> bool:
        """Whether the rate itself falls or rises by so much that it is worth the word."""
        return self.change is not None and abs(self.change) > CHANGE_TOLD_MIN

    @property
    def said(self) -> Said:
        """The answer, to be worded."""
        match self.state:
            case State.STEADY:
                return say("judge.steady")
            case State.FALLING | State.RISING if self.is_seen_to_move:
                return say("judge.moving", state=self.state.value)
            case State.OSCILLATING:
                assert self.period_s is not None
                if self.period_s >= _SLOW_S:
                    return say("judge.oscillating_slowly", period_h=self.period_s / 3600)
                return say("judge.oscillating", period_s=self.period_s)
            case _:
                return say("judge.unknown", why=self.reason)

    @property
    def text(self) -> str:
        """The answer in words."""
        return self.said.text

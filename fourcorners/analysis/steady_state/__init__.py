"""Whether a drive has reached its steady state, from what was measured alone.

The input is a :class:`Series`: the tracked value round by round (or second by second), how long
each round took and how much was written meanwhile. :func:`judge` answers for a whole series,
:class:`OnlineJudge` while it grows; :class:`DepartureWatch` notices when a steady drive leaves its
steady state. :func:`snia_window` is the rule of SNIA's specification. docs/steady-state.md says how
the judge works, how well, and where it fails.
"""

from fourcorners.analysis.steady_state.departure import Departure, DepartureWatch
from fourcorners.analysis.steady_state.judge import judge
from fourcorners.analysis.steady_state.online_judge import OnlineJudge
from fourcorners.analysis.steady_state.preparedness import SPARE_SHARE_MAX
from fourcorners.analysis.steady_state.series import Series
from fourcorners.analysis.steady_state.spread import UNIFORM, Spread
from fourcorners.analysis.steady_state.verdict import State, Verdict
from fourcorners.analysis.steady_state.window_rules import SniaWindow, snia_window

__all__ = [
    "SPARE_SHARE_MAX",
    "UNIFORM",
    "Departure",
    "DepartureWatch",
    "OnlineJudge",
    "Series",
    "SniaWindow",
    "Spread",
    "State",
    "Verdict",
    "judge",
    "snia_window",
]

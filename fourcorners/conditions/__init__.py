"""What the machine did while something was measured: counters before and after, and samples.

``Observer`` collects from ``/proc``, ``/sys`` and the path under test; ``Conditions`` is what it
brings back. ``fourcorners.analysis.artefacts`` says what they do to a result.
"""

from fourcorners.conditions.conditions import Conditions
from fourcorners.conditions.observer import Observer

__all__ = ["Conditions", "Observer"]

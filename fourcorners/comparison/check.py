"""Gates and their checks: a condition that must not hold, tried on recordings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fourcorners import wording
from fourcorners.analysis.quantity import Quantity

Outcome = Literal["passed", "failed", "undecided"]
ORDER: tuple[Outcome, ...] = ("failed", "undecided", "passed")

WORST_SHOWN = 5
"""Of one gate, where people read: unlike drives miss it in every recording."""


@dataclass(frozen=True)
class Gate:
    """A condition that must not hold. Exactly one of ``factor`` and ``absolute`` is given."""

    text: str
    recordings: str
    operation: str
    quantity: Quantity
    above: bool
    factor: float | None = None
    """Limit over the baseline."""
    absolute: float | None = None
    """Limit in the quantity's unit."""


@dataclass(frozen=True)
class Check:
    """A gate tried on one recording of one subject."""

    gate: Gate
    subject: str
    recording: str
    value: float
    limit: float
    interval: tuple[float, float]
    outcome: Outcome

    @property
    def beyond(self) -> float:
        """How many times its limit the value is, or the limit the value where that is a least."""
        over, under = (self.value, self.limit) if self.gate.above else (self.limit, self.value)
        return over / under if under else math.inf

    @property
    def words(self) -> str:
        """Value and limit with their unit, and the interval where it shows at that precision."""
        unit = "IOPS" if self.gate.quantity.unit == "1/s" else self.gate.quantity.unit
        value, limit = (wording.quantity(one, unit, 4) for one in (self.value, self.limit))
        ends = {wording.quantity(bound, unit, 4) for bound in self.interval}
        told = "" if ends == {value} else f" ({wording.interval(self.interval, unit)})"
        return f"{value}{told}, limit {limit}"


@dataclass(frozen=True)
class Tried:
    """All checks of one gate."""

    gate: Gate
    checks: Sequence[Check]

    @property
    def worst(self) -> list[Check]:
        """Those that did not pass, failed ones first, those furthest beyond their limit first; at
        most :data:`WORST_SHOWN`."""
        missed = [check for check in self.checks if check.outcome != "passed"]
        missed.sort(key=lambda check: (check.outcome != "failed", -check.beyond))
        return missed[:WORST_SHOWN]

    @property
    def words(self) -> str:
        """How many checks ended how: "40 checks: 3 failed, 2 undecided, 35 passed"."""
        counts = Counter(check.outcome for check in self.checks)
        parts = [f"{counts[one]} {one}" for one in ORDER if counts[one]]
        return f"{wording.count(len(self.checks), 'check')}: {', '.join(parts)}"

    @property
    def rest(self) -> str:
        """Where the others stand that did not pass; empty where all are among the worst."""
        missed = sum(check.outcome != "passed" for check in self.checks)
        more = missed - len(self.worst)
        return f"and {more} more, in --json and --junit" if more else ""


def by_gate(checks: Sequence[Check]) -> list[Tried]:
    """Checks gathered by their gate, in order."""
    gates = dict.fromkeys(check.gate for check in checks)
    return [Tried(gate, [check for check in checks if check.gate == gate]) for gate in gates]

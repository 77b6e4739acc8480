"""Limits that a comparison must keep: ``p99_read_latency > 1.1 * baseline``."""

from __future__ import annotations

import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fourcorners import wording
from fourcorners.analysis.quantity import ALL, THROUGHPUT, Quantity
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.significance import values
from fourcorners.errors import UserError
from fourcorners.units import parse_bytes, parse_seconds

Outcome = Literal["passed", "failed", "undecided"]
ORDER: tuple[Outcome, ...] = ("failed", "undecided", "passed")

WORST_SHOWN = 5
"""Of one gate, where people read: unlike drives miss it in every recording."""

_GATE = re.compile(
    r"(?:(?P<recordings>[^:\s]+)\s*:)?\s*(?P<quantity>[a-z0-9_.]+)\s*(?P<sign>[<>])\s*(?P<limit>.+)"
)
_RELATIVE = re.compile(r"(?:(?P<before>[0-9.]+)\s*\*\s*)?baseline(?:\s*\*\s*(?P<after>[0-9.]+))?")
_FORM = (
    "write [RECORDINGS:] QUANTITY < or > LIMIT, such as p99_read_latency > 1.1 * baseline or "
    "four-corners/*: read_iops < 50000"
)


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

    def check(self, comparison: Comparison) -> list[Check]:
        """Tries the gate on every recording that it names, of every subject it applies to: all
        but the baseline, or with an absolute limit all.

        Raises :class:`UserError` when no recording is of its kind: such a gate could not fail.
        """
        subjects = comparison.subjects[1 if self.factor is not None else 0 :]
        checks = [
            self._checked(comparison, subject.label, key)
            for subject in subjects
            for group in comparison.groups
            for key in group.keys
            if key[1] == self.operation and fnmatch.fnmatchcase(key[0], self.recordings)
        ]
        known = [check for check in checks if check is not None]
        if not known:
            raise UserError(
                f'the gate "{self.text}" fits no recording that these runs share: it could not fail'
            )
        return known

    def _checked(self, comparison: Comparison, subject: str, key: tuple[str, str]) -> Check | None:
        own = values(comparison.measured[subject][key], self.quantity)
        base = values(comparison.measured[comparison.baseline.label][key], self.quantity)
        if own is None or base is None:
            return None
        if self.absolute is not None:
            limit = self.absolute
            estimate = own[1]
            low, high = estimate.interval() if estimate else (own[0], own[0])
        else:
            assert self.factor is not None
            limit = self.factor * base[0]
            ratio = own[1].minus(base[1]) if own[1] and base[1] else None
            bounds = ratio.interval() if ratio else (own[0] / base[0],) * 2
            low, high = (bound * base[0] for bound in bounds)
        outcome: Outcome = "passed"
        if (own[0] > limit) == self.above and own[0] != limit:
            # The bound that is nearer to the limit's other side.
            sure = low > limit if self.above else high < limit
            outcome = "failed" if sure else "undecided"
        return Check(self, subject, key[0], own[0], limit, (low, high), outcome)


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

    def to_dict(self) -> dict[str, object]:
        """The check as ``compare.schema.json`` has it."""
        return {
            "gate": self.gate.text,
            "subject": self.subject,
            "recording": self.recording,
            "operation": self.gate.operation,
            "quantity": self.gate.quantity.name,
            "unit": self.gate.quantity.unit,
            "value": self.value,
            "limit": self.limit,
            "interval": list(self.interval),
            "outcome": self.outcome,
        }


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


def parse_gate(text: str) -> Gate:
    """A gate as the command line spells it; raises :class:`UserError`."""
    match = _GATE.fullmatch(text.strip())
    if match is None:
        raise UserError(f'"{text}" is not a gate: {_FORM}')
    quantity, operation = _quantity(text, match["quantity"])
    limit = match["limit"].strip()
    relative = _RELATIVE.fullmatch(limit)
    factor = absolute = None
    if relative:
        factor = _number(text, relative["before"] or "1") * _number(text, relative["after"] or "1")
    else:
        absolute = _absolute(text, limit, quantity.unit)
    return Gate(
        text=text.strip(),
        recordings=match["recordings"] or "*",
        operation=operation,
        quantity=quantity,
        above=match["sign"] == ">",
        factor=factor,
        absolute=absolute,
    )


def quantity_names() -> list[str]:
    """Every quantity that a gate can name: ``read_iops``, ``p99_flush_latency`` ..."""
    return [_spelled(quantity, operation) for operation, quantity in _gated()]


def _gated() -> Iterator[tuple[str, Quantity]]:
    """Operations with their quantities. Flushes transfer nothing."""
    for operation in ("read", "write", "flush"):
        for quantity in ALL:
            if operation != "flush" or quantity is not THROUGHPUT:
                yield operation, quantity


def _spelled(quantity: Quantity, operation: str) -> str:
    statistic, _, latency = quantity.name.partition("_")
    return f"{statistic}_{operation}_{latency}" if latency else f"{operation}_{quantity.name}"


def _quantity(text: str, name: str) -> tuple[Quantity, str]:
    for operation, quantity in _gated():
        if name == _spelled(quantity, operation):
            return quantity, operation
    raise UserError(
        f'"{text}" is not a gate: unknown quantity "{name}"; use one of '
        f"{', '.join(quantity_names())}"
    )


def _absolute(text: str, limit: str, unit: str) -> float:
    if unit == "1/s":
        return _number(text, limit)
    try:
        return parse_seconds(limit) if unit == "s" else float(parse_bytes(limit.removesuffix("/s")))
    except UserError:
        example = "2 ms" if unit == "s" else "200 MB/s"
        raise UserError(
            f'"{text}" is not a gate: its limit is a number and a unit, such as {example}, or a '
            "multiple of baseline"
        ) from None


def _number(text: str, number: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise UserError(f'"{text}" is not a gate: "{number}" is no number above zero; {_FORM}')
    return value

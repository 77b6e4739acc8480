"""Limits that a comparison must keep: ``p99_read_latency > 1.1 * baseline``."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Iterator

from fourcorners.analysis.quantity import ALL, THROUGHPUT, Quantity
from fourcorners.comparison.check import Check, Gate, Outcome
from fourcorners.comparison.comparison import Comparison
from fourcorners.comparison.significance import values
from fourcorners.errors import UserError
from fourcorners.units import parse_bytes, parse_seconds

_GATE = re.compile(
    r"(?:(?P<recordings>[^:\s]+)\s*:)?\s*(?P<quantity>[a-z0-9_.]+)\s*(?P<sign>[<>])\s*(?P<limit>.+)"
)
_RELATIVE = re.compile(r"(?:(?P<before>[0-9.]+)\s*\*\s*)?baseline(?:\s*\*\s*(?P<after>[0-9.]+))?")
_FORM = (
    "write [RECORDINGS:] QUANTITY < or > LIMIT, such as p99_read_latency > 1.1 * baseline or "
    "four-corners/*: read_iops < 50000"
)


def check_gate(gate: Gate, comparison: Comparison) -> list[Check]:
    """Tries a gate as :func:`checks_of`; raises :class:`UserError` when no recording is of its
    kind: such a gate could not fail."""
    known = checks_of(gate, comparison)
    if not known:
        raise UserError(
            f'the gate "{gate.text}" fits no recording that these runs share: it could not fail'
        )
    return known


def checks_of(gate: Gate, comparison: Comparison) -> list[Check]:
    """Tries a gate on every recording that it names and that has its quantity, of every subject it
    applies to: all but the baseline, or with an absolute limit all."""
    subjects = comparison.subjects[1 if gate.factor is not None else 0 :]
    checks = [
        _checked(gate, comparison, subject.label, key)
        for subject in subjects
        for group in comparison.groups
        for key in group.keys
        if key[1] == gate.operation and fnmatch.fnmatchcase(key[0], gate.recordings)
    ]
    return [check for check in checks if check is not None]


def _checked(
    gate: Gate, comparison: Comparison, subject: str, key: tuple[str, str]
) -> Check | None:
    own = values(comparison.measured[subject][key], gate.quantity)
    base = values(comparison.measured[comparison.baseline.label][key], gate.quantity)
    if own is None or base is None:
        return None
    if gate.absolute is not None:
        limit = gate.absolute
        estimate = own[1]
        low, high = estimate.interval() if estimate else (own[0], own[0])
    else:
        assert gate.factor is not None
        limit = gate.factor * base[0]
        ratio = own[1].minus(base[1]) if own[1] and base[1] else None
        bounds = ratio.interval() if ratio else (own[0] / base[0],) * 2
        low, high = (bound * base[0] for bound in bounds)
    outcome: Outcome = "passed"
    if (own[0] > limit) == gate.above and own[0] != limit:
        # The bound that is nearer to the limit's other side.
        sure = low > limit if gate.above else high < limit
        outcome = "failed" if sure else "undecided"
    return Check(gate, subject, key[0], own[0], limit, (low, high), outcome)


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

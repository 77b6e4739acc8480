"""Numbers as a person reads them: three significant digits and the right unit.

MB is 10^6 bytes and is used for rates and capacities; KiB and MiB are 2^10 and 2^20 bytes and are
used for the sizes of requests. `assets/units.js` writes the same numbers in the same
way. Unlike `fourcorners.units`, nothing here may fail: null, NaN and text become a dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NOTHING = "–"  # en dash: no value


def number(value: object) -> float | None:
    """A finite float, or None for anything else (null, NaN, infinities, text)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        try:
            value = float(value)  # type: ignore[arg-type]  # numpy scalars and numeric text
        except (TypeError, ValueError):
            return None
    try:
        result = float(value)
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def significant(value: object, digits: int = 3) -> str:
    """`value` with `digits` significant digits, never fewer than its integer part has."""
    x = number(value)
    if x is None:
        return NOTHING
    if x == 0:
        return "0"
    if not 1e-6 <= abs(x) < 1e12:
        return f"{x:.{digits - 1}e}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(x))))
    rounded = round(x, decimals)
    if rounded and math.floor(math.log10(abs(rounded))) > math.floor(math.log10(abs(x))):
        decimals = max(0, decimals - 1)
    return f"{rounded:,.{decimals}f}"


def rate(bytes_per_second: object, digits: int = 3) -> str:
    """A data rate in MB/s, without the unit."""
    x = number(bytes_per_second)
    return NOTHING if x is None else significant(x / 1e6, digits)


def duration(seconds: object, digits: int = 3) -> str:
    """A time with its unit, from nanoseconds to seconds."""
    x = number(seconds)
    if x is None:
        return NOTHING
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(x) >= scale * 0.99995:
            return f"{significant(x / scale, digits)} {unit}"
    return f"{significant(x / 1e-9, digits)} ns" if x else "0 s"


def size(byte_count: object) -> str:
    """The size of a request in B, KiB, MiB or GiB."""
    x = number(byte_count)
    if x is None:
        return NOTHING
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(x) >= scale:
            return f"{_plain(x / scale)} {unit}"
    return f"{_plain(x)} B"


def capacity(byte_count: object) -> str:
    """A capacity in decimal units, as drives are sold."""
    x = number(byte_count)
    if x is None:
        return NOTHING
    for scale, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(x) >= scale:
            return f"{significant(x / scale).removesuffix('.00').removesuffix('.0')} {unit}"
    return f"{_plain(x)} B"


def quantity(value: object, unit: object, digits: int = 3) -> str:
    """A finding's value with its unit, in the unit a person would choose."""
    x = number(value)
    name = unit if isinstance(unit, str) else ""
    if x is None:
        return value if isinstance(value, str) else NOTHING
    if name in ("s", "seconds"):
        return duration(x, digits)
    if name in ("B/s", "bytes/s", "bytes_per_second", "byte/s"):
        return f"{rate(x, digits)} MB/s"
    if name in ("B", "bytes", "byte"):
        return size(x)
    if name.startswith("of "):
        return f"{significant(100 * x, digits)} % {name}"
    if name in ("fraction", "ratio"):
        return "below 0.01 %" if 0 < abs(x) < 1e-4 else f"{significant(100 * x, digits)} %"
    return f"{significant(x, digits)} {name}".rstrip() if name != "1" else significant(x, digits)


def finding_value(finding: Mapping[str, Any]) -> str:
    """The value of a finding, as ``findings.json`` has it: a name where it has one, yes or no,
    "none" of what is not there, a count as a whole number."""
    value, unit = number(finding.get("value")), finding.get("unit")
    detail = finding.get("detail") or {}
    if value is None:
        return NOTHING
    if "label" in detail:
        return str(detail["label"])
    if unit == "yes/no":
        return "yes" if value else "no"
    if value == 0 and (detail.get("discrete") or unit in ("B", "B/s", "s")):
        return "none"
    if unit == "1" and detail.get("discrete"):
        return f"{value:,.0f}"
    return quantity(value, unit)


def finding_interval(finding: Mapping[str, Any]) -> str:
    """The interval of a finding, its unit once; "bounds" where it is a sweep's resolution or a
    tolerance, which holds the truth always. Empty without one."""
    text = interval(finding.get("interval"), finding.get("unit"))
    low, between, high = text.partition(" to ")
    if not between:
        return ""
    number_low, _, unit_low = low.partition(" ")
    _, _, unit_high = high.partition(" ")
    if low == high:
        text = low
    elif unit_low == unit_high:
        text = f"{number_low} to {high}"
    bounds = (finding.get("detail") or {}).get("interval") == "resolution"
    return f"{text}, bounds" if bounds else text


def percent_change(change: object) -> str:
    """A relative change in percent with its sign, "as published" for none."""
    x = number(change)
    if x is None:
        return NOTHING
    return f"{100 * x:+.2g} %" if abs(x) >= 5e-4 else "as published"


def interval(bounds: object, unit: object) -> str:
    """Two bounds with as many digits as it takes to tell them apart; empty without both."""
    if not isinstance(bounds, (list, tuple)) or any(number(bound) is None for bound in bounds):
        return ""
    if len(bounds) != 2:
        return ""
    for digits in (3, 4, 5):
        low, high = (quantity(bound, unit, digits) for bound in bounds)
        if low != high:
            break
    return f"{low} to {high}"


def _plain(x: float) -> str:
    return f"{int(x):,}" if x == int(x) else significant(x)

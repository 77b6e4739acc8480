"""Quantities with units, both ways: MB is 10^6 bytes, MiB is 2^20.

Parsing is strict about case where it carries meaning (``MB`` and ``MiB``) and forgiving about the
space: ``4KiB`` and ``4 KiB`` are the same. Formatting for people uses three significant digits.
"""

import re

from fourcorners.errors import UserError

_SIZE_UNITS = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*")


def _parse(text: str, what: str, example: str, units: dict[str, float]) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UserError(f'"{text}" is not {what}: write a number and a unit, such as {example}')
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(units)
        said = f'unknown unit "{unit}"' if unit else "the unit is missing"
        raise UserError(f'"{text}" is not {what}: {said}; use one of {known}, such as {example}')
    return float(number.replace("_", "")) * units[unit]


def parse_bytes(text: str) -> int:
    """Bytes in a size such as ``8 GB`` or ``4KiB``; raises :class:`UserError`."""
    return round(_parse(text, "a size", "4 GiB", {k: float(v) for k, v in _SIZE_UNITS.items()}))


def parse_seconds(text: str) -> float:
    """Seconds in a time such as ``30 s`` or ``2ms``; raises :class:`UserError`."""
    return _parse(text, "a time", "30 s", _TIME_UNITS)


def format_bytes(count: int) -> str:
    """A size as the reviews write it: whole KiB, MiB ... as such, everything else in decimal.

    >>> format_bytes(4096), format_bytes(512), format_bytes(64_023_257_088)
    ('4 KiB', '512 B', '64 GB')
    """
    if count == 0:
        return "0 B"
    for unit in ("TiB", "GiB", "MiB", "KiB", "B"):
        size = _SIZE_UNITS[unit]
        # Drive capacities are multiples of 1 KiB, too, but nobody reads "625131864 KiB".
        if count % size == 0 and 1 <= count // size < 10_000:
            return f"{count // size} {unit}"
    for unit in ("TB", "GB", "MB"):
        size = _SIZE_UNITS[unit]
        if count >= size:
            return f"{_significant(count / size)} {unit}"
    return f"{_significant(count / _SIZE_UNITS['kB'])} kB"


def format_rate(bytes_per_second: float) -> str:
    """A data rate in MB/s, as drives are sold; kB/s below 1 MB/s."""
    if bytes_per_second < 1e6:
        return f"{_significant(bytes_per_second / 1e3)} kB/s"
    return f"{_significant(bytes_per_second / 1e6)} MB/s"


def format_seconds(seconds: float) -> str:
    """A latency: three significant digits in the unit that suits.

    >>> format_seconds(0.000447), format_seconds(0.2457), format_seconds(2.5)
    ('447 µs', '246 ms', '2.5 s')
    """
    magnitude = abs(seconds)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if magnitude >= size:
            return f"{_significant(seconds / size)} {unit}"
    return f"{_significant(seconds / 1e-9)} ns"


def format_duration(seconds: float) -> str:
    """How long something takes, as a clock shows it.

    >>> format_duration(8.2), format_duration(75), format_duration(3700)
    ('8 s', '1:15', '1:01:40')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _significant(value: float) -> str:
    """Three significant digits, without an exponent or trailing zeros after the point."""
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    text = f"{value:#.3g}"
    return text.rstrip("0").rstrip(".") if "." in text else text

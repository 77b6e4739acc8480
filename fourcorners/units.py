"""Quantities that people write, with units: MB is 10^6 bytes, MiB is 2^20.

Strict about case where it carries meaning (``MB`` and ``MiB``) and forgiving about the space:
``4KiB`` and ``4 KiB`` are the same. :mod:`fourcorners.wording` writes quantities.
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
SIZE_MAX = 2**63 - 1
"""8 EiB, which is also what file systems can say."""
_TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATE_UNITS = {f"{unit}/s": float(size) for unit, size in _SIZE_UNITS.items()}
_IOPS_UNITS = {"IOPS": 1.0, "kIOPS": 1e3, "MIOPS": 1e6}
_SHOWN_MAX = 60
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]*)?)\s*([A-Za-z/]*)\s*")


def shortened(text: str) -> str:
    """For a sentence about what somebody wrote, who knows how it goes on."""
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def _parse(text: str, what: str, example: str, units: dict[str, float]) -> float:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UserError(
            f'"{shortened(text)}" is not {what}: write a number and a unit, such as {example}'
        )
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(units)
        said = f'unknown unit "{unit}"' if unit else "the unit is missing"
        raise UserError(
            f'"{shortened(text)}" is not {what}: {said}; use one of {known}, such as {example}'
        )
    return float(number.replace("_", "")) * units[unit]


def parse_bytes(text: str) -> int:
    """Bytes in a size such as ``8 GB`` or ``4KiB``; raises :class:`UserError`."""
    count = _parse(text, "a size", "4 GiB", {k: float(v) for k, v in _SIZE_UNITS.items()})
    if count > SIZE_MAX:
        raise UserError(f'"{shortened(text)}" is more than any drive has: use at most 8 EiB')
    return round(count)


def parse_seconds(text: str) -> float:
    """Seconds in a time such as ``30 s`` or ``2ms``; raises :class:`UserError`."""
    return _parse(text, "a time", "30 s", _TIME_UNITS)


def parse_rate(text: str) -> float:
    """Bytes per second in a rate such as ``550 MB/s``; raises :class:`UserError`."""
    return _parse(text, "a data rate", "550 MB/s", _RATE_UNITS)


def parse_iops(text: str) -> float:
    """I/Os per second in a rate such as ``90000 IOPS``; raises :class:`UserError`."""
    return _parse(text, "a rate of I/Os", "90000 IOPS", _IOPS_UNITS)

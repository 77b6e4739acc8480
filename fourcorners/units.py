"""Quantities that people write, with units: MB is 10^6 bytes, MiB is 2^20.

Strict about case where it carries meaning (``MB`` and ``MiB``) and forgiving about the space:
``4KiB`` and ``4 KiB`` are the same. Drive files are read by the core by the same rules;
``drive/sim/src/specification/quantities.toml`` holds both to them. :mod:`fourcorners.wording`
writes quantities.
"""

import math
import re
from collections.abc import Mapping

from fourcorners.errors import UserError

_SIZE_UNITS = {
    "B": 1.0,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
}
# Both letters for micro are in use: the sign and the Greek letter.
_TIME_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "\u00b5s": 1e-6,
    "\u03bcs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
}
_RATE_UNITS = {f"{unit}/s": size for unit, size in _SIZE_UNITS.items()}
_IOPS_UNITS = {"IOPS": 1.0, "kIOPS": 1e3, "MIOPS": 1e6}
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9_]*)?)\s*(.*?)\s*", re.DOTALL)

SIZE_MAX = 2**63 - 1
"""8 EiB, which is also what file systems can say."""

SECONDS_MAX = 1e9
"""Thirty years."""


# Characters of a foreign text in a message of one line.
_SHOWN_MAX = 60


def shortened(text: str) -> str:
    """For a sentence about what somebody wrote, who knows how it goes on."""
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."


def _parse(
    text: str, what: str, example: str, units: Mapping[str, float], most: float, written: str
) -> float:
    match = _QUANTITY.fullmatch(text)
    text = shortened(text)
    if match is None:
        raise UserError(f'"{text}" is not {what}: write a number and a unit, such as {example}')
    number, unit = match.groups()
    if unit not in units:
        # The two letters for micro look the same.
        known = ", ".join(name for name in units if "\u03bc" not in name)
        said = f'unknown unit "{shortened(unit)}"' if unit else "the unit is missing"
        raise UserError(f'"{text}" is not {what}: {said}; use one of {known}, such as {example}')
    value = float(number.replace("_", "")) * units[unit]
    if value > most:
        raise UserError(f'"{text}" is too much: use at most {written}')
    return value


def parse_bytes(text: str) -> int:
    """Bytes in a size such as ``8 GB`` or ``4KiB``; raises :class:`UserError`."""
    return math.floor(_parse(text, "a size", "4 GiB", _SIZE_UNITS, SIZE_MAX, "8 EiB") + 0.5)


def parse_seconds(text: str) -> float:
    """Seconds in a time such as ``30 s`` or ``2ms``; raises :class:`UserError`."""
    return _parse(text, "a time", "30 s", _TIME_UNITS, SECONDS_MAX, "1_000_000_000 s")


def parse_rate(text: str) -> float:
    """Bytes per second in a rate such as ``550 MB/s``; raises :class:`UserError`."""
    return _parse(text, "a data rate", "550 MB/s", _RATE_UNITS, 1e18, "1_000_000 TB/s")


def parse_iops(text: str) -> float:
    """I/Os per second in a rate such as ``90000 IOPS``; raises :class:`UserError`."""
    return _parse(text, "a rate of I/Os", "90000 IOPS", _IOPS_UNITS, 1e15, "1_000_000_000 MIOPS")


def parse_share(text: str) -> float:
    """A share of 1 in text such as ``70 %``; raises :class:`UserError`."""
    return _parse(text, "a share", "70 %", {"%": 1.0}, 100.0, "100 %") / 100

"""Numbers as people read them in a finding's text.

The rest of the package rounds to three digits (``fourcorners.units``). Findings are compared with
published figures such as 12.85 ms and 245.7 ms, so times and factors keep four from ten on, and
sizes that are not powers of two stay in binary units.
"""

from __future__ import annotations

import math

_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def number(value: float) -> str:
    """Three significant digits, four from ten on, thousands separated: 0.447, 12.85, 2,220."""
    magnitude = abs(value)
    if magnitude == 0 or not math.isfinite(value):
        return "0" if magnitude == 0 else "unbounded"
    if magnitude >= 1000:
        return f"{value:,.0f}"
    decimals = (3 if magnitude >= 10 else 2) - math.floor(math.log10(magnitude))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(count_bytes: float) -> str:
    """A request or cluster size in binary units: 512 B, 4 KiB, 1.09 MiB."""
    for unit, name in _BINARY:
        if count_bytes >= unit:
            return f"{number(count_bytes / unit)} {name}"
    return f"{number(count_bytes)} B"


def amount(count_bytes: float) -> str:
    """An amount of data in decimal units, as capacities are sold: 12.1 GB."""
    for unit, name in _DECIMAL:
        if count_bytes >= unit:
            return f"{number(count_bytes / unit)} {name}"
    return f"{number(count_bytes)} B"


def binary_rate(bytes_per_second: float) -> str:
    """A rate in MiB/s, beside request sizes that are powers of two."""
    return f"{number(bytes_per_second / 2**20)} MiB/s"


def rate(bytes_per_second: float) -> str:
    """A rate in decimal units, as links are sold: 283 MB/s."""
    return f"{amount(bytes_per_second)}/s"


def duration(seconds: float) -> str:
    """A time in the unit that suits it: 20.5 µs, 0.447 ms, 245.7 ms, 29 s."""
    if abs(seconds) < 1e-4:
        return f"{number(seconds * 1e6)} µs"
    if abs(seconds) < 1:
        return f"{number(seconds * 1e3)} ms"
    return f"{number(seconds)} s"


def percent(share: float) -> str:
    """A share in percent: two digits, and never '0' for what is not nothing."""
    value = share * 100
    if value == 0 or abs(value) >= 10:
        return f"{value:.0f} %"
    if abs(value) < 0.01:
        return "less than 0.01 %"
    return f"{value:.2g} %"


def times(ratio: float) -> str:
    """A factor: 1.05 times, 550 times."""
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{ratio:.3g} times"


def count(quantity: int, noun: str) -> str:
    """1 recording, 2 recordings."""
    return f"{quantity:,} {noun}" + ("" if quantity == 1 else "s")


def sentence_list(items: list[str]) -> str:
    """a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"

"""Numbers and lists as a person reads them: the one place that writes quantities.

Three significant digits, never fewer than the integer part has, thousands separated, in the unit
that suits. MB is 10^6 bytes and is used for rates and capacities; KiB and MiB are 2^10 and 2^20
bytes and are used for the sizes of requests. The page's `units.js` writes the same numbers in the
same way. Nothing here fails: ``None``, NaN, infinities and text that is no number become a dash.
"""

from __future__ import annotations

import math
import re

# C0 without tab and line feed, DEL and C1; marks of direction; surrogates, which stand for bytes
# that are no characters.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What terminals and pages take for commands or for the order of letters, or for no character."""

NOTHING = "–"  # en dash: no value
_MINUS = "\N{MINUS SIGN}"

_BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def visible(text: str) -> str:
    """The text with nothing in it that a terminal or a page would obey."""
    return OBEYED.sub("\ufffd", text)


def finite(value: object) -> float | None:
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


def number(value: object, digits: int = 3) -> str:
    """`value` with `digits` significant digits, never fewer than its integer part has. An ``int``
    is a count, and exact: it is written whole.

    >>> number(0.44661), number(12.85), number(2220.0), number(9.999), number(20)
    ('0.447', '12.8', '2,220', '10.0', '20')
    >>> number(-0.5) == "\N{MINUS SIGN}0.500"
    True
    """
    return _digits(value, digits).replace("-", _MINUS)


def _digits(value: object, digits: int) -> str:
    if type(value) is int and abs(value) < 10**12:
        return f"{value:,}"
    x = finite(value)
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


def mbps(bytes_per_second: object, digits: int = 3) -> str:
    """A data rate in MB/s without the unit, for columns that name it."""
    x = finite(bytes_per_second)
    return NOTHING if x is None else number(x / 1e6, digits)


def rate(bytes_per_second: object, digits: int = 3) -> str:
    """A data rate in MB/s, as drives are sold; kB/s below 1 MB/s."""
    x = finite(bytes_per_second)
    if x is None:
        return NOTHING
    return f"{number(x / 1e3, digits)} kB/s" if 0 < abs(x) < 1e6 else f"{mbps(x, digits)} MB/s"


def binary_rate(bytes_per_second: object) -> str:
    """A data rate in MiB/s, beside request sizes that are powers of two."""
    x = finite(bytes_per_second)
    return NOTHING if x is None else f"{number(x / 2**20)} MiB/s"


def duration(seconds: object, digits: int = 3) -> str:
    """A time that was measured, with its unit, from nanoseconds to seconds: 447 µs, 246 ms."""
    x = finite(seconds)
    if x is None:
        return NOTHING
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(x) >= scale * 0.9995:
            return f"{number(x / scale, digits)} {unit}"
    return f"{number(x / 1e-9, digits)} ns" if x else "0 s"


def chosen_time(seconds: float) -> str:
    """A time that somebody chose, such as a limit: without the zeros that a measurement has.

    >>> chosen_time(0.01), chosen_time(0.0025), chosen_time(60)
    ('10 ms', '2.5 ms', '60 s')
    """
    figure, _, unit = duration(seconds).partition(" ")
    return f"{figure.rstrip('0').rstrip('.') if '.' in figure else figure} {unit}"


def arrivals(kind: str) -> str:
    """How requests of an open loop arrive, by the name that parameters have for it.

    >>> arrivals("poisson"), arrivals("bursts"), arrivals("fixed")
    ('Poisson arrivals', 'arrivals in bursts', 'fixed arrivals')
    """
    known = {"poisson": "Poisson arrivals", "bursts": "arrivals in bursts"}
    return known.get(kind, f"{kind} arrivals")


def clock(seconds: float) -> str:
    """How long something takes, as a clock shows it.

    >>> clock(8.2), clock(75), clock(3700)
    ('8 s', '1:15', '1:01:40')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def took(seconds: float) -> str:
    """How long something took, or is left: as :func:`clock`, but never "0 s".

    >>> took(0.2), took(75)
    ('less than 1 s', '1:15')
    """
    return clock(seconds) if seconds >= 0.5 else "less than 1 s"


def about(seconds: float) -> str:
    """How long something is estimated to take: about 8 s, less than 1 s."""
    return f"about {clock(seconds)}" if seconds >= 0.5 else took(seconds)


def size(byte_count: object) -> str:
    """The size of a request or a block in B, KiB, MiB ...: 512 B, 4 KiB, 1.09 MiB."""
    x = finite(byte_count)
    if x is None:
        return NOTHING
    for scale, unit in _BINARY:
        if abs(x) >= scale:
            return f"{_plain(x / scale)} {unit}"
    return f"{_plain(x)} B"


def amount(byte_count: object) -> str:
    """An amount of data or a capacity in decimal units, as drives are sold: 12.1 GB."""
    x = finite(byte_count)
    if x is None:
        return NOTHING
    for scale, unit in _DECIMAL:
        if abs(x) >= scale * 0.9995:
            return f"{number(x / scale).removesuffix('.00').removesuffix('.0')} {unit}"
    return f"{_plain(x)} B"


def chosen_size(count: int) -> str:
    """A size that somebody chose: whole KiB, MiB ... as such, everything else in decimal.

    >>> chosen_size(4096), chosen_size(512), chosen_size(64_023_257_088)
    ('4 KiB', '512 B', '64 GB')
    """
    for scale, unit in (*_BINARY, (1, "B")):
        # Drive capacities are multiples of 1 KiB, too, but nobody reads "625131864 KiB".
        if count % scale == 0 and 1 <= count // scale < 10_000:
            return f"{count // scale} {unit}"
    return amount(count)


def percent(share: object, digits: int = 3) -> str:
    """A share in percent, and never '0' for what is not nothing."""
    x = finite(share)
    if x is None:
        return NOTHING
    return "below 0.01 %" if 0 < x < 1e-4 else f"{number(100 * x, digits)} %"


def change(share: object) -> str:
    """A change or a deviation in percent, with its sign; two digits below ten.

    >>> change(0.983), change(0.0431), change(1.26)
    ('+98 %', '+4.3 %', '+126 %')
    """
    x = finite(share)
    if x is None:
        return NOTHING
    text = f"{100 * x:+.0f}" if abs(x) >= 0.0995 else f"{100 * x:+.1f}"
    return "0 %" if text in ("+0.0", "-0.0") else f"{text.replace('-', _MINUS)} %"


def times(ratio: object) -> str:
    """A factor: 1.05 times, 550 times."""
    return f"{number(ratio)} times"


def often(times: float) -> str:
    """How many times something happens, or is paid: once, twice, 1.5 times."""
    text = number(float(times))
    return {"1.00": "once", "2.00": "twice"}.get(text, f"{text} times")


def inside(text: str) -> str:
    """A sentence as it stands after a colon: its first letter is small, unless it begins with a
    name or an abbreviation.

    >>> inside("The drive waits."), inside("I/O failed."), inside("SQPOLL waited.")
    ('the drive waits.', 'I/O failed.', 'SQPOLL waited.')
    """
    word = text.partition(" ")[0]
    plain = word == "A" or (word[1:].isalpha() and word[1:].islower())
    return f"{text[:1].lower()}{text[1:]}" if plain else text


def at_start(text: str) -> str:
    """Words as a sentence or a title begins with them: with a capital, unless the first is the name
    of a file or of something else that is not a plain word.

    >>> at_start("random reads"), at_start("srv_0.csv: reads"), at_start("p99 latency")
    ('Random reads', 'srv_0.csv: reads', 'P99 latency')
    """
    word = text.partition(" ")[0].rstrip(".,:;")
    return text if re.search(r"[._/\\]", word) else f"{text[:1].upper()}{text[1:]}"


def quantity(value: object, unit: object, digits: int = 3) -> str:
    """A finding's value with its unit, in the unit a person would choose."""
    x = finite(value)
    name = unit if isinstance(unit, str) else ""
    if x is None:
        return value if isinstance(value, str) else NOTHING
    if name in ("s", "seconds"):
        return duration(x, digits)
    if name in ("B/s", "bytes/s", "bytes_per_second", "byte/s"):
        return rate(x, digits)
    if name in ("B", "bytes", "byte"):
        return size(x)
    if name.startswith("of "):
        return f"{number(100 * x, digits)} % {name}"
    if name == "recordings":
        return count(round(x), "recording")
    if name in ("fraction", "ratio"):
        return percent(x, digits)
    return f"{number(x, digits)} {name}".rstrip() if name != "1" else number(x, digits)


def interval(bounds: object, unit: object) -> str:
    """Two bounds with as many digits as it takes to tell them apart, the unit once where both have
    the same; one where they are equal; empty without both."""
    if not isinstance(bounds, (list, tuple)) or any(finite(bound) is None for bound in bounds):
        return ""
    if len(bounds) != 2:
        return ""
    for digits in (3, 4, 5):
        low, high = (quantity(bound, unit, digits) for bound in bounds)
        if low != high:
            break
    if low == high:
        return quantity(bounds[0], unit)
    number_low, _, unit_low = low.partition(" ")
    _, _, unit_high = high.partition(" ")
    return f"{number_low if unit_low == unit_high else low} to {high}"


def spread(value: object, bounds: object, unit: str) -> str:
    """A value with its interval, if that is seen in as many digits as the value has; the unit is
    as in :func:`quantity`, but "1" is for a factor: 1.05 times (1.01 to 1.09)."""
    text = times(value) if unit == "1" else quantity(value, unit)
    if not isinstance(bounds, (list, tuple)):
        return text
    alike = len({quantity(bound, unit) for bound in bounds}) == 1
    return text if alike else f"{text} ({interval(bounds, unit)})"


def count(things: int, noun: str) -> str:
    """1 recording, 2 recordings."""
    return f"{things:,} {noun}" + ("" if things == 1 else "s")


def sentence_list(items: list[str]) -> str:
    """a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def _plain(x: float) -> str:
    return f"{int(x):,}".replace("-", _MINUS) if x == int(x) else number(x)

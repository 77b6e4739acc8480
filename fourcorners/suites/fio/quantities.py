"""Numbers as fio writes them ("fio HOWTO", section Parameter types)."""

import re
from collections.abc import Sequence

from fourcorners.errors import UserError
from fourcorners.units import SECONDS_MAX, SIZE_MAX, shortened

_NUMBER = re.compile(r"(0x[0-9a-f]{1,16}|\d{1,18}(?:\.\d{1,9})?)\s*([a-z]*)", re.IGNORECASE)
_POWERS = " kmgtp"
_TIMES = {
    **dict.fromkeys(("us", "usec"), 1e-6),
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("s", "sec"), 1.0),
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}


def amount(text: str, power_base: int = 1024) -> int:
    """A whole number with a prefix of powers of 1000 or 1024.

    With ``power_base`` 1024, fio's default, ``k`` is 1024 and ``ki`` 1000; with 1000 it is the
    other way round. Raises :class:`UserError`.
    """
    match = _NUMBER.fullmatch(text.strip())
    number, unit = (match[1], match[2].lower()) if match else ("", "?")
    letter, binary = unit[:1] if unit[:1] in _POWERS else "", unit[1:2] == "i"
    rest = unit[len(letter) + binary :] if letter else unit
    if match is None or rest not in ("", "b"):
        raise UserError(f'"{shortened(text)}" is no number as fio writes it, such as 4k or 10g')
    base = power_base if not binary else (1000 if power_base == 1024 else 1024)
    value = int(number, 16) if number[:2].lower() == "0x" else float(number)
    found = int(value * base ** _POWERS.index(letter or " "))
    if found > SIZE_MAX:
        raise UserError(f'"{shortened(text)}" is too much: use at most 8 EiB')
    return found


def seconds(text: str, unit: str = "s") -> float:
    """A time; ``unit`` is that of a number without one. Raises :class:`UserError`."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match[2].lower() or unit) not in _TIMES or match[1][:2].lower() == "0x":
        raise UserError(f'"{shortened(text)}" is no time as fio writes it, such as 30, 5m or 10ms')
    found = float(match[1]) * _TIMES[match[2].lower() or unit]
    if found > SECONDS_MAX:
        raise UserError(f'"{shortened(text)}" is too long: use at most {SECONDS_MAX:g} s')
    return found


def number(text: str, most: float = 1e9) -> float:
    """A plain number from 0; raises :class:`UserError`."""
    try:
        found = float(text.strip().rstrip("%"))
    except ValueError:
        found = -1.0
    if not 0 <= found <= most:
        raise UserError(f'"{shortened(text)}": use a number from 0 to {most:g}')
    return found


def whole(text: str) -> int:
    """A plain whole number from 0; raises :class:`UserError`."""
    return amount(text)


def switch(text: str) -> bool:
    """Whether something is on; raises :class:`UserError`."""
    return number(text) != 0


def by_direction(text: str) -> Sequence[str]:
    """The parts of reads and of writes, which are the same where one is given: ``4k,8k``. Empty of
    what is left out."""
    reads, comma, rest = text.partition(",")
    return reads.strip(), (rest.partition(",")[0] if comma else reads).strip()

"""Numbers and names of foreign files, which may be anything."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

COUNT_MAX = 2**53
"""No drive does so much: 9 PB, or 104 days in nanoseconds. Below it a float holds every integer."""

SECONDS_MAX = 30 * 86_400
"""The longest series, in seconds: 30 days. Four numbers are kept of each second."""

# Characters of a job's name: foreign text, which a table has to hold in a line or two.
_NAME_MAX = 200
_TIMESTAMP_MAX = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC).timestamp()


class UnusableError(ValueError):
    """A place of a file does not hold what belongs there; the message is a clause that names it."""


def number(value: Any, what: str, most: float = COUNT_MAX) -> float:
    """A finite number from zero to ``most``, also of text; raises :class:`UnusableError`."""
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UnusableError(f"{what} is no number")
        found = float(value)
    except (ValueError, OverflowError) as error:
        raise UnusableError(f"{what} is no number") from error
    if not (math.isfinite(found) and 0 <= found <= most):
        raise UnusableError(f"{what} is {value!s:.24}, which cannot be")
    return found


def count(value: Any, what: str) -> int:
    """A whole number from zero to :data:`COUNT_MAX`; raises :class:`UnusableError`."""
    found = number(value, what)
    if found != int(found):
        raise UnusableError(f"{what} is {value!s:.24}, which is not whole")
    return int(found)


def text(value: Any) -> str:
    """Any value as text that every file can hold, of bearable length."""
    plain = str(value).encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return plain if len(plain) <= _NAME_MAX else f"{plain[: _NAME_MAX - 1]}…"


def moment(timestamp: Any) -> str | None:
    """BySecond since 1970 as manifests have times; ``None`` where they are none."""
    try:
        seconds = number(timestamp, "timestamp", _TIMESTAMP_MAX)
    except UnusableError:
        return None
    return written(datetime.datetime.fromtimestamp(seconds, datetime.UTC))


def now() -> str:
    """The time of the import, as manifests have times."""
    return written(datetime.datetime.now(datetime.UTC))


def written(time: datetime.datetime) -> str:
    """A time as manifests have it."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}" if time.year >= 1000 else now()


def content_of(path: Path, most_bytes: int) -> bytes:
    """What a file holds, read up to a little beyond ``most_bytes``; raises ``OSError``. In pieces:
    a read of so much at once would claim as much memory for a file of any size."""
    content = bytearray()
    with path.open("rb") as file:
        while len(content) <= most_bytes and (part := file.read(2**20)):
            content += part
    return bytes(content)

"""The sizes of a fio job's requests: ``bs``, ``bsrange`` and ``bssplit``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fourcorners.errors import UserError
from fourcorners.suites.fio.quantities import amount, by_direction, number
from fourcorners.suites.fio.told import ToldOptions

_Reader = Callable[[str, int], "tuple[SizeRange, ...]"]

_DEFAULT = "4k"


@dataclass(frozen=True)
class SizeRange:
    """Sizes from ``least`` to ``most`` in steps of ``least``, and the percent of them."""

    least: int
    most: int
    percent: float


@dataclass(frozen=True)
class Sizes:
    """The sizes of reads and of writes."""

    reads: tuple[SizeRange, ...]
    writes: tuple[SizeRange, ...]

    @property
    def several(self) -> bool:
        """Whether requests differ in size."""
        every = {(one.least, one.most) for one in (*self.reads, *self.writes)}
        return len(every) > 1 or any(least != most for least, most in every)

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of a suite file's stream."""
        if not self.several:
            return {"block": f"{self.reads[0].least} B"}
        reads, writes = (":".join(map(_text, part)) for part in (self.reads, self.writes))
        return {"sizes": reads if reads == writes else f"{reads},{writes}"}

    @property
    def only(self) -> int | None:
        """The size that all have."""
        return None if self.several else self.reads[0].least

    @property
    def mean_bytes(self) -> tuple[float, float]:
        """The mean size of reads and of writes."""
        reads, writes = (
            sum(one.percent / 100 * (one.least + one.most) / 2 for one in part)
            for part in (self.reads, self.writes)
        )
        return reads, writes


def _text(one: SizeRange) -> str:
    size = f"{one.least} B" if one.least == one.most else f"{one.least} B-{one.most} B"
    return f"{size}/{one.percent:.9g}"


def sizes_of(job: ToldOptions) -> Sizes:
    """The sizes of a job; raises :class:`UserError`."""
    for key, (read, usual) in _READERS.items():
        if key not in job.told:
            continue
        reads, writes = (
            _part(job, key, part or usual, read) for part in by_direction(job.told[key])
        )
        if job.read_share == 1:
            writes = reads
        if job.read_share == 0:
            reads = writes
        return Sizes(reads, writes)
    plain = _one(_DEFAULT, job.power_base)
    return Sizes(plain, plain)


def _part(job: ToldOptions, key: str, part: str, read: _Reader) -> tuple[SizeRange, ...]:
    """The sizes of reads or of writes, of an option whose text has both."""
    try:
        return read(part, job.power_base)
    except UserError as error:
        raise job.error(f"{key}: {error}") from None


def _one(text: str, power_base: int) -> tuple[SizeRange, ...]:
    size = amount(text, power_base)
    return (SizeRange(size, size, 100.0),)


def _range(text: str, power_base: int) -> tuple[SizeRange, ...]:
    least, _, most = text.replace(":", "-").partition("-")
    ends = sorted((amount(least, power_base), amount(most or least, power_base)))
    return (SizeRange(ends[0], ends[1], 100.0),)


def _split(text: str, power_base: int) -> tuple[SizeRange, ...]:
    """Percentages that are left out share what is left; what is missing to 100 goes to the last."""
    given = [entry.partition("/") for entry in text.split(":") if entry]
    percents = [number(percent, 100) if percent else None for _, _, percent in given]
    left = 100 - sum(percent for percent in percents if percent is not None)
    missing = percents.count(None)
    shares = [left / missing if percent is None else percent for percent in percents]
    if not missing:
        shares[-1] += left
    sizes = [amount(size, power_base) for size, _, _ in given]
    return tuple(SizeRange(size, size, share) for size, share in zip(sizes, shares, strict=True))


_READERS: dict[str, tuple[_Reader, str]] = {
    "bssplit": (_split, f"{_DEFAULT}/100"),
    "bsrange": (_range, f"{_DEFAULT}-{_DEFAULT}"),
    "bs": (_one, _DEFAULT),
}
"""Options that say sizes, the first that is given counts; what a part that is left out is."""

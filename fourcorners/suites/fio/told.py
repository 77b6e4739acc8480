"""The options of one job of fio's, and what most others depend on."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TypeVar

from fourcorners.errors import UserError
from fourcorners.suites.fio import options
from fourcorners.suites.fio.job_file import FioSection
from fourcorners.suites.fio.quantities import amount, by_direction, number, whole
from fourcorners.units import shortened

_T = TypeVar("_T")
Extent = int | float
"""Bytes, or as a float a share of the target."""

_DIRECTIONS = {
    **dict.fromkeys(("read", "randread"), 1.0),
    **dict.fromkeys(("write", "randwrite"), 0.0),
    **dict.fromkeys(("rw", "readwrite", "randrw"), None),
}
_TRIMS = ("trim", "randtrim", "trimwrite", "randtrimwrite")


@dataclass(frozen=True)
class ToldOptions:
    """The options of a job, as text and read; raises :class:`UserError` with the section and option
    that is wrong.

    ``read_as`` says where an option means here what it does not say.
    """

    section: FioSection
    read_as: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuses what cannot be honoured."""
        if self.engine not in options.ENGINES:
            raise self.error(
                f"ioengine={self.engine} is refused: it does no reads and writes of a block device"
            )
        for key, text in self.told.items():
            if key in options.REFUSED and text not in options.HARMLESS:
                if key.startswith("verify") and self.told.get("do_verify") == "0":
                    self.read_as.append(f"{key}={text} with do_verify=0 reads nothing back")
                    continue
                raise self.error(f"{key}={text} is refused: {options.REFUSED[key]}")
            if key not in (*options.RUN, *options.PASSED_OVER, *options.REFUSED):
                known = [*options.RUN, *options.PASSED_OVER]
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
                hint = f"did you mean {near[0]}?" if near else "leave it out, or use another job"
                raise self.error(
                    f'no option of fio\'s named "{shortened(key)}" is known here: {hint}'
                )

    @property
    def told(self) -> Mapping[str, str]:
        """The options as text."""
        return self.section.options

    @property
    def engine(self) -> str:
        """fio's ``ioengine``; of one that is a file of its own, the name of that file."""
        kind, _, file = self.told.get("ioengine", "psync").partition(":")
        return PurePath(file).name.removesuffix(".so") if kind == "external" else kind

    @property
    def passed_over(self) -> list[str]:
        """Options that have no meaning here, as the file has them."""
        return [f"{key}={text}" for key, text in self.told.items() if key in options.PASSED_OVER]

    def error(self, text: str) -> UserError:
        """What to raise about the job."""
        return UserError(f"{self.section.where}, [{self.section.name}]: {text}")

    def of(self, key: str, read: Callable[[str], _T], default: _T) -> _T:
        """An option as ``read`` reads it."""
        text = self.told.get(key, "")
        if not text:
            return default
        try:
            return read(text)
        except UserError as error:
            raise self.error(f"{key}: {error}") from None

    def bytes_of(self, key: str) -> int | None:
        """A size; ``None`` where it is not told."""
        return self.of(key, lambda text: amount(text, self.power_base), None)

    def extent_of(self, key: str) -> Extent | None:
        """A size, or a share of the target."""
        if self.told.get(key, "").endswith("%"):
            return self.of(key, lambda text: number(text, 100) / 100, None)
        return self.bytes_of(key)

    @cached_property
    def power_base(self) -> int:
        """What a prefix such as k is a power of: fio's ``kb_base``."""
        base = self.of("kb_base", whole, 1024)
        if base not in (1000, 1024):
            raise self.error(f"kb_base={base}: use 1000 or 1024")
        return base

    @cached_property
    def direction(self) -> str:
        """fio's ``rw``, without what follows a colon."""
        found = self.told.get("rw", "read").partition(":")[0]
        if found in _TRIMS:
            raise self.error(
                f"rw={found} is refused: the TRIM of a simulated drive takes no time, so that its "
                "rate says nothing; trims of a trace are issued (read_iolog), and --purge discard "
                "frees a target before a run"
            )
        if found not in _DIRECTIONS:
            raise self.error(
                f"rw={found} is refused: use read, write, rw, randread, randwrite or randrw"
            )
        return found

    @property
    def is_random(self) -> bool:
        """Whether addresses are random but for what ``percentage_random`` says."""
        return self.direction.startswith("rand")

    @cached_property
    def read_share(self) -> float:
        """Share of reads."""
        pure = _DIRECTIONS[self.direction]
        if pure is not None:
            return pure
        if "rwmixread" in self.told or "rwmixwrite" not in self.told:
            return self.of("rwmixread", lambda text: number(text, 100), 50.0) / 100
        return 1 - self.of("rwmixwrite", lambda text: number(text, 100), 50.0) / 100

    def one_of(self, key: str, default: str = "") -> str:
        """The part of an option that counts for a job that only reads or only writes; raises
        :class:`UserError` where both count and differ."""
        reads, writes = by_direction(self.told.get(key, default))
        if self.read_share == 1:
            return reads or default
        if self.read_share == 0:
            return writes or default
        if (reads or default) != (writes or default):
            raise self.error(
                f"{key}={self.told.get(key)} is refused: reads and writes of one job cannot differ "
                "in it here: write one job that reads and one that writes"
            )
        return reads or default

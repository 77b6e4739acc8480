"""What a plan needs to know of a target."""

from dataclasses import dataclass
from typing import Literal

from fourcorners.errors import UserError
from fourcorners.target.target import Target
from fourcorners.wording import chosen_size


def check_filled(filled_share: float) -> None:
    """Raises :class:`UserError` unless the value is a share of a target."""
    if not 0 < filled_share <= 1:
        raise UserError(f"--filled {filled_share:g}: use more than 0, and at most 1")


def filled_bytes(capacity_bytes: int, filled_share: float) -> int:
    """Bytes of a share of a target, in whole 4 KiB where they are not all of it.

    Raises :class:`UserError` when that is not above 0 and up to all of it.
    """
    check_filled(filled_share)
    if filled_share == 1.0:
        return capacity_bytes
    count = int(filled_share * capacity_bytes) // 4096 * 4096
    if count <= 0:
        raise UserError(f"--filled {filled_share:g}: that is less than 4096 bytes")
    return count


@dataclass(frozen=True)
class Subject:
    """The facts of a target that tests depend on; see :class:`fourcorners.target.target.Target`.

    ``filled_share`` is the part that is used, from its start. ``area_bytes_max`` bounds it on real
    drives that have to be filled first, so that a quick look ends within minutes on any of them.
    """

    kind: Literal["simulated", "file", "device"]
    capacity_bytes: int
    writable: bool = True
    keeps_state: bool = True
    needs_fill: bool = False
    request_alignment_bytes: int = 512
    state: str | None = None
    filled_share: float = 1.0
    area_bytes_max: int | None = None
    no_trim_reason: str | None = None

    @classmethod
    def of(cls, target: Target, filled_share: float = 1.0) -> "Subject":
        """The facts of an open target, of which the tests use the first ``filled_share``."""
        return cls(
            kind=target.kind,
            capacity_bytes=target.capacity_bytes,
            writable=target.read_only_reason is None,
            keeps_state=target.keeps_state,
            needs_fill=target.needs_fill,
            request_alignment_bytes=target.request_alignment_bytes,
            state=target.state,
            filled_share=filled_share,
            no_trim_reason=target.no_trim_reason,
        )

    @property
    def fills(self) -> bool:
        """Whether filling changes anything: not on a disk whose every part was written once."""
        return self.writable and (self.keeps_state or self.needs_fill)

    @property
    def filled_bytes(self) -> int:
        """What is filled and written, from the start of the target; the rest stays empty."""
        return filled_bytes(self.capacity_bytes, self.filled_share)

    @property
    def area_bytes(self) -> int:
        """The part of the target that is tested, from its start."""
        area = self.filled_bytes
        if self.area_bytes_max is None or self.kind == "simulated" or not self.fills:
            return area
        return self.rounded(min(self.area_bytes_max, area))

    def span_bytes(self, wanted_bytes: int) -> int:
        """A span of ``wanted_bytes``, or as much of it as the tested part has."""
        return self.rounded(min(wanted_bytes, self.area_bytes))

    def share_bytes(self, share: float) -> int:
        """A share of the tested part, in whole 4 KiB where it is not all of it."""
        return self.rounded(filled_bytes(self.area_bytes, share))

    def extent(self, count: int) -> str:
        """The first ``count`` bytes of the target, in words."""
        if count >= self.rounded(self.capacity_bytes):
            return "the whole drive"
        return f"the first {chosen_size(count)}"

    def alone(self, count: int, state: str = "") -> str:
        """The same, of a target that is empty beyond; ``state`` follows the extent. Where nothing
        is erased and filled, as of a device that is only read, neither is said."""
        extent = self.extent(count)
        if not self.fills or self.state is not None:
            return extent
        beyond = "" if count >= self.rounded(self.capacity_bytes) else "the rest empty"
        return f"{extent}{state}" + (f"{';' if state else ','} {beyond}" if beyond else "")

    def rounded(self, count: int) -> int:
        """``count`` rounded down to what requests must be multiples of."""
        return count - count % self.request_alignment_bytes

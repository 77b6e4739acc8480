"""The options that targets are opened with, written once for every call that opens one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from fourcorners.catalog.settings import Setting

Method = Literal["discard", "nvme-format", "nvme-sanitize", "ata-secure-erase"]
"""How a device is erased."""


class RealTargetOptions(TypedDict, total=False):
    """Options of files and devices.

    ``size`` is the bytes of a file that is to be created. ``destroy_data`` is the block device
    whose data may be destroyed, and ``overwrite`` the existing file whose content may be
    overwritten; both must be the target itself. ``purge_method`` is how :meth:`Target.purge` erases
    a device that ``destroy_data`` names, one of ``fourcorners.target.purge.METHODS``; without one
    it is never erased. ``io_limit_s`` is the longest that one I/O may take, in seconds, before the
    workload is given up, 120 by default; or that a program that is a drive may be silent, 60 by
    default. ``engine`` is how I/O is passed to the system, ``NAME[,OPTION...]`` as
    docs/real-targets.md lists them; ``"auto"`` by default.
    """

    size: int | None
    destroy_data: str | None
    overwrite: str | None
    purge_method: str | None
    io_limit_s: float | None
    engine: str | None


class TargetOptions(RealTargetOptions, total=False):
    """Options of all targets: :class:`RealTargetOptions`, and those of simulated drives.

    ``settings`` are parameters of a simulated drive to replace, such as
    ``{"cache.write_back": False, "flash.read_time": "60 us"}``. ``state`` is a file that
    :meth:`Target.save` wrote of the same drive with the same settings: the drive goes on from
    there, with the randomness that it was made with.
    """

    settings: Mapping[str, Setting] | None
    state: str | Path | None

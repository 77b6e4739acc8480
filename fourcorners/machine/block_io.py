"""Block I/O: what this process caused, and what the disk has counted."""

from dataclasses import dataclass
from pathlib import Path

from fourcorners.machine.environment import SECTOR_BYTES
from fourcorners.machine.system_files import text


@dataclass(frozen=True)
class BlockIo:
    """One reading of the counters; ``None`` is what they do not tell."""

    own_read_bytes: int | None = None
    own_write_bytes: int | None = None
    disk_reads: int | None = None
    disk_read_bytes: int | None = None
    disk_writes: int | None = None
    disk_write_bytes: int | None = None


def read_block_io(root: Path, disk: Path | None) -> BlockIo:
    """``/proc/self/io`` and the ``stat`` of a disk's directory in ``/sys``.

    The first counts bytes when a request is built for a block device (reads) or when data is made
    dirty (writes); what the page cache or a hole answers is not in it.
    """
    own = {}
    for line in (text(root / "proc/self/io") or "").splitlines():
        name, _, value = line.partition(":")
        own[name] = int(value)
    # Documentation/block/stat.rst: reads, merged, sectors, ticks; the same of writes.
    fields = (text(disk / "stat") if disk is not None else None) or ""
    counts = [int(field) for field in fields.split()]
    known = len(counts) >= 7
    return BlockIo(
        own_read_bytes=own.get("read_bytes"),
        own_write_bytes=own.get("write_bytes"),
        disk_reads=counts[0] if known else None,
        disk_read_bytes=counts[2] * SECTOR_BYTES if known else None,
        disk_writes=counts[4] if known else None,
        disk_write_bytes=counts[6] * SECTOR_BYTES if known else None,
    )


@dataclass(frozen=True)
class Caps:
    """Limits that control groups set on this process's I/O to a disk."""

    read_iops: int | None = None
    write_iops: int | None = None
    read_bytes_per_second: int | None = None
    write_bytes_per_second: int | None = None


_VERSION_1 = {
    "read_iops": "blkio.throttle.read_iops_device",
    "write_iops": "blkio.throttle.write_iops_device",
    "read_bytes_per_second": "blkio.throttle.read_bps_device",
    "write_bytes_per_second": "blkio.throttle.write_bps_device",
}
_VERSION_2 = {
    "read_iops": "riops",
    "write_iops": "wiops",
    "read_bytes_per_second": "rbps",
    "write_bytes_per_second": "wbps",
}


def read_caps(root: Path, device_number: str | None) -> Caps:
    """The tightest limits on the way from this process's group to the root of its hierarchy."""
    found: dict[str, int] = {}

    def take(name: str, value: str) -> None:
        if value.isdigit() and int(value) > 0:
            found[name] = min(found.get(name, int(value)), int(value))

    for line in (text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        base = root / "sys/fs/cgroup"
        if controllers == "":
            bases = [base, base / "unified"]
        elif "blkio" in controllers.split(","):
            bases = [base / "blkio", base / controllers]
        else:
            continue
        for start in bases:
            for folder in _upwards(start, path):
                for name, file in _VERSION_1.items():
                    for device, value in _lines(folder / file):
                        if device == device_number:
                            take(name, value[0])
                for device, values in _lines(folder / "io.max"):
                    if device == device_number:
                        limits = dict(value.partition("=")[::2] for value in values)
                        for name, key in _VERSION_2.items():
                            take(name, limits.get(key, "max"))
    return Caps(**found)


def _upwards(start: Path, path: str) -> list[Path]:
    folders = [start]
    for part in Path(path).parts:
        if part not in ("/", ".."):
            folders.append(folders[-1] / part)
    return folders


def _lines(path: Path) -> list[tuple[str, list[str]]]:
    split = [line.split() for line in (text(path) or "").splitlines()]
    return [(fields[0], fields[1:]) for fields in split if len(fields) >= 2]

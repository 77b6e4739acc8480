"""What the machine and the drive say about themselves: the ``environment`` of a run folder.

Everything comes from ``/proc`` and ``/sys``, below a root that tests replace. What the system does
not tell is ``None`` and never guessed. Names of hosts and users are not read.
"""

import os
import platform
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fourcorners.machine.system_files import number, text

Fact = str | int | bool | None

SECTOR_BYTES = 512

# Mount options with a value that says something about speed. Others may hold paths and user names.
_TELLING_OPTIONS = frozenset(
    [
        "barrier",
        "commit",
        "compress",
        "compress-force",
        "data",
        "discard",
        "errors",
        "logbsize",
        "logbufs",
        "size",
        "stripe",
        "sunit",
        "swidth",
    ]
)
# Drivers whose devices are named by them: sda could be anything, zram0 cannot.
_TRANSPORT_BY_NAME = {
    "dm-": "device mapper",
    "loop": "loop",
    "md": "md RAID",
    "mmcblk": "MMC",
    "nbd": "NBD",
    "pmem": "persistent memory",
    "ram": "RAM disk",
    "zram": "zram",
}


def describe_host(root: str | Path = "/") -> dict[str, Fact]:
    """The machine: kernel, processor, memory, and what runs on it of ours."""
    root = Path(root)
    release = text(root / "proc/sys/kernel/osrelease")
    memory = re.search(
        r"^MemTotal:\s+(\d+) kB", text(root / "proc/meminfo") or "", flags=re.MULTILINE
    )
    cpuinfo = text(root / "proc/cpuinfo") or ""
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, flags=re.MULTILINE)
    return {
        "kernel": f"Linux {release}" if release else None,
        "cpu": model.group(1).strip() if model else None,
        "cores": processors(),
        "cpu_governor": text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": int(memory.group(1)) * 1024 if memory else None,
        "virtualization": _virtualization(root, cpuinfo),
        "python": platform.python_version(),
        "fourcorners": _own_version(),
    }


def processors() -> int:
    """Processors that this process may use, or that there are where the system tells no more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_path(path: str | Path, root: str | Path = "/") -> dict[str, Fact]:
    """The file system and the device behind an existing file, or the block device itself."""
    root = Path(root)
    mount, directory = _mount_and_device(path, root)
    described = describe_block_device(directory)
    if stat.S_ISBLK(os.stat(path).st_mode):  # noqa: PTH116 - also for paths given as text
        return described
    return {
        "file_system": mount.file_system if mount else None,
        "mount_options": mount.options if mount else None,
        **described,
    }


def disk_directory(path: str | Path, root: str | Path = "/") -> Path | None:
    """The directory in ``/sys`` of the whole disk below an existing file or block device.

    Of a partition, and of a mapping over one device, that is the disk below; ``None`` where the
    system does not tell.
    """
    _, directory = _mount_and_device(path, Path(root))
    return None if directory is None else _bottom(_whole(directory))


def describe_block_device(directory: Path | None) -> dict[str, Fact]:
    """The device with this directory in ``/sys``; every fact is ``None`` without one.

    Of a partition, and of a mapping over one device, the disk below is described.
    """
    name, start = directory.name if directory else None, None
    if directory is not None and (directory / "partition").exists():
        start = number(directory / "start")
        directory = directory.parent
    transport = _transport(directory) if directory else None
    while directory is not None and (below := _only_slave(directory)) is not None:
        directory = below
        transport = f"{transport} over {_transport(directory) or 'a disk'}"
    disk = directory or Path(os.devnull)
    controller = controller_of(disk)
    size, rotational = number(disk / "size"), number(disk / "queue/rotational")
    if transport == "virtio" and rotational == 1:
        # The driver says so of every disk: it does not know.
        rotational = None
    return {
        "device": name,
        "device_model": _model(disk, controller),
        "device_serial": _serial(disk, controller),
        "device_firmware": text(controller / "firmware_rev") or text(controller / "rev"),
        "device_size_bytes": None if size is None else size * SECTOR_BYTES,
        "partition_start_bytes": None if start is None else start * SECTOR_BYTES,
        "rotational": None if rotational is None else rotational == 1,
        "logical_block_bytes": number(disk / "queue/logical_block_size"),
        "physical_block_bytes": number(disk / "queue/physical_block_size"),
        "scheduler": _chosen(text(disk / "queue/scheduler")),
        "write_cache": text(disk / "queue/write_cache"),
        "queue_requests": number(disk / "queue/nr_requests"),
        "transport": transport,
        "link": _link(disk, controller),
    }


def _mount_and_device(path: str | Path, root: Path) -> tuple["Mount | None", Path | None]:
    """The mount that a file is on, and the directory in ``/sys`` of its device."""
    status = os.stat(path)  # noqa: PTH116 - also for paths given as text
    if stat.S_ISBLK(status.st_mode):
        device = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
        return None, _block_directory(root, device)
    device = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    mount = _mount_of(os.path.realpath(path), device, root)
    directory = _block_directory(root, device)
    if directory is None and mount is not None and mount.source.startswith("/dev/"):
        # File systems over several devices have a number of their own; the source names one.
        name = (root / mount.source.lstrip("/")).resolve().name
        directory = _existing(root / "sys/class/block" / name)
    return mount, directory


def _whole(directory: Path) -> Path:
    return directory.parent if (directory / "partition").exists() else directory


def _bottom(disk: Path) -> Path:
    """The disk below mappings over one device."""
    while (below := _only_slave(disk)) is not None:
        disk = below
    return disk


@dataclass(frozen=True)
class Mount:
    """A line of the kernel's table of mounts; ``device`` is MAJOR:MINOR."""

    device: str
    point: str
    file_system: str
    source: str
    options: str


def mounts(root: Path = Path("/")) -> Iterator[Mount]:
    """All that is mounted, the latest last (proc(5), mountinfo)."""
    for line in (text(root / "proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if len(fields) < 6 or len(tail) < 3:
            continue
        options = dict.fromkeys([*fields[5].split(","), *tail[2].split(",")])
        kept = [o for o in options if "=" not in o or o.partition("=")[0] in _TELLING_OPTIONS]
        yield Mount(fields[2], _unescaped(fields[4]), tail[0], _unescaped(tail[1]), ",".join(kept))


def _mount_of(path: str, device: str, root: Path) -> Mount | None:
    """The mount that holds ``path``: by device number, of several the one nearest to the path."""
    of_device = [mount for mount in mounts(root) if mount.device == device]
    holding = [m for m in of_device if Path(path).is_relative_to(m.point)]
    return max(holding, key=lambda m: len(m.point), default=None)


def _unescaped(field: str) -> str:
    """Undoes the kernel's ``\\040`` for characters that would break its table."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def _block_directory(root: Path, device: str) -> Path | None:
    return _existing(root / "sys/dev/block" / device)


def _existing(path: Path) -> Path | None:
    return path.resolve() if path.exists() else None


def _only_slave(disk: Path) -> Path | None:
    """What a mapping lies over, if it is one device; of a partition, its disk."""
    slaves = list((disk / "slaves").iterdir()) if (disk / "slaves").is_dir() else []
    if len(slaves) != 1:
        return None
    slave = slaves[0].resolve()
    return _whole(slave)


def controller_of(disk: Path) -> Path:
    """Where model and firmware stand: the SCSI device, or the NVMe controller."""
    device = disk / "device"
    if disk.name.startswith("nvme") and not (device / "transport").exists():
        # Native multipath: the disk belongs to a subsystem, which lists its controllers.
        for candidate in sorted(device.glob("nvme*")):
            if (candidate / "transport").exists():
                return candidate.resolve()
    return device.resolve()


def _model(disk: Path, controller: Path) -> str | None:
    vendor, model = text(controller / "vendor"), text(controller / "model")
    # Behind ATA the vendor is the word ATA; virtio's vendor is a number.
    if model and vendor and vendor != "ATA" and not vendor.startswith("0x"):
        return f"{vendor} {model}"
    return model or (text(controller / "name") if disk.name.startswith("mmcblk") else None)


def _serial(disk: Path, controller: Path) -> str | None:
    plain = text(controller / "serial") or text(disk / "serial")
    if plain:
        return plain
    try:
        page = (controller / "vpd_pg80").read_bytes()
    except OSError:
        return None
    # Vital product data: four bytes of header, then the number in ASCII.
    return page[4:].decode("ascii", errors="replace").strip("\0 ") or None


def _transport(disk: Path) -> str | None:
    parts = disk.parts
    for name, transport in _TRANSPORT_BY_NAME.items():
        if re.fullmatch(re.escape(name) + r"\d+.*", disk.name):
            return transport
    if disk.name.startswith("nvme"):
        kind = text(controller_of(disk) / "transport")
        return f"NVMe over {kind}" if kind else "NVMe"
    if any(re.fullmatch(r"usb\d+", part) for part in parts):
        return "USB"
    if any(re.fullmatch(r"ata\d+", part) for part in parts):
        return "ATA"
    if any(re.fullmatch(r"virtio\d+", part) for part in parts):
        return "virtio"
    return None


def _link(disk: Path, controller: Path) -> str | None:
    """The negotiated link: SATA's as its port says, NVMe's as its PCI device says."""
    for index, part in enumerate(disk.parts):
        if port := re.fullmatch(r"ata(\d+)", part):
            sys = Path(*disk.parts[: disk.parts.index("devices")])
            own = Path(*disk.parts[: index + 1]) / f"link{port.group(1)}"
            places = [sys / f"class/ata_link/link{port.group(1)}", own]
            speeds = [text(place / "sata_spd") for place in places]
            # A port without SATA (PATA) says "<unknown>".
            known = [speed for speed in speeds if speed and not speed.startswith("<")]
            return f"SATA {known[0]}" if known else None
    speed = text(controller / "device/current_link_speed")
    width = text(controller / "device/current_link_width")
    if speed and width and not speed.startswith("Unknown"):
        return f"{speed} x{width}" if "PCIe" in speed else f"PCIe {speed} x{width}"
    return None


def _virtualization(root: Path, cpuinfo: str) -> str | None:
    """What is visible of it; bare metal and the unknown are both ``None``."""
    found = []
    if re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo, flags=re.MULTILINE):
        product = text(root / "sys/class/dmi/id/sys_vendor")
        found.append(f"virtual machine ({product})" if product else "virtual machine")
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        found.append("container")
    return ", ".join(found) or None


def _chosen(choices: str | None) -> str | None:
    """``none [mq-deadline] kyber`` has chosen ``mq-deadline``."""
    match = re.search(r"\[(.+?)\]", choices or "")
    return match.group(1) if match else choices


def _own_version() -> str | None:
    try:
        return version("fourcorners")
    except PackageNotFoundError:
        return None

"""Facts about machine and drive, from made-up /proc and /sys trees."""

import os
import socket
from pathlib import Path

from fourcorners.machine.environment import describe_block_device, describe_host, describe_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def link(path: Path, to: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


def sata_disk(root: Path) -> Path:
    port = "sys/devices/pci0000:00/0000:00:17.0/ata3"
    disk = f"{port}/host2/target2:0:0/2:0:0:0/block/sda"
    scsi = f"{port}/host2/target2:0:0/2:0:0:0"
    write(
        root,
        {
            f"{scsi}/vendor": "ATA     ",
            f"{scsi}/model": "WDC WD6400AAKS-2",
            f"{scsi}/rev": "01.0",
            f"{disk}/size": "1250263728",
            f"{disk}/queue/rotational": "1",
            f"{disk}/queue/logical_block_size": "512",
            f"{disk}/queue/physical_block_size": "4096",
            f"{disk}/queue/scheduler": "none [mq-deadline] kyber",
            f"{disk}/queue/write_cache": "write back",
            f"{disk}/queue/nr_requests": "64",
            f"{disk}/sda1/partition": "1",
            f"{disk}/sda1/start": "63",
            "sys/class/ata_link/link3/sata_spd": "3.0 Gbps",
        },
    )
    (root / scsi / "vpd_pg80").write_bytes(b"\0\x80\0\x08WD-WMASY")
    link(root / disk / "device", root / scsi)
    return root / disk


def test_sata_disk(tmp_path: Path) -> None:
    assert describe_block_device(sata_disk(tmp_path)) == {
        "device": "sda",
        "device_model": "WDC WD6400AAKS-2",
        "device_serial": "WD-WMASY",
        "device_firmware": "01.0",
        "device_size_bytes": 640_135_028_736,
        "partition_start_bytes": None,
        "rotational": True,
        "logical_block_bytes": 512,
        "physical_block_bytes": 4096,
        "scheduler": "mq-deadline",
        "write_cache": "write back",
        "queue_requests": 64,
        "transport": "ATA",
        "link": "SATA 3.0 Gbps",
    }


def test_a_partition_is_described_by_its_disk_and_its_start(tmp_path: Path) -> None:
    facts = describe_block_device(sata_disk(tmp_path) / "sda1")
    assert (facts["device"], facts["device_model"]) == ("sda1", "WDC WD6400AAKS-2")
    assert facts["partition_start_bytes"] == 63 * 512


def test_a_mapping_over_one_partition_is_described_by_the_disk(tmp_path: Path) -> None:
    disk = sata_disk(tmp_path)
    mapping = tmp_path / "sys/devices/virtual/block/dm-0"
    link(mapping / "slaves/sda1", disk / "sda1")
    facts = describe_block_device(mapping)
    assert (facts["device"], facts["device_model"]) == ("dm-0", "WDC WD6400AAKS-2")
    assert facts["transport"] == "device mapper over ATA"


def nvme_controller(root: Path) -> Path:
    pci = "sys/devices/pci0000:00/0000:01:00.0"
    controller = f"{pci}/nvme/nvme0"
    write(
        root,
        {
            f"{pci}/current_link_speed": "8.0 GT/s PCIe",
            f"{pci}/current_link_width": "4",
            f"{controller}/model": "Example 960   ",
            f"{controller}/serial": "S123",
            f"{controller}/firmware_rev": "2B7Q",
            f"{controller}/transport": "pcie",
        },
    )
    link(root / controller / "device", root / pci)
    return root / controller


def test_nvme_disk(tmp_path: Path) -> None:
    controller = nvme_controller(tmp_path)
    disk = controller / "nvme0n1"
    write(disk, {"size": "8", "queue/rotational": "0", "queue/scheduler": "[none] kyber"})
    link(disk / "device", controller)
    facts = describe_block_device(disk)
    assert facts["device_model"] == "Example 960"
    assert (facts["device_serial"], facts["device_firmware"]) == ("S123", "2B7Q")
    assert (facts["transport"], facts["link"]) == ("NVMe over pcie", "8.0 GT/s PCIe x4")
    assert (facts["rotational"], facts["scheduler"]) == (False, "none")


def test_nvme_disk_under_native_multipath(tmp_path: Path) -> None:
    controller = nvme_controller(tmp_path)
    subsystem = tmp_path / "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    link(subsystem / "nvme0", controller)
    disk = subsystem / "nvme0n1"
    write(disk, {"size": "8"})
    link(disk / "device", subsystem)
    facts = describe_block_device(disk)
    assert (facts["device_model"], facts["link"]) == ("Example 960", "8.0 GT/s PCIe x4")


def test_a_virtual_disk_invents_nothing(tmp_path: Path) -> None:
    disk = tmp_path / "sys/devices/pci0000:00/virtio1/block/vda"
    write(disk, {"queue/write_cache": "write through", "queue/rotational": "1"})
    write(disk.parent.parent, {"vendor": "0x1af4"})
    link(disk / "device", disk.parent.parent)
    facts = describe_block_device(disk)
    assert (facts["transport"], facts["write_cache"]) == ("virtio", "write through")
    assert facts["device_model"] is None
    assert facts["link"] is None
    assert facts["rotational"] is None


def test_a_file_is_described_by_its_file_system_and_the_device_below(tmp_path: Path) -> None:
    disk = sata_disk(tmp_path)
    status = tmp_path.stat()
    number = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    link(tmp_path / "sys/dev/block" / number, disk / "sda1")
    mounted = tmp_path / "with space"
    escaped = str(mounted).replace(" ", "\\040")
    tail = "- ext4 /dev/sda1 rw,data=ordered,usrjquota=/home/someone"
    write(
        tmp_path,
        {
            "proc/self/mountinfo": f"1 0 {number} / / rw {tail}\n"
            f"2 1 {number} /x {escaped} rw,noatime shared:1 {tail}",
            "with space/file": "content",
        },
    )
    facts = describe_path(mounted / "file", tmp_path)
    assert facts["file_system"] == "ext4"
    assert facts["mount_options"] == "rw,noatime,data=ordered"
    assert facts["device"] == "sda1"
    assert facts["device_model"] == "WDC WD6400AAKS-2"


def test_a_file_system_with_its_own_number_is_found_by_its_source(tmp_path: Path) -> None:
    disk = sata_disk(tmp_path)
    link(tmp_path / "sys/class/block/sda", disk)
    status = tmp_path.stat()
    number = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    write(tmp_path, {"proc/self/mountinfo": f"1 0 {number} / / rw - btrfs /dev/sda rw"})
    facts = describe_path(tmp_path, tmp_path)
    assert (facts["file_system"], facts["device"]) == ("btrfs", "sda")


def test_nothing_known_is_none_throughout(tmp_path: Path) -> None:
    assert set(describe_path(tmp_path, tmp_path / "empty").values()) == {None}


def test_host(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/sys/kernel/osrelease": "6.12.0",
            "proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB",
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: Example CPU\nflags\t\t: fpu hypervisor",
            "sys/class/dmi/id/sys_vendor": "QEMU",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
            ".dockerenv": "",
        },
    )
    facts = describe_host(tmp_path)
    assert facts["kernel"] == "Linux 6.12.0"
    assert (facts["cpu"], facts["memory_bytes"]) == ("Example CPU", 16 * 2**20)
    assert facts["virtualization"] == "virtual machine (QEMU), container"
    assert facts["cpu_governor"] == "performance"


def test_the_running_host_is_described_without_its_name() -> None:
    facts = describe_host()
    assert facts["kernel"]
    assert isinstance(facts["cores"], int)
    assert facts["cores"] >= 1
    assert socket.gethostname() not in facts.values()

"""Disks that hold something that nobody uses at the moment: without the word that permits it the
refusal names what would be destroyed. The signatures are those that the formats' documents tell.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from dangers import DISK_BYTES, Danger, danger, disk

KIB = 1 << 10
SECTOR = 512


def _held(name: str, offset: int, signature: bytes, named: str) -> None:
    def stage(folder: Path) -> Iterator[Danger]:
        with disk(folder) as one:
            with Path(one.device).open("r+b") as device:
                device.seek(offset)
                device.write(signature)
            yield Danger([one.device], named, [one.image], command="verify")

    stage.__name__ = f"a_disk_that_holds_{name}"
    danger(stage)


def _ext_copy(group: int) -> bytes:
    """A superblock's magic number, size of blocks (1 KiB) and group."""
    block = bytearray(128)
    struct.pack_into("<H", block, 0x38, 0xEF53)
    struct.pack_into("<H", block, 0x5A, group)
    return bytes(block)


_held("an_lvm_label_in_sector_0", 24, b"LVM2 001", "an LVM physical volume (sector 0)")
_held("an_lvm_label_in_sector_3", 3 * SECTOR + 24, b"LVM2 001", "an LVM physical volume (sector 3)")
_held(
    "a_zfs_label_at_its_end",
    DISK_BYTES - 128 * KIB,
    struct.pack("<Q", 0x00BAB10C),
    "a ZFS pool's member",
)
_held("the_second_header_of_luks2", 16 * KIB, b"SKUL\xba\xbe", "a LUKS volume (sector 32)")
_held("a_copy_of_an_ext4_superblock", 8193 * KIB, _ext_copy(1), "ext4 superblock's copy")
_held("drbd", DISK_BYTES - 4 * KIB + 60, b"\x83\x74\x02\x6b", "a DRBD device")
_held("refs", 3, b"ReFS\0\0\0\0", "ReFS")
_held("ufs2", 64 * KIB + 1372, struct.pack("<I", 0x19540119), "a UFS file system")
_held("vdo", 0, b"dmvdo001", "a VDO volume")
_held("an_apple_map", SECTOR, b"PM\0\0\0\0\0\2", "an Apple partition map")
_held("an_asm_disk", 32, b"ORCLDISK", "an Oracle ASM disk")
_held("gfs2", 64 * KIB, struct.pack(">I", 0x01161970), "a GFS2 file system")
_held("ocfs2", 4 * KIB, b"OCFSV2", "an OCFS2 file system")
_held("udf", 32 * KIB + 1, b"BEA01", "a UDF file system")
_held("a_copy_of_an_ntfs_boot_sector", DISK_BYTES - SECTOR + 3, b"NTFS    ", "NTFS boot sector")
_held("a_tar_archive", 257, b"ustar\x0000", "a tar archive")
_held("a_database", 0, b"SQLite format 3\0", "an SQLite database")
_held("a_volume_of_stratis", SECTOR + 4, b"!Stra0tis\x86\xff\x02^\x41rh", "Stratis")
_held("a_windows_dynamic_disk", 6 * SECTOR, b"PRIVHEAD", "a Windows dynamic disk")
_held("a_hfs_copy_at_its_end", DISK_BYTES - 2 * SECTOR, b"H+\0\4", "an HFS+ header's copy")

//! What an unmounted device holds, by the magic numbers of the usual formats,
//! so that a plan can say what a write would destroy. A missing signature
//! proves nothing; a found one is named.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A magic number at a fixed place.
struct Magic {
    name: &'static str,
    offset: u64,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, offset, bytes }
}

const MD_RAID: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];

/// In the order in which they are reported. Formats whose boot sector also ends
/// like a partition table come before it.
const MAGICS: &[Magic] = &[
    magic("an ext2, ext3 or ext4 file system", 0x438, &[0x53, 0xEF]),
    magic("an XFS file system", 0, b"XFSB"),
    magic("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    magic("an F2FS file system", 1024, &[0x10, 0x20, 0xF5, 0xF2]),
    magic("an NTFS file system", 3, b"NTFS    "),
    magic("an exFAT file system", 3, b"EXFAT   "),
    magic("a FAT file system", 54, b"FAT1"),
    magic("a FAT file system", 82, b"FAT32"),
    magic("a BitLocker volume", 3, b"-FVE-FS-"),
    magic("a squashfs file system", 0, b"hsqs"),
    magic("an ISO 9660 file system", 32_769, b"CD001"),
    magic("a swap area", 4096 - 10, b"SWAPSPACE2"),
    magic("a swap area", 65_536 - 10, b"SWAPSPACE2"),
    magic("a LUKS volume", 0, b"LUKS\xBA\xBE"),
    magic("an LVM physical volume", 512 + 24, b"LVM2 001"),
    magic("a bcache device", 4096 + 24, &[0xC6, 0x85, 0x73, 0xF6]),
    magic("a RAID member (md)", 0, MD_RAID),
    magic("a RAID member (md)", 4096, MD_RAID),
    magic("a GPT partition table", 512, b"EFI PART"),
    magic("a GPT partition table", 4096, b"EFI PART"),
];

/// Names of the formats found on a device of `capacity_bytes`, without
/// repetition. What cannot be read is passed over.
pub(crate) fn found(device: &File, capacity_bytes: u64) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut add = |name| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    let holds = |offset: u64, bytes: &[u8]| {
        let mut there = [0; 16];
        let there = &mut there[..bytes.len()];
        device.read_exact_at(there, offset).is_ok() && there == bytes
    };
    for magic in MAGICS {
        if holds(magic.offset, magic.bytes) {
            add(magic.name);
        }
    }
    // md keeps its superblock near the end in the formats 0.90 and 1.0.
    let old = (capacity_bytes & !0xFFFF).checked_sub(0x1_0000);
    let new = capacity_bytes.checked_sub(8192).map(|at| at & !0xFFF);
    for offset in [old, new].into_iter().flatten() {
        if holds(offset, MD_RAID) {
            add("a RAID member (md)");
        }
    }
    if found.is_empty() && has_mbr(device) {
        found.push("an MBR partition table");
    }
    found
}

/// A boot signature with at least one entry in use: drives are also delivered
/// with an empty table.
fn has_mbr(device: &File) -> bool {
    let mut sector = [0; 512];
    device.read_exact_at(&mut sector, 0).is_ok()
        && sector[510..] == [0x55, 0xAA]
        && sector[446..510].chunks(16).any(|entry| entry[4] != 0)
}

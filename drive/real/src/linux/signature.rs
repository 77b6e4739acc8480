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

/// Magic numbers that a volume's end holds: distance from there.
const MAGICS_AT_END: &[Magic] = &[
    magic("a GPT partition table", 512, b"EFI PART"),
    magic("a GPT partition table", 4096, b"EFI PART"),
    magic("a RAID member (Intel)", 1024, b"Intel Raid ISM C"),
    magic("a RAID member (DDF)", 512, &[0xDE, 0x11, 0xDE, 0x11]),
];

/// A ring of the latest states of a ZFS pool, each with this number at its
/// start, in the order of bytes of the machine that wrote it.
const ZFS_STATE: [u8; 4] = [0x0C, 0xB1, 0xBA, 0x00];
const ZFS_STATES_OFFSET: u64 = 128 << 10;
const ZFS_STATES_BYTES: usize = 128 << 10;
const ZFS_STATE_BYTES: usize = 1024;

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
    magic("a bcache or bcachefs member", 4096 + 24, &[0xC6, 0x85, 0x73, 0xF6]),
    magic("an EROFS file system", 1024, &[0xE2, 0xE1, 0xF5, 0xE0]),
    magic("a JFS file system", 32_768, b"JFS1"),
    magic("a ReiserFS file system", 65_536 + 52, b"ReIsEr"),
    magic("a NILFS2 file system", 1024 + 6, &[0x34, 0x34]),
    magic("an HFS+ file system", 1024, b"H+"),
    magic("an APFS container", 32, b"NXSB"),
    magic("a VMFS volume", 0x10_0000, &[0x0D, 0xD0, 0x01, 0xC0]),
    magic("a Ceph disk", 0, b"bluestore block "),
    magic("a dm-integrity volume", 0, b"integrt\0"),
    magic("a dm-verity volume", 0, b"verity\0\0"),
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
    for magic in MAGICS_AT_END {
        if capacity_bytes >= magic.offset && holds(capacity_bytes - magic.offset, magic.bytes) {
            add(magic.name);
        }
    }
    if holds_zfs_state(device) {
        add("a ZFS pool's member");
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

fn holds_zfs_state(device: &File) -> bool {
    let mut states = vec![0; ZFS_STATES_BYTES];
    let mut swapped = ZFS_STATE;
    swapped.reverse();
    device.read_exact_at(&mut states, ZFS_STATES_OFFSET).is_ok()
        && states
            .chunks(ZFS_STATE_BYTES)
            .any(|state| state[..4] == ZFS_STATE || state[4..8] == swapped)
}

/// A boot signature with at least one entry in use: drives are also delivered
/// with an empty table.
fn has_mbr(device: &File) -> bool {
    let mut sector = [0; 512];
    device.read_exact_at(&mut sector, 0).is_ok()
        && sector[510..] == [0x55, 0xAA]
        && sector[446..510].chunks(16).any(|entry| entry[4] != 0)
}

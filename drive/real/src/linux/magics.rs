//! Magic numbers of formats at fixed places: those that libblkid does not know, above all
//! copies that a format keeps elsewhere, and the usual ones where there is no libblkid.

/// A magic number at a fixed place.
pub(crate) struct Magic {
    pub name: &'static str,
    pub place: Place,
    pub bytes: &'static [u8],
}

/// Where a magic number stands.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
    /// Bytes before the end, counted down from a multiple of the second number.
    EndOfWhole(u64, u64),
}

impl Place {
    /// Its offset on a device of `capacity_bytes`, if that is long enough.
    pub(crate) fn offset(self, capacity_bytes: u64) -> Option<u64> {
        match self {
            Place::Start(offset) => Some(offset),
            Place::End(distance) => capacity_bytes.checked_sub(distance),
            Place::EndOfWhole(distance, unit) => {
                (capacity_bytes - capacity_bytes % unit).checked_sub(distance)
            }
        }
    }
}

const fn at(name: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, place: Place::Start(offset), bytes }
}

const fn end(name: &'static str, distance: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, place: Place::End(distance), bytes }
}

const KIB: u64 = 1 << 10;
const SECTOR: u64 = 512;

const MD_RAID: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
const MD: &str = "a RAID member (md)";
const GPT: &str = "a GPT partition table";
const LVM: &str = "an LVM physical volume";
const LVM_LABEL: &[u8] = b"LVM2 001";
const LUKS: &str = "a LUKS volume";
const LUKS_SECOND_MAGIC: &[u8] = b"SKUL\xBA\xBE";
const BTRFS_COPY: &str = "a btrfs superblock's copy";
const BTRFS_MAGIC: &[u8] = b"_BHRfS_M";
const OCFS2: &str = "an OCFS2 file system";
const UFS: &str = "a UFS file system";
const UFS2_LITTLE: &[u8] = &[0x19, 0x01, 0x54, 0x19];
const UFS2_BIG: &[u8] = &[0x19, 0x54, 0x01, 0x19];
const UDF: &str = "a UDF file system";
const DRBD: &str = "a DRBD device";
const ARCHIVE: &str = "a compressed archive";
const MACHINE: &str = "a virtual machine's disk";

/// In the order in which they are reported. Of two bytes only where nothing better tells
/// the format: random data looks like one of those once in 65,536 times.
pub(crate) const MAGICS: &[Magic] = &[
    at("an ext2, ext3 or ext4 file system", 0x438, &[0x53, 0xEF]),
    at("a NILFS2 file system", 1024 + 6, &[0x34, 0x34]),
    at("an HFS+ file system", 1024, b"H+"),
    at("an HFS+ file system", 1024, b"HX"),
    at("an XFS file system", 0, b"XFSB"),
    at("a btrfs file system", 64 * KIB + 0x40, BTRFS_MAGIC),
    at(BTRFS_COPY, (64 << 20) + 0x40, BTRFS_MAGIC),
    at(BTRFS_COPY, (256 << 30) + 0x40, BTRFS_MAGIC),
    at("an F2FS file system", 1024, &[0x10, 0x20, 0xF5, 0xF2]),
    at("an F2FS superblock's copy", 4096 + 1024, &[0x10, 0x20, 0xF5, 0xF2]),
    at("an NTFS file system", 3, b"NTFS    "),
    end("an NTFS boot sector's copy", SECTOR - 3, b"NTFS    "),
    at("an exFAT file system", 3, b"EXFAT   "),
    at("an exFAT boot sector's copy", 12 * SECTOR + 3, b"EXFAT   "),
    at("a FAT file system", 54, b"FAT1"),
    at("a FAT file system", 82, b"FAT32"),
    at("a FAT boot sector's copy", 6 * SECTOR + 82, b"FAT32"),
    at("a ReFS file system", 3, b"ReFS\0\0\0\0"),
    at("a BitLocker volume", 3, b"-FVE-FS-"),
    at("a squashfs file system", 0, b"hsqs"),
    at(UDF, 32 * KIB + 1, b"BEA01"),
    at(UDF, 34 * KIB + 1, b"BEA01"),
    at(UDF, 34 * KIB + 1, b"NSR0"),
    at(UDF, 36 * KIB + 1, b"NSR0"),
    at("an ISO 9660 file system", 32_769, b"CD001"),
    at(UFS, 8 * KIB + 0x55C, UFS2_LITTLE),
    at(UFS, 8 * KIB + 0x55C, UFS2_BIG),
    at(UFS, 64 * KIB + 0x55C, UFS2_LITTLE),
    at(UFS, 64 * KIB + 0x55C, UFS2_BIG),
    at(UFS, 256 * KIB + 0x55C, UFS2_LITTLE),
    at(UFS, 256 * KIB + 0x55C, UFS2_BIG),
    at("a GFS2 file system", 64 * KIB, &[0x01, 0x16, 0x19, 0x70]),
    at(OCFS2, KIB, b"OCFSV2"),
    at(OCFS2, 2 * KIB, b"OCFSV2"),
    at(OCFS2, 4 * KIB, b"OCFSV2"),
    at(OCFS2, 8 * KIB, b"OCFSV2"),
    at("an Oracle ASM disk", 32, b"ORCLDISK"),
    at("a VDO volume", 0, b"dmvdo001"),
    end(DRBD, 4 * KIB - 60, &[0x83, 0x74, 0x02, 0x6B]),
    end(DRBD, 4 * KIB - 60, &[0x83, 0x74, 0x02, 0x6C]),
    end(DRBD, 4 * KIB - 60, &[0x83, 0x74, 0x02, 0x6D]),
    at("a swap area", 4096 - 10, b"SWAPSPACE2"),
    at("a swap area", 65_536 - 10, b"SWAPSPACE2"),
    at(LUKS, 0, b"LUKS\xBA\xBE"),
    at(LUKS, 16 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 32 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 64 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 128 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 256 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 512 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 1024 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 2048 * KIB, LUKS_SECOND_MAGIC),
    at(LUKS, 4096 * KIB, LUKS_SECOND_MAGIC),
    at(LVM, 24, LVM_LABEL),
    at(LVM, SECTOR + 24, LVM_LABEL),
    at(LVM, 2 * SECTOR + 24, LVM_LABEL),
    at(LVM, 3 * SECTOR + 24, LVM_LABEL),
    at("a Stratis pool's member", SECTOR + 4, b"!Stra0tis\x86\xFF\x02^\x41rh"),
    at("a bcache or bcachefs member", 4096 + 24, &[0xC6, 0x85, 0x73, 0xF6]),
    at("an EROFS file system", 1024, &[0xE2, 0xE1, 0xF5, 0xE0]),
    at("a JFS file system", 32_768, b"JFS1"),
    at("a ReiserFS file system", 65_536 + 52, b"ReIsEr"),
    end("an HFS+ header's copy", 1024, b"H+\0\x04"),
    at("an APFS container", 32, b"NXSB"),
    at("a VMFS volume", 0x10_0000, &[0x0D, 0xD0, 0x01, 0xC0]),
    at("a Ceph disk", 0, b"bluestore block "),
    at("a dm-integrity volume", 0, b"integrt\0"),
    at("a dm-verity volume", 0, b"verity\0\0"),
    at(MD, 0, MD_RAID),
    at(MD, 4096, MD_RAID),
    // md keeps its superblock near the end in the formats 0.90 and 1.0.
    Magic { name: MD, place: Place::EndOfWhole(64 * KIB, 64 * KIB), bytes: MD_RAID },
    Magic { name: MD, place: Place::EndOfWhole(8 * KIB, 4 * KIB), bytes: MD_RAID },
    end("a RAID member (Intel)", 1024, b"Intel Raid ISM C"),
    end("a RAID member (DDF)", SECTOR, &[0xDE, 0x11, 0xDE, 0x11]),
    at("a Windows dynamic disk", 6 * SECTOR, b"PRIVHEAD"),
    at(GPT, SECTOR, b"EFI PART"),
    at(GPT, 4096, b"EFI PART"),
    end(GPT, SECTOR, b"EFI PART"),
    end(GPT, 4096, b"EFI PART"),
    at("an Apple partition map", SECTOR, b"PM\0\0\0\0"),
    at("an Apple partition map", 2048, b"PM\0\0\0\0"),
    at("a tar archive", 257, b"ustar"),
    at("a zip archive", 0, b"PK\x03\x04"),
    at("a 7z archive", 0, b"7z\xBC\xAF\x27\x1C"),
    at("a RAR archive", 0, b"Rar!\x1A\x07"),
    at(ARCHIVE, 0, &[0x1F, 0x8B, 0x08]),
    at(ARCHIVE, 0, b"\xFD7zXZ\0"),
    at(ARCHIVE, 0, &[0x28, 0xB5, 0x2F, 0xFD]),
    at(ARCHIVE, 0, b"BZh91AY&SY"),
    at("an SQLite database", 0, b"SQLite format 3\0"),
    at(MACHINE, 0, b"QFI\xFB"),
    at(MACHINE, 0, b"KDMV"),
    at(MACHINE, 0x40, &[0x7F, 0x10, 0xDA, 0xBE]),
    at(MACHINE, 0, b"vhdxfile"),
];

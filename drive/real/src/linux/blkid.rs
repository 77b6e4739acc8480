//! What libblkid finds on a device. It is what mount and mkfs ask, it knows nearly every
//! format, and it is on nearly every Linux; it is loaded when it is first asked, so that
//! neither building nor installing this program needs it.

use super::found::Signature;
use super::processes::printable;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// Formats have a handful of signatures each; a pool member has some tens.
const SIGNATURES_MAX: usize = 128;

// From blkid/blkid.h.
const SUPERBLOCK_LABEL: c_int = 1 << 1;
const SUPERBLOCK_TYPE: c_int = 1 << 5;
const SUPERBLOCK_USAGE: c_int = 1 << 7;
const SUPERBLOCK_MAGIC: c_int = 1 << 9;
const SUPERBLOCK_BAD_CHECKSUM: c_int = 1 << 10;
const PARTITIONS_FORCE_GPT: c_int = 1 << 1;
const PARTITIONS_MAGIC: c_int = 1 << 3;

type Probe = *mut c_void;
type Set = unsafe extern "C" fn(Probe, c_int) -> c_int;

/// The calls that are used of it.
struct Blkid {
    new_probe: unsafe extern "C" fn() -> Probe,
    free_probe: unsafe extern "C" fn(Probe),
    set_device: unsafe extern "C" fn(Probe, c_int, i64, i64) -> c_int,
    enable_superblocks: Set,
    set_superblocks_flags: Set,
    enable_partitions: Set,
    set_partitions_flags: Set,
    do_probe: unsafe extern "C" fn(Probe) -> c_int,
    lookup_value:
        unsafe extern "C" fn(Probe, *const c_char, *mut *const c_char, *mut usize) -> c_int,
    hide_range: unsafe extern "C" fn(Probe, u64, u64) -> c_int,
    step_back: unsafe extern "C" fn(Probe) -> c_int,
    /// The calls are in it.
    _library: Library,
}

impl Blkid {
    fn load() -> Option<Blkid> {
        /// The address of a call, as the type of the field that takes it.
        macro_rules! call {
            ($library:expr, $name:literal) => {
                // SAFETY: the field's type is that of the call in blkid/blkid.h.
                *unsafe { $library.get($name) }.ok()?
            };
        }
        // SAFETY: loading it runs no code but that of the C library.
        let library = unsafe { Library::new("libblkid.so.1") }.ok()?;
        Some(Blkid {
            new_probe: call!(library, "blkid_new_probe"),
            free_probe: call!(library, "blkid_free_probe"),
            set_device: call!(library, "blkid_probe_set_device"),
            enable_superblocks: call!(library, "blkid_probe_enable_superblocks"),
            set_superblocks_flags: call!(library, "blkid_probe_set_superblocks_flags"),
            enable_partitions: call!(library, "blkid_probe_enable_partitions"),
            set_partitions_flags: call!(library, "blkid_probe_set_partitions_flags"),
            do_probe: call!(library, "blkid_do_probe"),
            lookup_value: call!(library, "blkid_probe_lookup_value"),
            // Since util-linux 2.31 (2017).
            hide_range: call!(library, "blkid_probe_hide_range"),
            step_back: call!(library, "blkid_probe_step_back"),
            _library: library,
        })
    }
}

/// All signatures that libblkid finds in an open file or device; `None` where there is
/// no libblkid, or none that is new enough.
pub(crate) fn signatures(device: &File) -> Option<Vec<Signature>> {
    static BLKID: OnceLock<Option<Blkid>> = OnceLock::new();
    let blkid = BLKID.get_or_init(Blkid::load).as_ref()?;
    // SAFETY: the calls get what they are declared to take, and the probe is used by this
    // thread until it is freed. The descriptor stays open as long as `device`.
    unsafe {
        let probe = (blkid.new_probe)();
        if probe.is_null() {
            return None;
        }
        let found = blkid.all(probe, device);
        (blkid.free_probe)(probe);
        found
    }
}

impl Blkid {
    /// # Safety
    /// `probe` is one that `new_probe` made.
    unsafe fn all(&self, probe: Probe, device: &File) -> Option<Vec<Signature>> {
        let superblocks = SUPERBLOCK_LABEL
            | SUPERBLOCK_TYPE
            | SUPERBLOCK_USAGE
            | SUPERBLOCK_MAGIC
            | SUPERBLOCK_BAD_CHECKSUM;
        let mut found: Vec<Signature> = Vec::new();
        // SAFETY: as in `signatures`; a value lives until the next probing.
        unsafe {
            if (self.set_device)(probe, device.as_raw_fd(), 0, 0) != 0 {
                return None;
            }
            (self.enable_superblocks)(probe, 1);
            (self.set_superblocks_flags)(probe, superblocks);
            (self.enable_partitions)(probe, 1);
            (self.set_partitions_flags)(probe, PARTITIONS_FORCE_GPT | PARTITIONS_MAGIC);
            for _ in 0..SIGNATURES_MAX {
                if (self.do_probe)(probe) != 0 {
                    break;
                }
                let value = |name| self.value(probe, name);
                let (kind, magic, offset) = match value(c"TYPE") {
                    Some(kind) => (kind, c"SBMAGIC", value(c"SBMAGIC_OFFSET")),
                    None => match value(c"PTTYPE") {
                        Some(kind) => {
                            (format!("{kind}-table"), c"PTMAGIC", value(c"PTMAGIC_OFFSET"))
                        }
                        None => continue,
                    },
                };
                let offset = offset.and_then(|text| text.parse().ok()).unwrap_or(0);
                let length = self.bytes(probe, magic).map_or(1, <[u8]>::len);
                if let Some(what) = phrase(&kind, value(c"USAGE").as_deref()) {
                    found.push(Signature { what, label: value(c"LABEL"), offset });
                }
                // What was found is looked past, and the format searched for again: it may
                // have left another signature elsewhere.
                if (self.hide_range)(probe, offset, length as u64) != 0
                    || (self.step_back)(probe) != 0
                {
                    continue;
                }
            }
        }
        Some(found)
    }

    /// # Safety
    /// As `all`.
    unsafe fn bytes(&self, probe: Probe, name: &CStr) -> Option<&[u8]> {
        let (mut data, mut length) = (std::ptr::null(), 0);
        // SAFETY: the call sets both where it returns 0.
        unsafe {
            let result = (self.lookup_value)(probe, name.as_ptr(), &mut data, &mut length);
            (result == 0 && !data.is_null())
                .then(|| std::slice::from_raw_parts(data.cast::<u8>(), length))
        }
    }

    /// # Safety
    /// As `all`.
    unsafe fn value(&self, probe: Probe, name: &CStr) -> Option<String> {
        // SAFETY: the caller's.
        let bytes = unsafe { self.bytes(probe, name) }?;
        let text = String::from_utf8_lossy(bytes);
        Some(printable(text.trim_end_matches('\0').trim()))
    }
}

/// What a type of libblkid's is called; `None` for what is told by `signature`.
fn phrase(kind: &str, usage: Option<&str>) -> Option<String> {
    let name = match kind {
        // A boot sector ends like this one, too.
        "dos-table" | "PMBR-table" => return None,
        "crypto_LUKS" => "a LUKS volume",
        "LVM2_member" | "LVM1_member" => "an LVM physical volume",
        "zfs_member" => "a ZFS pool's member",
        "linux_raid_member" => "a RAID member (md)",
        "isw_raid_member" => "a RAID member (Intel)",
        "ddf_raid_member" => "a RAID member (DDF)",
        "xfs" => "an XFS file system",
        "vfat" => "a FAT file system",
        "ntfs" => "an NTFS file system",
        "exfat" => "an exFAT file system",
        "f2fs" => "an F2FS file system",
        "iso9660" => "an ISO 9660 file system",
        "udf" => "a UDF file system",
        "ufs" => "a UFS file system",
        "hfsplus" => "an HFS+ file system",
        "apfs" => "an APFS container",
        "gfs2" => "a GFS2 file system",
        "ocfs2" => "an OCFS2 file system",
        "oracleasm" => "an Oracle ASM disk",
        "swap" => "a swap area",
        "swsuspend" => "a hibernated system",
        "BitLocker" => "a BitLocker volume",
        "ceph_bluestore" => "a Ceph disk",
        "stratis" => "a Stratis pool's member",
        "bcache" | "bcachefs" => "a bcache or bcachefs member",
        "vdo" => "a VDO volume",
        "drbd" | "DRBD" => "a DRBD device",
        "gpt-table" => "a GPT partition table",
        "mac-table" => "an Apple partition map",
        _ => return Some(general_phrase(kind, usage)),
    };
    Some(name.to_owned())
}

fn general_phrase(kind: &str, usage: Option<&str>) -> String {
    let article =
        if kind.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) { "an" } else { "a" };
    match (kind.strip_suffix("-table"), usage) {
        (Some(table), _) => format!("{article} {table} partition table"),
        (None, Some("filesystem")) => format!("{article} {kind} file system"),
        (None, Some("raid")) => format!("a member of a volume or RAID ({kind})"),
        (None, Some("crypto")) => format!("an encrypted volume ({kind})"),
        (None, _) => format!("data of the type {kind}"),
    }
}

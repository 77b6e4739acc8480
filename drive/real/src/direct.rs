//! Whether a file passes by the page cache, and on which grid.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Smallest unit that any target is addressed in.
pub(crate) const SECTOR_BYTES: u32 = 512;
/// Grid assumed where the file system takes `O_DIRECT` and tells nothing more.
const ASSUMED_ALIGNMENT_BYTES: u32 = 4096;

/// What direct I/O on an open file asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectIo {
    pub available: bool,
    /// Grid of offsets and lengths, in bytes; a sector where there is no
    /// direct I/O.
    pub alignment_bytes: u32,
}

impl DirectIo {
    const NONE: DirectIo = DirectIo { available: false, alignment_bytes: SECTOR_BYTES };

    /// Asks the file system, and where it does not know, tries.
    pub(crate) fn examine(file: &File, file_system: Option<&str>) -> DirectIo {
        if let Some(alignment_bytes) = stated_alignment_bytes(file) {
            return match alignment_bytes {
                0 => Self::NONE,
                bytes => DirectIo { available: true, alignment_bytes: bytes.max(SECTOR_BYTES) },
            };
        }
        // tmpfs accepts the flag since Linux 6.6 and goes on using the page
        // cache, which is all it has.
        if matches!(file_system, Some("tmpfs" | "ramfs")) || !switch(file, true) {
            return Self::NONE;
        }
        DirectIo { available: true, alignment_bytes: ASSUMED_ALIGNMENT_BYTES }
    }
}

/// Puts an open file into direct mode or out of it; false where the file system
/// refuses.
pub(crate) fn switch(file: &File, on: bool) -> bool {
    set_flag(file, libc::O_DIRECT, on)
}

/// Has reads leave the file's time of access alone, where that is permitted: to
/// look at it costs every read of the page cache.
pub(crate) fn leave_access_time(file: &File) {
    set_flag(file, libc::O_NOATIME, true);
}

fn set_flag(file: &File, flag: libc::c_int, on: bool) -> bool {
    // SAFETY: both calls act on the flags of a descriptor that `file` owns.
    unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        let wanted = if on { flags | flag } else { flags & !flag };
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, wanted) == 0
    }
}

/// `STATX_DIOALIGN` (Linux 6.1): 0 means no direct I/O, `None` that the file
/// system does not say.
fn stated_alignment_bytes(file: &File) -> Option<u32> {
    // SAFETY: the kernel fills the struct, for which zeroes are valid; the
    // empty path with AT_EMPTY_PATH means the descriptor itself.
    let (result, stat) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let result = libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut stat,
        );
        (result, stat)
    };
    (result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0).then_some(stat.stx_dio_offset_align)
}
